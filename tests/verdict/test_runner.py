from __future__ import annotations

import asyncio

import pytest

from nightshift.core.errors import CommandBlocked
from nightshift.core.events import Kind
from nightshift.core.tasks.verdicts import Label, Verdict
from nightshift.verdict import native
from tests.support.sandboxes import Judge

ADD = {"solution.py": "def add(a, b):\n    return a + b\n"}
WRONG = {"solution.py": "def add(a, b):\n    return a * b\n"}
GIVEN = {
    "tests/test_given.py": (
        "from solution import add\n\n\ndef test_small():\n    assert add(2, 3) == 5\n\n\n"
        "def test_negative():\n    assert add(-1, 1) == 0\n"
    )
}
SMALL, NEGATIVE = "tests/test_given.py::test_small", "tests/test_given.py::test_negative"


def results(verdict: Verdict) -> dict[str, str]:
    return {case.id: case.result.value for case in verdict.results}


async def test_a_right_answer_passes_with_its_evidence(judge: Judge) -> None:
    verdict = await judge(ADD, GIVEN)
    assert verdict.passed, verdict.reason
    assert results(verdict) == dict.fromkeys((SMALL, NEGATIVE), "passed")
    evidence = verdict.evidence
    assert (evidence.label, evidence.sandbox, evidence.twins) == (Label.TESTS_PASSED, "bubblewrap", 2)
    assert len(evidence.tree) == 64
    assert evidence.notes == ()
    event = judge.events[-1]
    assert event.kind is Kind.SUITE_JUDGED
    assert event.data["counts"] == {"passed": 2}


async def test_a_wrong_answer_fails_with_the_difference_and_the_place(judge: Judge) -> None:
    verdict = await judge({"solution.py": "def add(a, b):\n    print('adding')\n    return a * b\n"}, GIVEN)
    assert not verdict.passed
    assert verdict.reason == "2 failed of 2 tests"
    first = verdict.failures[0]
    assert first.id == "tests/test_given.py::test_small"
    assert first.kind == "AssertionError"
    assert first.message.startswith("assert 6 == 5")
    assert first.frame == "tests/test_given.py:5 in test_small"
    assert ">    5     assert add(2, 3) == 5" in first.excerpt
    assert first.output == "adding"


async def test_what_hides_the_tests_is_told_first(judge: Judge) -> None:
    missing, crash = await asyncio.gather(
        judge({}, GIVEN), judge({"solution.py": "import math\nraise RuntimeError('no')\n"}, GIVEN)
    )
    assert missing.failures[0].kind == "ModuleNotFoundError"
    assert missing.reason == "tests/test_given.py: ModuleNotFoundError: No module named 'solution'"
    assert crash.failures[0].kind == "CollectionError: RuntimeError"
    assert crash.failures[0].frame == "solution.py:2 in <module>"
    assert set(results(missing).values()) == {"error"}


async def test_runs_that_do_not_end_well_say_how_and_where(judge: Judge) -> None:
    loop, flood, memory, stack = await asyncio.gather(
        judge({"solution.py": "def add(a, b):\n    while True: pass\n"}, GIVEN, cpu_s=1),
        judge({"solution.py": "def add(a, b):\n    while True: print('x' * 1000)\n"}, GIVEN),
        judge({"solution.py": "def add(a, b):\n    return len(bytearray(1 << 30))\n"}, GIVEN, memory_mb=128),
        judge({"solution.py": "import ctypes\ndef add(a, b):\n    ctypes.string_at(0)\n"}, GIVEN),
    )
    assert loop.reason == (
        f"the tests were cut off after 1 s of processor time ({native.LIMIT}); it was in {SMALL}; "
        "1 of 2 tests were not reached"
    )
    behind = "1 of 2 tests were not reached"
    assert not flood.passed
    assert memory.reason == f"the tests used more than 128 MB of memory; it was in {SMALL}; {behind}"
    assert "signal 11" in stack.reason
    assert results(loop) == {SMALL: "error", NEGATIVE: "not_reached"}
    kinds = [verdict.failures[0].kind for verdict in (loop, memory, stack)]
    assert kinds == ["Timeout", "OutOfMemory", "Crash"]


STYLES = {
    "forms": """
import asyncio
import pytest
from hypothesis import given, strategies

@pytest.mark.parametrize(('a', 'b', 'out'), [(1, 2, 3), ('a', 'b', 'ab'), ([1], [], [1])])
def test_add(a, b, out):
    assert add(a, b) == out

@given(strategies.integers(), strategies.integers())
def test_commutes(a, b):
    assert add(a, b) == a + b

async def test_coroutine():
    await asyncio.sleep(0)
    assert add(1, 2) == 3

def test_name(request):
    assert request.node.name == 'test_name'
    assert add(1, 1) == 2
""",
    "unittest": """
import unittest

class AddCase(unittest.TestCase):
    def setUp(self):
        self.one = 1

    def test_equal(self):
        self.assertEqual(add(self.one, 1), 2)

    def test_loop(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(add(n, 0), n)

    def test_error(self):
        self.assertRaises(TypeError, add, 1, None)
""",
    "fixtures": """
import pytest

@pytest.fixture(scope='module')
def store():
    return []

def test_first(store):
    store.append(add(1, 1))
    assert store == [2]

def test_second(store, tmp_path, capsys, monkeypatch):
    print('shown')
    assert capsys.readouterr().out == 'shown\\n'
    assert len(store) == 1
""",
    "children": """
import subprocess, sys
from concurrent.futures import ProcessPoolExecutor

def double(n):
    return add(n, n)

def test_pool():
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(double, [1, 2])) == [2, 4]

def test_program():
    code = 'from solution import add; print(add(1, 2))'
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout == '3\\n'
""",
}
HEAD = '"""Tests of add."""\n\nfrom __future__ import annotations\nfrom solution import add\n\n'


async def test_tests_of_every_style_pass_for_a_right_answer(judge: Judge) -> None:
    verdict = await judge(ADD, {f"tests/test_{style}.py": HEAD + text for style, text in STYLES.items()})
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.evidence.label is Label.TESTS_PASSED
    assert verdict.evidence.twins == len(verdict.results), "a copy of each fails"


OWN = {"tests/test_own.py": "from solution import add\n\n\ndef test_own():\n    assert add(2, 3) == 5\n"}


async def test_self_written_tests_must_be_red_before_the_change(judge: Judge) -> None:
    new, mended, green = await asyncio.gather(
        judge(ADD, own=OWN), judge(ADD, base=WRONG, own=OWN), judge({"other.py": ""}, base=ADD, own=OWN)
    )
    assert new.passed, new.reason
    assert mended.passed, mended.reason
    assert new.evidence.label is Label.SELF_TESTED
    assert not green.passed
    assert green.weak == ("tests/test_own.py::test_own",)
    assert "pass without the change" in green.reason


async def test_where_nothing_was_changed_self_written_tests_say_whether_it_was_done_already(judge: Judge) -> None:
    done, begun, wrong = await asyncio.gather(
        judge({}, base=ADD, own=OWN), judge(ADD, own=OWN, start=ADD), judge({}, base=WRONG, own=OWN)
    )
    assert (done.passed, begun.passed, done.weak) == (True, True, ())
    assert done.evidence.label is Label.SELF_TESTED
    assert "nothing was changed" in done.evidence.notes[-1]
    assert not wrong.passed
    assert wrong.reason == "1 failed of 1 tests"


async def test_self_written_tests_without_an_assertion_are_sent_back_once_and_then_doubtful(judge: Judge) -> None:
    own = {"tests/test_own.py": "from solution import add\n\n\ndef test_own():\n    add(2, 3)\n"}
    first, second = await asyncio.gather(judge(ADD, own=own), judge(ADD, own=own, told_weak=True))
    assert (first.passed, first.weak) == (False, ("tests/test_own.py::test_own",))
    assert (second.passed, second.evidence.label) == (True, Label.DOUBTFUL)


async def test_a_skip_by_the_given_test_s_own_mark_is_no_failure_and_no_pass(judge: Judge) -> None:
    text = "import pytest\n\n\n@pytest.mark.skip\ndef test_later(): pass\n\n\ndef test_now():\n    assert 1 + 1 == 2\n"
    verdict = await judge(ADD, {"tests/test_given.py": text})
    assert (verdict.passed, verdict.reason, len(verdict.results)) == (True, "1 test passed", 1)
    alone = await judge(ADD, {"tests/test_given.py": text.partition("\n\n\ndef test_now")[0] + "\n"})
    assert (alone.passed, alone.reason) == (False, "no test ran")


REPOSITORY = {
    "app/__init__.py": "",
    "app/sums.py": "def add(a, b):\n    return a + b\n",
    "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
    "pytest.ini": "[pytest]\naddopts = -x --no-such-option\nfilterwarnings = error\n",
    "tests/__init__.py": "",
    "tests/helpers.py": "def same(a, b):\n    assert a == b\n",
    "tests/test_sums.py": (
        "import sys\n\nimport pytest\n\nfrom app.sums import add\nfrom .helpers import same\n\n\n"
        "def test_two(two):\n    same(add(two, 2), 4)\n\n\n"
        "@pytest.mark.skipif(sys.platform == 'linux', reason='elsewhere')\ndef test_elsewhere():\n    assert False\n"
    ),
    "tests/test_broken.py": "def test_broken():\n    assert 1 == 2\n",
}
BREAKS = {"app/sums.py": "def add(a, b):\n    return a - b\n"}


async def test_a_pytest_command_becomes_a_run_that_can_be_trusted(judge: Judge) -> None:
    command = ("python", "-m", "pytest", "-q", "tests/test_sums.py")
    right, wrong, left = await asyncio.gather(
        judge({"app/new.py": ""}, base=REPOSITORY, command=command),
        judge(BREAKS, base=REPOSITORY, command=command),
        judge({"app/new.py": ""}, base=REPOSITORY, command=("pytest",)),
    )
    assert right.passed, f"{right.reason} {right.failures}"
    assert results(right) == {"tests/test_sums.py::test_two": "passed"}, "what is skipped before is no matter"
    assert right.evidence.label is Label.TESTS_PASSED
    assert wrong.failures[0].frame == "tests/helpers.py:2 in same"
    assert set(left.failing) >= {"tests/test_broken.py::test_broken"}


GIVEN_NEW = {"tests/test_new.py": "import app.sums\n\n\ndef test_new():\n    assert app.sums.__name__ == 'app.sums'\n"}
UNIT = {
    "app/__init__.py": "", "app/sums.py": "def add(a, b):\n    return a + b\n", "tests/__init__.py": "",
    "tests/test_unit.py": (
        "import unittest\n\nfrom app.sums import add\n\n\nclass AddTest(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(add(1, 1), 2)\n\n"
        "    def test_three(self):\n        self.assertEqual(add(1, 2), 3)\n"
    ),
    "run.py": "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-m', 'pytest', '-q']))\n",
}  # fmt: skip


@pytest.mark.parametrize("command", [("python", "-m", "unittest"), ("python", "run.py")])
async def test_tests_are_told_however_their_runner_is_started(judge: Judge, command: tuple[str, ...]) -> None:
    right, wrong = await asyncio.gather(
        judge({"app/new.py": ""}, base=UNIT, command=command), judge(BREAKS, base=UNIT, command=command)
    )
    assert right.passed, right.reason
    names = {f"tests/test_unit.py::AddTest::{name}" for name in ("test_two", "test_three")}
    assert (right.evidence.label, set(right.evidence.ids)) == (Label.TESTS_PASSED, names)
    assert (wrong.reason, {failure.kind for failure in wrong.failures}) == ("2 failed of 2 tests", {"AssertionError"})


async def test_a_test_that_being_traced_breaks_is_not_taken_for_one_that_failed_before(judge: Judge) -> None:
    text = "import sys\nfrom app.sums import add\n\ndef test_it():\n    assert not sys.gettrace() and add(1, 1) == 2\n"
    spec = "specs/plain_spec.py"  # a name from the repository's own settings
    base = {**UNIT, spec: text, "pytest.ini": "[pytest]\npython_files = test_*.py *_spec.py\n"}
    right, wrong = await asyncio.gather(
        judge({"app/new.py": ""}, GIVEN_NEW, base, regression=(spec,)),
        judge(BREAKS, GIVEN_NEW, base, regression=(spec,)),
    )
    assert (right.passed, right.before) == (True, ())
    assert "specs/plain_spec.py::test_it" in wrong.failing


async def test_a_file_that_the_product_opens_is_no_test_asset(judge: Judge) -> None:
    opens = "def add(a, b):\n    return len(open('a.txt').read())\n"
    test = "import solution\n\ndef test_it():\n    assert open('a.txt').read() and solution.add(1, 2)\n"
    asks = []
    for source in (opens, "add = max\n"):
        base = {"a.txt": "one", "solution.py": source, "tests/test_old.py": test}
        verdict = await judge({"a.txt": "two"}, base=base, regression=("tests/test_old.py",), asked="Change it.")
        asks.append([finding.where for finding in verdict.findings if finding.subject])
    assert asks == [[], ["a.txt"]]


async def test_settings_of_the_runner_are_asked_about_where_no_test_ran_too(judge: Judge) -> None:
    base, words = {"tests/test_old.py": ""}, "Add pytest.ini."
    verdict = await judge({"pytest.ini": "[pytest]\n"}, base=base, regression=tuple(base), asked=words)
    assert (verdict.passed, verdict.evidence.label) == (True, Label.DOUBTFUL)
    assert [finding.where for finding in verdict.findings if finding.subject] == ["pytest.ini"]


async def test_files_of_the_same_name_are_all_judged(judge: Judge) -> None:
    test = "from app.sums import add\n\n\ndef test_it():\n    assert add(1, 1) == 2\n"
    paths = ("a/tests/test_x.py", "b/tests/test_x.py")
    base = {**UNIT, paths[0]: test.replace("== 2", ">= 0"), paths[1]: test}
    verdict = await judge(BREAKS, GIVEN_NEW, base, regression=paths)
    assert verdict.failing == {f"{paths[1]}::test_it"}


async def test_any_other_command_is_judged_by_its_exit_code(judge: Judge) -> None:
    code = "from app.sums import add; print('sum', add(1, 1)); raise SystemExit(add(1, 1) != 2)"
    right, wrong = await asyncio.gather(
        judge({}, base=REPOSITORY, command=("python", "-c", code)),
        judge(BREAKS, base=REPOSITORY, command=("python", "-c", code)),
    )
    assert right.passed
    assert right.evidence.label is Label.EXIT_CODE
    assert "ended with exit status 1" in wrong.reason
    assert wrong.failures[0].output == "sum 0"


WRITES = """
import os
from app.sums import add
os.makedirs('out', exist_ok=True)
wrong = '' if add(1, 1) == 2 else '<failure message="token %s is not 2\\x1b[2J"/>' % ('gh' + 'p_' + 'a' * 30)
open('out/junit.xml', 'w').write(
    f'<testsuite name="sums"><testcase name="adds" time="0.5">{wrong}</testcase><testcase name="other"/></testsuite>'
)
"""


async def test_the_report_of_a_command_has_its_tests_in_the_verdict(judge: Judge) -> None:
    old = '<testsuite name="old"><testcase name="old"><failure/></testcase></testsuite>'
    stale = {**REPOSITORY, "junit.xml": old}
    right, wrong = await asyncio.gather(
        *(judge(change, base=stale, command=("python", "-c", WRITES)) for change in ({}, BREAKS))
    )
    assert right.passed, right.reason
    assert results(right) == {"sums::adds": "passed", "sums::other": "passed"}
    assert right.evidence.ids == ("sums::adds", "sums::other")
    assert right.evidence.label is Label.EXIT_CODE
    assert any("which the tested code can write" in note for note in right.evidence.notes)
    assert wrong.reason == "1 failed of 2 tests", "though its exit status is 0"
    assert "ghp_" not in str(wrong)
    assert "\x1b" not in wrong.failures[0].message


async def test_a_command_that_never_runs_is_refused_where_it_would_run(judge: Judge) -> None:
    with pytest.raises(CommandBlocked, match=r"command\.remote: `ssh host true` talks to another machine"):
        await judge({}, base=REPOSITORY, command=("timeout", "5", "ssh", "host", "true"))
    allowed = await judge({}, base=REPOSITORY, command=("ssh", "host", "true"), allow=("command.remote",))
    assert not allowed.passed


async def test_the_mark_of_a_plugin_that_is_not_loaded_ends_no_suite(judge: Judge) -> None:
    base = {
        "pytest.ini": "[pytest]\nfilterwarnings = error\n",
        "conftest.py": "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        item.add_marker(pytest.mark.no_cover)\n",
    }
    verdict = await judge(ADD, GIVEN, base)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"


async def test_only_the_closure_is_staged_where_that_is_enough(judge: Judge) -> None:
    async def run(other: str, solution: str = ADD["solution.py"]) -> Verdict:
        return await judge({"solution.py": solution}, GIVEN, {"other.py": other}, whole_tree=False)

    reading = "import glob\n" + ADD["solution.py"]
    first, second, dynamic = await asyncio.gather(run("a = 1\n"), run("a = 2\n"), run("a = 2\n", reading))
    assert {first.passed, second.passed, dynamic.passed} == {True}
    assert not first.evidence.complete
    assert first.evidence.tree == second.evidence.tree, "a file that no test can see does not matter"
    assert dynamic.evidence.complete, "a file that lists folders may see everything"


async def test_removed_files_are_gone_and_sources_below_src_are_found(judge: Judge) -> None:
    base = {"src/pkg/__init__.py": "", "src/pkg/old.py": "", "data/old.txt": "x"}
    text = (
        "import pathlib\n\nimport pytest\n\nfrom pkg import new\n\n\ndef test_new():\n    assert new.ONE == 1\n\n\n"
        "def test_old():\n    assert not pathlib.Path('data/old.txt').exists()\n"
        "    with pytest.raises(ImportError):\n        import pkg.old\n"
    )
    change = {"src/pkg/new.py": "ONE = 1\n", "src/pkg/old.py": None, "data/old.txt": None}
    left = {path: text for path, text in base.items() if path not in change}
    verdict, closure, without = await asyncio.gather(
        judge(change, {"tests/test_it.py": text}, base),
        judge(change, {"tests/test_it.py": text}, base, whole_tree=False),
        judge({"src/pkg/new.py": "ONE = 1\n"}, {"tests/test_it.py": text}, left),
    )
    assert verdict.evidence.tree == without.evidence.tree, "what is removed was not seen"
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert closure.passed, f"{closure.reason} {closure.failures}"


TAMPERING = {
    "written and put back": "a = open(t).read(); os.chmod(t, 0o644); open(t, 'w').write('x'); open(t, 'w').write(a)",
    "moved away and back with its folder": "os.rename('tests', 'x'); os.rename('x', 'tests')",
}


@pytest.mark.parametrize("how", TAMPERING)
async def test_a_test_file_that_the_run_touches_makes_it_doubtful(how: str, judge: Judge) -> None:
    """The verdict is doubtful even if the test file is unchanged at the end."""
    text = "from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    search = "t = sorted(map(str, __import__('pathlib').Path('tests').glob('*.py')))[0]"
    verdict = await judge(
        {"solution.py": f"import os\n{ADD['solution.py']}\n{search}\n{TAMPERING[how]}\n"}, {"tests/test_kept.py": text}
    )
    assert not verdict.passed or verdict.evidence.label is Label.DOUBTFUL
    assert verdict.reason.endswith("was changed while the tests ran")


async def test_what_cannot_be_judged_is_not_passed(judge: Judge) -> None:
    nothing, script = await asyncio.gather(judge(ADD), judge({}, {"a.test.js": "test('a', () => {})\n"}))
    assert nothing.reason == script.reason == "there are no tests to judge by"
    assert not nothing.passed
