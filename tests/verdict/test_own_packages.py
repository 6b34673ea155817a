"""Repositories that the test framework itself imports: their tests meet the change, never the runner's copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.errors import NotJudgeable
from nightshift.core.shell import ShellJob
from nightshift.core.tasks.held_out import HeldOut, ValueCase
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.shell import ShellRunner
from tests.support.sandboxes import Judge, bubblewrap, runtime
from tests.support.trees import TextTree

PROJECT = '[project]\nname = "packaging"\nversion = "1.0"\n'
EMPTY = "class Version:\n    def __init__(self, text):\n        self.text = text\n"
RIGHT = EMPTY + "\n    def parts(self):\n        return [int(part) for part in self.text.split('.')]\n"
WRONG = EMPTY + "\n    def parts(self):\n        return [int(part) for part in self.text.split('.')[:2]]\n"
TESTS = """from packaging.version import Version


def test_parts():
    assert Version("7.1").parts() == [7, 1]


def test_three():
    assert Version("7.1.3").parts() == [7, 1, 3]
"""


def base(name: str, folder: str, module: str = "version", text: str = EMPTY) -> dict[str, str]:
    project = PROJECT.replace("packaging", name)
    return {"pyproject.toml": project, f"{folder}{name}/__init__.py": "", f"{folder}{name}/{module}.py": text}


@pytest.mark.parametrize("place", ["", "src/"])
@pytest.mark.parametrize("name", ["packaging", "iniconfig", "pygments", "sortedcontainers"])
async def test_a_right_answer_passes_and_a_wrong_one_does_not(judge: Judge, name: str, place: str) -> None:
    given = {"tests/test_version.py": TESTS.replace("packaging", name)}
    path = f"{place}{name}/version.py"
    passed = await judge({path: RIGHT}, given, base(name, place))
    assert passed.passed, passed.reason
    assert passed.evidence.twins == 2
    assert passed.evidence.notes == (), "the run with the code in another process met another copy"
    failed = await judge({path: WRONG}, given, base(name, place))
    assert [one.id for one in failed.results if one.result.value == "failed"] == ["tests/test_version.py::test_three"]


async def test_what_the_runners_copy_can_do_is_no_excuse_for_the_change(judge: Judge) -> None:
    """The tests ask for what the runner's own `packaging` has and the repository's has not."""
    given = {"tests/test_major.py": "from packaging.version import Version\n\n\ndef test_major():\n"
             "    assert Version('7.1').major == 7\n"}  # fmt: skip
    for change in (
        {"src/packaging/version.py": WRONG},
        {"src/packaging/__init__.py": None, "src/packaging/version.py": None},
    ):
        verdict = await judge(change, given, base("packaging", "src/"))
        assert not verdict.passed, change
        assert verdict.failures


async def test_a_new_module_belongs_to_a_package_that_the_base_has(judge: Judge) -> None:
    given = {"tests/test_tags.py": "from packaging.tags import number\n\n\ndef test_it():\n    assert number() == 5\n"}
    change = {"src/packaging/tags.py": "def number():\n    return 5\n"}
    verdict = await judge(change, given, base("packaging", "src/"))
    assert verdict.passed, verdict.reason
    assert not verdict.evidence.dropped


async def test_a_change_brings_no_package_that_the_runner_has(judge: Judge) -> None:
    given = {"tests/test_it.py": "import packaging\n\n\ndef test_it():\n    assert packaging.number() == 5\n"}
    for path in ("packaging.py", "packaging/__init__.py", "src/packaging/__init__.py"):
        verdict = await judge({path: "def number():\n    return 5\n"}, given, {"app.py": ""})
        assert not verdict.passed
        assert verdict.evidence.dropped == {path: "has the name of a test library (packaging)"}


async def test_programs_that_tests_start_find_the_change_as_well(judge: Judge) -> None:
    tests = """import subprocess
import sys

SAID = "from packaging.version import Version; print(Version('7.1.3').parts())"


def test_a_program_has_it(tmp_path):
    done = subprocess.run([sys.executable, "-c", SAID], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[7, 1, 3]\\n", done.stderr
"""
    for text, passes in ((RIGHT, True), (WRONG, False)):
        change = {"src/packaging/version.py": text}
        verdict = await judge(change, {"tests/test_program.py": tests}, base("packaging", "src/"))
        assert verdict.passed is passes, (verdict.reason, verdict.failures)


async def test_held_out_calls_reach_the_change(judge: Judge) -> None:
    code = "def number(text):\n    return {}\n"
    case = ValueCase(call="packaging.numbers:number", args="('12',)", expect="12", explicit=True)
    given = {"tests/test_numbers.py": "from packaging.numbers import number\n\n\ndef test_it():\n"
             "    assert number('3') == 3\n"}  # fmt: skip
    for text, passes in ((code.format("int(text)"), True), (code.format("3"), False)):
        change = {"src/packaging/numbers.py": text}
        held = HeldOut(cases=(case,))
        verdict = await judge(change, given, base("packaging", "src/"), held=held)
        assert verdict.passed is passes, verdict.reason
        assert (verdict.evidence.held_out == 1) is passes


async def test_no_tested_code_runs_while_pytest_reads_its_settings(judge: Judge) -> None:
    """Pytest asks `packaging` for its own version there, before the tests are compiled and the framework is sealed."""
    early = "import sys\n\nframe, EARLY = sys._getframe(), []\nwhile frame:\n"
    early += "    EARLY.append(frame.f_code.co_name)\n    frame = frame.f_back\n"
    given = {"tests/test_early.py": "from packaging import version\n\n\ndef test_it():\n"
             "    assert version.Version('7').parts() == [7]\n"
             "    assert '_checkversion' not in version.EARLY\n"}  # fmt: skip
    settings = {"pytest.ini": "[pytest]\nminversion = 6.0\n"}
    verdict = await judge(
        {"src/packaging/version.py": early + "\n\n" + RIGHT}, given, {**base("packaging", "src/"), **settings}
    )
    assert verdict.passed, (verdict.reason, verdict.failures)


@pytest.mark.parametrize(
    "path", ["src/pluggy/__init__.py", "pluggy.py", "src/_pytest/__init__.py", "hypothesis/__init__.py"]
)
async def test_what_the_runner_consists_of_is_not_judged(judge: Judge, path: str) -> None:
    given = {"tests/test_it.py": "from app import number\n\n\ndef test_it():\n    assert number() == 5\n"}
    change = {"app.py": "def number():\n    return 5\n"}
    with pytest.raises(NotJudgeable, match="this repository provides"):
        await judge(change, given, {path: ""})
    job = SuiteJob(base=TextTree({path: ""}), change=change, given=given)
    with pytest.raises(NotJudgeable, match="this repository provides"):
        await judge.runner.try_out(job)
    elsewhere = await judge(change, given, {f"docs/{path}": ""})
    assert elsewhere.passed, elsewhere.reason


async def test_a_command_of_the_owners_judges_what_the_runner_consists_of(judge: Judge) -> None:
    tests = """import unittest

import pluggy


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(pluggy.number(), 5)
"""
    tree = {
        "src/pluggy/__init__.py": "def number():\n    return 4\n",
        "tests/test_it.py": tests,
        "tests/__init__.py": "",
    }
    command = ("python", "-m", "unittest", "tests.test_it")
    for number, passes in ((5, True), (6, False)):
        change = {"src/pluggy/__init__.py": f"def number():\n    return {number}\n"}
        verdict = await judge(change, {}, tree, command=command)
        assert verdict.passed is passes, verdict.reason


async def test_commands_of_the_model_find_the_change(tmp_path: Path) -> None:
    shell = ShellRunner(bubblewrap(), runtime(), tmp_path / "trees")
    done = await shell.execute(
        ShellJob(
            command="cd /tmp && python -c \"from packaging.version import Version; print(Version('7.1.3').parts())\"",
            base=TextTree(base("packaging", "src/")),
            change={"src/packaging/version.py": RIGHT},
        )
    )
    assert done.output == "[7, 1, 3]\n"
