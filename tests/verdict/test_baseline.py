"""Tests that failed before a change.

A failure from before the change does not count against it, but a failure that the change caused does. Failures of
unknown origin are not named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.isolation import RunLimits, SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import CaseResult, FindingKind, Result, SuiteJob, Verdict
from nightshift.verdict import baseline
from nightshift.verdict.baseline import Baselines
from nightshift.verdict.run import NativeRun
from nightshift.verdict.runner import SuiteRunner
from tests.support.recording import Recording, request_of
from tests.support.sandboxes import Judge, runtime
from tests.support.trees import TextTree

APP = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
BASE = {
    "app.py": APP,
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = \"-q -m 'not slow'\"\nmarkers = ['slow']\n",
    "tests/test_app.py": (
        "import pytest\n\nimport app\n\n\ndef test_one():\n    assert app.one() == 1\n\n\n"
        "def test_two():\n    assert app.two() == 2\n\n\ndef test_old():\n    assert app.one() == 7\n\n\n"
        "@pytest.mark.slow\ndef test_slow():\n    assert False\n\n\n"
        "@pytest.mark.xfail\ndef test_expected():\n    assert False\n\n\n"
        "def test_where_it_can():\n    if app.two() == 2:\n        pytest.skip('not here')\n    assert False\n"
    ),
    "tests/test_metadata.py": "import app\nimport not_installed\n\n\ndef test_any():\n    assert app.one() == 1\n",
    "tests/test_optional.py": (
        "import pytest\n\npytest.importorskip('not_installed')\nimport app\n\n\n"
        "def test_any():\n    assert app.one() == 1\n"
    ),
}
SUITE = tuple(path for path in BASE if path.startswith("tests/"))
GIVEN = {"tests/test_given.py": "import app\n\n\ndef test_three():\n    assert app.three() == 3\n"}
RIGHT = APP + "\n\ndef three():\n    return 3\n"
OLD = ("tests/test_app.py::test_old", "tests/test_metadata.py")


@dataclass
class Busy(Recording):
    """The real sandbox, which simulates a busy machine during its next `busy` runs."""

    busy: int = 0

    async def run(self, job: SandboxJob) -> SandboxResult:
        if self.busy and not request_of(job)["must_fail"]:
            self.busy -= 1
            job = replace(job, stdin=job.stdin.replace(b"BUSY = 0", b"BUSY = 1"))
        return await super().run(job)


@pytest.fixture
def box(sandbox: Sandbox) -> Busy:
    return Busy(sandbox)


async def judge_change(box: Busy, folder: Path, app: str, base: dict[str, str] | None = None, **more: Any) -> Verdict:
    tree = {**BASE, **(base or {})}
    runner = SuiteRunner(
        box, runtime(), emit=lambda _: None, staging_dir=folder / "staging", baselines=folder / "baselines.json"
    )
    job_fields = {"given": GIVEN, "regression": tuple(p for p in tree if p.startswith("tests/")), **more}
    limits = job_fields.pop("limits", RunLimits(cpu_s=10))
    return await runner.judge(SuiteJob(base=TextTree(tree), change={"app.py": app}, limits=limits, **job_fields))


def of_base(box: Busy) -> list[list[str]]:
    """Return the base's test files in each run that had no tests of the task; the canary file is left out."""
    return [
        [path for path in files if path in SUITE]
        for files in (request["session"]["files"] for request in box.requests)
        if not files[0].startswith("tests/test_") or files[0] in SUITE
    ]


async def test_what_failed_before_is_left_out_and_told(box: Busy, folder: Path) -> None:
    verdict = await judge_change(box, folder, RIGHT)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.before == OLD
    assert {case.result for case in verdict.results} == {Result.PASSED}
    assert {case.id for case in verdict.results} == {
        "tests/test_given.py::test_three", "tests/test_app.py::test_one", "tests/test_app.py::test_two",
    }  # fmt: skip
    assert any(note.startswith("2 tests cannot run here: ") for note in verdict.evidence.notes)
    assert f"failing before the change already: {', '.join(OLD)}" in verdict.evidence.notes


async def test_what_the_change_mended_is_told(box: Busy, folder: Path) -> None:
    app = RIGHT.replace("return 1", "return 7")
    verdict = await judge_change(box, folder, app)
    assert verdict.mended == OLD[:1]
    assert verdict.before == OLD[1:]
    assert verdict.failing == {"tests/test_app.py::test_one"}


async def test_a_baseline_is_taken_once_for_a_tree_also_after_a_restart(box: Busy, folder: Path) -> None:
    await judge_change(box, folder, RIGHT)
    await judge_change(box, folder, APP + "\n\ndef three():\n    return 5\n")
    assert len(of_base(box)) == 2, "the suite, and what failed in it once more alone"
    await judge_change(box, folder, RIGHT, {"other.py": ""})
    assert len(of_base(box)) == 4, "another tree has another baseline"


WAITS = "import app\nimport machine\n\n\ndef test_waits():\n    assert app.one() == 1 + machine.BUSY\n"
MACHINE = {"machine.py": "BUSY = 0\n", "tests/test_app.py": WAITS, "tests/test_metadata.py": ""}
NEW = "\n\ndef test_three():\n    assert app.three() == 3\n"


async def test_a_test_of_the_base_that_fails_once_by_chance_is_not_charged(box: Busy, folder: Path) -> None:
    box.busy = 1
    verdict = await judge_change(box, folder, RIGHT, MACHINE)
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert not verdict.before


async def test_a_test_that_the_task_brings_is_charged_however_seldom_it_fails(box: Busy, folder: Path) -> None:
    box.busy = 1
    given = {"tests/test_app.py": WAITS.replace("+ machine", "+ 2 * machine") + NEW}
    verdict = await judge_change(box, folder, RIGHT, MACHINE, given=given, regression=())
    assert verdict.reason == "1 failed of 2 tests"


async def test_a_test_that_fails_whenever_it_runs_is_charged(box: Busy, folder: Path) -> None:
    box.busy = 9
    given = {"tests/test_app.py": WAITS + NEW}
    verdict = await judge_change(box, folder, RIGHT, MACHINE, given=given, regression=())
    assert verdict.failing == {"tests/test_app.py::test_waits"}


async def test_a_given_test_that_the_settings_leave_out_makes_the_change_doubtful(box: Busy, folder: Path) -> None:
    slow = "import pytest\nimport app\n\n\n@pytest.mark.slow\ndef test_three():\n    assert app.three() == 3\n"
    verdict = await judge_change(box, folder, APP, given={"tests/test_given.py": slow})
    assert verdict.doubt
    assert FindingKind.GIVEN_IDLE in {finding.kind for finding in verdict.findings}


async def test_what_is_kept_is_bounded_and_may_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "MOST", 2)
    path, run = tmp_path / "kept.json", NativeRun(tests=(CaseResult(id="t.py::a", result=Result.FAILED),), exit_code=1)
    baselines = Baselines(path)
    for key in "123":
        await baselines.learn(key, run)
    assert [Baselines(path).get(key) for key in "123"] == [None, run, run]
    path.write_text("[1, {")
    assert Baselines(path).get("3") is None


COMMAND = {
    "app.py": APP,
    "tests/test_yaml.py": "import yaml\nimport app\n\n\ndef test_dump():\n    assert app.one() == 1\n",
    "tests/test_net.py": (
        "import socket\nimport app\n\n\ndef test_fetch():\n    socket.create_connection(('127.0.0.1', 9))\n"
        "    assert app.one() == 1\n"
    ),
    "tests/test_app.py": "import app\n\n\ndef test_one():\n    assert app.one() == 1\n",
}


async def command(judge: Judge, asked: str | None, app: str = RIGHT, base: dict[str, str] | None = None) -> Verdict:
    tree = TextTree({**COMMAND, **(base or {})})
    return await judge.runner.judge(SuiteJob(base=tree, change={"app.py": app}, command=("pytest",), asked=asked))


async def test_a_command_is_not_failed_by_what_this_machine_does_not_have(judge: Judge) -> None:
    verdict = await command(judge, "Write a function three.")
    assert verdict.passed, f"{verdict.reason} {verdict.failures}"
    assert verdict.before == ("tests/test_net.py::test_fetch", "tests/test_yaml.py")
    assert verdict.evidence.ids == ("tests/test_app.py::test_one",)
    wrong = await command(judge, "Write a function three.", APP.replace("return 1", "return 2"))
    assert wrong.failing == {"tests/test_app.py::test_one"}


@pytest.mark.parametrize("asked", ["Let it read yaml.", "Let `fetch` return bytes.", None])
async def test_what_the_task_names_is_excused_by_nothing(judge: Judge, asked: str | None) -> None:
    verdict = await command(judge, asked)
    assert not verdict.passed


async def test_of_a_command_what_the_code_may_mend_is_excused_by_nothing(judge: Judge) -> None:
    test = "import app\n\n\ndef test_twice():\n    assert app.twice(2) == 4\n"
    verdict = await command(judge, "Double numbers.", base={"tests/test_twice.py": test})
    assert verdict.failing == {"tests/test_twice.py::test_twice"}


async def test_every_test_of_a_command_that_lacks_the_same_is_excused(judge: Judge) -> None:
    twice = (
        "import socket\n\n\ndef connect():\n    socket.create_connection(('127.0.0.1', 9))\n\n\n"
        "def test_fetch():\n    connect()\n\n\ndef test_again():\n    connect()\n"
    )
    verdict = await command(judge, "Write a function three.", base={"tests/test_net.py": twice})
    assert verdict.passed, verdict.reason


SORTING = {
    "app.py": APP.replace("return 1", "return 7"),
    "tests/conftest.py": (
        "import locale\nimport pytest\n\n\n@pytest.fixture\ndef german():\n"
        "    locale.setlocale(locale.LC_ALL, 'de_XX.UTF-8')\n"
    ),
    "tests/test_app.py": (
        "import app\n\n\ndef test_one():\n    assert app.one() == 1\n\n\n"
        "def test_two(german):\n    assert app.two() == 2\n\n\ndef test_both(german):\n    assert app.two() == 2\n"
    ),
}


@pytest.mark.parametrize(
    ("app", "asked", "passes"),
    [
        (APP, "`one` in app.py is wrong, as tests/test_app.py shows. Mend it.", True),
        (SORTING["app.py"] + "\n", "`one` in app.py is wrong, as tests/test_app.py shows. Mend it.", False),
        (APP, "Let test_two and test_both pass.", False),
    ],
    ids=["right", "wrong", "the words name the tests"],
)
async def test_a_given_test_that_the_machine_cannot_run_is_excused(
    judge: Judge, app: str, asked: str, passes: bool
) -> None:
    given = {"tests/test_app.py": SORTING["tests/test_app.py"]}
    job = SuiteJob(base=TextTree(SORTING), change={"app.py": app}, given=given, asked=asked)
    verdict = await judge.runner.judge(job)
    assert verdict.passed is passes, f"{verdict.reason} {verdict.failures}"
    assert not passes or verdict.before == ("tests/test_app.py::test_both", "tests/test_app.py::test_two")


async def test_given_tests_of_which_none_can_run_judge_nothing(judge: Judge) -> None:
    base = {**SORTING, "tests/test_app.py": SORTING["tests/test_app.py"].replace("_one()", "_one(german)")}
    given = {"tests/test_app.py": base["tests/test_app.py"]}
    job = SuiteJob(base=TextTree(base), change={"app.py": APP}, given=given, asked="Mend `one`.")
    assert not (await judge.runner.judge(job)).passed
