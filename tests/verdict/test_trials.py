"""Trials: one plain run of the tests for the author of a change, without held-out cases and without a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nightshift.attempt.regression import WithRegression
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.isolation import RunLimits
from nightshift.core.shell import ShellJob
from nightshift.core.tasks.verdicts import SuiteJob, Trial
from nightshift.verdict.held.holding import hold
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.shell import ShellRunner
from tests.agent.test_held_out import GIVEN as WORDY
from tests.agent.test_held_out import TASK, WORDS
from tests.support.agent_parts import case_for
from tests.support.recording import Recording
from tests.support.sandboxes import bubblewrap, open_folder, runtime
from tests.support.trees import TextTree

BASE = {
    "app.py": "def one():\n    return 1\n",
    "tests/test_app.py": "import app\n\n\ndef test_one():\n    assert app.one() == 1\n",
    "tests/test_other.py": (
        "import pytest\n\n\ndef test_other():\n    assert 'other' == 'broken'\n\n\n"
        "@pytest.mark.skip\ndef test_skipped():\n    assert False\n\n\n"
        "@pytest.mark.xfail\ndef test_expected():\n    assert False\n"
    ),
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n",
}
GIVEN = {
    "tests/test_two.py": "import app\n\n\ndef test_two():\n    assert app.two() == 2\n",
    "tests/test_three.py": "import app\n\n\ndef test_three(three):\n    assert app.three() == three\n",
}
TWO = {"app.py": BASE["app.py"] + "\n\ndef two():\n    return 2\n"}
JOB = SuiteJob(base=TextTree(BASE), change=TWO, given=GIVEN, limits=RunLimits())


@dataclass
class Rig:
    box: Recording
    suite: SuiteRunner
    staging: Path

    def sent(self, text: str) -> bool:
        """Check whether a text was sent into the sandbox in the input of any job."""
        return any(text.encode() in job.stdin for job in self.box.jobs)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with open_folder() as folder:
        box, staging = Recording(bubblewrap()), folder / "staging"
        yield Rig(box, SuiteRunner(box, runtime(), emit=lambda _: None, staging_dir=staging), staging)


def results(trial: Trial) -> dict[str, str]:
    return {case.id: case.result.value for case in trial.results}


async def test_all_tests_of_the_job_run_once_under_their_own_names(rig: Rig) -> None:
    own = {"tests/test_own.py": "import app\n\n\ndef test_own():\n    assert app.two() + app.one() == 3\n"}
    job = replace(JOB, own=own, regression=("tests/test_app.py",))
    trial = await rig.suite.try_out(job)
    assert results(trial) == {
        "tests/test_two.py::test_two": "passed", "tests/test_three.py::test_three": "failed",
        "tests/test_own.py::test_own": "passed", "tests/test_app.py::test_one": "passed",
    }  # fmt: skip
    assert trial.reason == "1 failed of 4 tests"
    assert trial.failing == {"tests/test_three.py::test_three"}
    assert trial.failures[0].kind == "AttributeError"
    assert trial.duration_s > 0
    assert len(rig.box.jobs) == 2, "with the change and without"


async def test_only_the_files_that_are_named_run_whatever_tests_they_are(rig: Rig) -> None:
    two = await rig.suite.try_out(replace(JOB, only=("tests/test_two.py",)))
    assert (results(two), two.reason) == ({"tests/test_two.py::test_two": "passed"}, "")
    mixed = await rig.suite.try_out(replace(JOB, only=("tests/test_three.py", "tests/test_app.py"), command=("false",)))
    assert results(mixed) == {"tests/test_three.py::test_three": "failed", "tests/test_app.py::test_one": "passed"}


async def test_a_file_that_is_not_there_is_named(rig: Rig) -> None:
    none = await rig.suite.try_out(replace(JOB, only=("tests/test_none.py",)))
    assert (none.results, none.reason) == ((), "there is no such test file: tests/test_none.py")
    assert (await rig.suite.try_out(replace(JOB, given={}))).reason == "there are no tests to run"


async def test_the_tests_that_the_change_can_break_run_when_none_are_named(rig: Rig) -> None:
    suite = WithRegression(rig.suite, ImportCache())
    broken = replace(JOB, change={"app.py": "def two():\n    return 2\n"}, whole_tree=False)
    assert "tests/test_app.py::test_one" in (await suite.try_out(broken)).failing
    named = await suite.try_out(replace(broken, only=("tests/test_two.py",)))
    assert results(named) == {"tests/test_two.py::test_two": "passed"}


async def test_no_verdict_is_on_some_tests(rig: Rig) -> None:
    with pytest.raises(ValueError, match="all of a job's tests"):
        await rig.suite.judge(replace(JOB, only=("tests/test_two.py",)))
    assert rig.box.jobs == []


async def test_nothing_that_is_held_out_enters_the_sandbox(rig: Rig) -> None:
    """Covers trials and commands. The test words are hyphenated so that they occur in no other text."""
    spec = case_for(TASK, tests=WORDY).task.spec
    context = case_for(TASK, tests=WORDY, held=hold(spec, (), 0.5))
    hidden = [str(case.expect).strip("'") for case in context.held.cases if not case.shown]
    shown = [word for name in WORDS if (word := f"{name}-{name}") not in hidden]
    assert len(hidden) >= 2
    assert shown
    change = {"double.py": 'def twice(text):\n    return f"{text}-{text}"\n'}
    job = SuiteJob(base=TextTree(), change=change, given=spec.tests, held=context.held)
    for only in ((), tuple(spec.tests)):
        assert (await rig.suite.try_out(replace(job, only=only))).reason == ""
    shell = ShellRunner(rig.box, runtime(), rig.staging)
    command = "cat $(find . -type f); pytest -q 2>&1"
    result = await shell.execute(ShellJob(command=command, base=TextTree(), change=change, tests=context.shown_tests))
    assert "1 passed" in result.output
    assert shown[0] in result.output
    assert not [word for word in hidden if rig.sent(word) or word in result.output]
    assert rig.sent(shown[0])
    assert (await rig.suite.judge(job)).passed
    assert all(rig.sent(word) for word in hidden), "a verdict runs the whole tests last"
