"""Small functions from stubs, through the real sandbox: tests give examples, and bodies that fit them are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.ports import Sandbox
from nightshift.verdict.answer import ProgramAnswer
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine import synthesis
from nightshift_engine.evaluation import EvaluationJob, SynthesisJob, SynthesisResult
from nightshift_engine.synthesis import SandboxSynthesiser, recordable
from tests.support.sandboxes import runtime
from tests.support.trees import TextTree


class Finder:
    """Synthesises functions of `work.py`."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._runner = SandboxSynthesiser(SuiteRuns(sandbox, runtime(), folder / "staging", mask=str))

    async def __call__(self, stub: str, tests: str, budget_s: float = 7, **files: str) -> SynthesisResult:
        job = EvaluationJob(
            base=TextTree(), change={"work.py": stub}, tests={"test_work.py": tests, **files}, wall_s=20
        )
        name = stub.split("def ", 1)[1].split("(", 1)[0]
        return await self._runner.synthesise(SynthesisJob(job=job, path="work.py", scope=name, budget_s=budget_s))


@pytest.fixture
def find(sandbox: Sandbox, folder: Path) -> Finder:
    return Finder(sandbox, folder)


def holds(result: SynthesisResult, *checks: str) -> bool:
    """Check whether the first text passes further checks. It comes from our own grammar, so running it here is safe."""
    space: dict[str, object] = {}
    exec(result.texts[0], space)
    return all(eval(check, space) for check in checks)


async def test_a_parametrised_test_gives_its_rows(find: Finder) -> None:
    tests = (
        "import pytest\nfrom work import limit\n\n\n"
        "@pytest.mark.parametrize(('x', 'wanted'), [(5, 5), (-5, 0), (15, 10)])\n"
        "def test_limit(x, wanted):\n    assert limit(x, 0, 10) == wanted\n\n\n"
        "def test_more():\n    assert limit(3, 4, 8) == 4\n    assert limit(x=9, low=4, high=8) == 8\n"
    )
    result = await find("def limit(x, low, high):\n    pass\n", tests)
    assert result.examples == 5
    assert holds(result, "limit(7, 1, 6) == 6", "limit(-9, -3, -1) == -3", "limit(2, 1, 3) == 2")


async def test_a_docstring_alone_can_be_enough(find: Finder) -> None:
    stub = (
        'def initials(name: str) -> str:\n    """First letters, in capitals.\n\n'
        "    >>> initials('ada byron')\n    'AB'\n    >>> initials('jo van dam')\n    'JVD'\n\n"
        "    initials('x') == 'X'\n    \"\"\"\n"
    )
    tests = "from work import initials\n\n\ndef test_it():\n    assert len(initials('a b')) == 2\n"
    result = await find(stub, tests)
    assert result.examples == 3
    assert result.texts[0].startswith(stub.rstrip("\n"))
    assert holds(result, "initials('eva maria') == 'EM'")


async def test_cases_are_told_apart_by_predicates(find: Finder) -> None:
    rows = dict(zip((95, 90, 89, 75, 74, 50, 49, 0, 100, 60), "AABBCCFFAC", strict=True))
    test = f"    for points, wanted in {rows}.items():\n        assert grade(points) == wanted\n"
    stub = 'def grade(points):\n    """`A` from 90, `B` from 75, `C` from 50, else `F`."""\n'
    result = await find(stub, f"from work import grade\n\n\ndef test_it():\n{test}")
    assert holds(result, "grade(91) == 'A'", "grade(76) == 'B'", "grade(51) == 'C'", "grade(3) == 'F'")


async def test_it_gives_up_in_time_says_so_and_makes_no_table(find: Finder) -> None:
    rows = {3: 41, 4: 7, 5: 98, 6: 12, 7: 55, 8: 23}
    test = f"    for n, wanted in {rows}.items():\n        assert odd(n) == wanted\n"
    tests = f"from work import odd\n\n\ndef test_it():\n{test}"
    result = await find("def odd(n):\n    pass\n", tests, budget_s=2)
    assert result.texts == ()
    assert result.why.startswith("no expression up to size ")
    assert " fits the 6 examples; " in result.why
    assert result.why.endswith(" were tried within 2 s")
    assert result.tried > 1000


async def test_hostile_tests_cost_nothing_but_their_time(find: Finder) -> None:
    tests = (
        "import os\nfrom work import twice\n\n\ndef test_a():\n    assert twice(4) == 8\n    assert twice(5) == 10\n"
        "    assert twice(-3) == -6\n\n\ndef test_b():\n    os._exit(0)\n"
    )
    result = await find("def twice(n):\n    pass\n", tests, budget_s=5)
    assert holds(result, "twice(21) == 42")


async def test_exceptions_that_tests_expect_are_raised(find: Finder) -> None:
    tests = (
        "import pytest\nfrom work import share\n\n\ndef test_it():\n    assert share(12, 4) == 3\n"
        "    assert share(7, 2) == 3\n"
        "    assert share(9, 3) == 3\n    assert share(0, 5) == 0\n    assert share(20, 1) == 20\n\n\n"
        "def test_errors():\n    with pytest.raises(ValueError, match='too few'):\n        share(3, -1)\n"
        "    with pytest.raises(ValueError, match='too few'):\n        share(8, -4)\n"
        "    with pytest.raises(ZeroDivisionError):\n        share(1, 0)\n"
    )
    result = await find("def share(total, people):\n    pass\n", tests)
    assert result.examples == 8
    assert holds(result, "share(100, 7) == 14")
    assert "raise ValueError('too few')" in result.texts[0]


def hear(*lines: str) -> synthesis.SearchReport:
    return synthesis.report_of(ProgramAnswer(how="exited", exit_code=0, lines=lines, output=""))


def write(body: str) -> str:
    return f"def f(x):\n    {body}\n"


def test_the_smallest_comes_first_and_twins_of_two_processes_count_once() -> None:
    report = hear(
        '["examples", 4]', '["found", "return x + 0", 9, 5]', '["found", "return x", 3, 7]',
        '["found", "return x", 3, 8]',
        '["tried", 100, 4, "found"]', '["tried", 50, 3, "found"]',
    )  # fmt: skip
    result = synthesis.result_of(report, write, 20)
    assert result.texts == ("def f(x):\n    return x\n", "def f(x):\n    return x + 0\n")
    assert (result.examples, result.tried, result.why) == (4, 150, "")


def test_the_reason_tells_what_was_done() -> None:
    report = hear('["examples", 7]', '["tried", 180000, 9, "time"]', '["tried", 2000, 5, "time"]')
    why = synthesis.result_of(report, write, 20).why
    assert why == "no expression up to size 9 fits the 7 examples; 182,000 were tried within 20 s"
    assert "show the result of a call" in synthesis.result_of(hear('["examples", 0]'), write, 20).why
    assert "without an answer" in synthesis.result_of(synthesis.report_of(None), write, 20).why


def test_identity_with_single_values_becomes_equality() -> None:
    text = recordable("def test_a():\n    assert f(1) is True\n    assert f(2) is not None\n    assert a is b\n")
    assert "f(1) == True" in text
    assert "f(2) != None" in text
    assert "a is b" in text


def test_what_unittest_has_for_identity_becomes_equality() -> None:
    lines = (
        "self.assertIs(f(1), True)\nself.assertIsNone(f(2))\nself.assertCountEqual(f(3), [1])\nself.assertTrue(f(4))\n"
    )
    text = recordable(lines)
    for line in ("assertEqual(f(1), True)", "assertEqual(f(2), None)", "assertEqual(f(3), [1])", "assertTrue(f(4))"):
        assert f"self.{line}" in text


def test_imports_from_the_future_stay_first() -> None:
    text = recordable('"""Tests."""\nfrom __future__ import annotations\nx = 1\n')
    assert text.startswith("from __future__ import annotations\n")
    compile(text, "t", "exec")
