"""The repository's suite runs before any model is asked, and reports how far changes can be judged there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from nightshift.attempt.preflight import SuiteCheck, choose_command
from nightshift.core.clock import utc_now
from nightshift.core.code.environments import NO_ENVIRONMENT
from nightshift.core.code.repository_commands import Found, FoundCommand, Purpose
from nightshift.core.ports import Suite
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.core.tasks.verdicts import CaseResult, Failure, Result, SuiteJob, Trial, Verdict
from tests.support.trees import TextTree

MAKE = ("make", "test")
RUBY = {"Gemfile": "", "cart.rb": ""}
PYTHON = {"cart.py": "", "tests/test_cart.py": "", "tests/test_more.py": ""}
FLASK = Failure(id="tests/test_cart.py", kind="ModuleNotFoundError", message="No module named 'flask'")
OWN = Failure(id="tests/test_cart.py", kind="ModuleNotFoundError", message="No module named 'cart'")
TAPE = Failure(id="test/a.js", kind="ModuleNotFoundError", message="Cannot find module 'tape'")
SYNTAX = Failure(id="tests/test_cart.py", kind="SyntaxError", message="invalid syntax")
NEWER = {**PYTHON, "pyproject.toml": '[project]\nname = "cart"\nrequires-python = ">=3.13"\n'}
WRONG = Failure(id="tests/test_cart.py::test_total", kind="AssertionError", message="assert 1 == 2")


@dataclass
class Base(Suite):
    """A suite whose run on the base has a given result."""

    trial: Trial

    async def judge(self, job: SuiteJob) -> Verdict:
        raise NotImplementedError

    async def try_out(self, job: SuiteJob) -> Trial:
        raise NotImplementedError

    async def run_base(self, job: SuiteJob) -> Trial:
        return replace(self.trial, command=job.command or ("pytest", *job.regression))


def make_run(*failures: Failure, passed: int = 0, idle: int = 0) -> Trial:
    """Return a test run with these failures and these counts of passed and skipped tests."""
    cases = [CaseResult(id=each.id, result=Result.ERROR, message=each.message, kind=each.kind) for each in failures]
    cases += [CaseResult(id=f"tests/test_more.py::test_{n}", result=Result.PASSED) for n in range(passed)]
    cases += [CaseResult(id=f"tests/x.py::test_{n}", result=Result.SKIPPED, message="slow") for n in range(idle)]
    return Trial(reason="1 failed" if failures else "", results=tuple(cases), failures=failures)


def make_old(trial: Trial) -> Trial:
    return replace(trial, python="3.11.2")


def print_run(output: str, status: int = 2) -> Trial:
    """Return the run of a test command whose output names no tests."""
    failure = Failure(id="make test", kind="ExitCode", message=f"`make test` ended with status {status}", output=output)
    return Trial(reason=failure.message, failures=(failure,))


def check(files: dict[str, str], **spec: Any) -> SuiteCheck:
    return SuiteCheck(
        repo="/shop", tree=TextTree(files), spec=TaskSpec(description="Add taxes", **spec), environment=NO_ENVIRONMENT
    )


@pytest.mark.parametrize(
    ("files", "command", "trial", "fault"),
    [
        (PYTHON, (), make_run(FLASK), "No module named 'flask'"),
        (PYTHON, (), make_run(FLASK, passed=1), ""),
        ({"tests/test_cart.py": ""}, (), make_run(OWN), ""),
        ({"conftest.py": "", "tests/test_cart.py": ""}, (), print_run("No module named 'flask'"), "No module named"),
        ({"index.js": "", "test/a.js": ""}, (), make_run(TAPE), "Cannot find module 'tape'"),
        (PYTHON, (), make_run(), ""),
        (RUBY, MAKE, print_run("sh: 1: nyc: not found\nmake: *** [test] Error 127\n"), "sh: 1: nyc: not found"),
        (RUBY, MAKE, print_run("2 examples, 1 failure\n"), ""),
        (PYTHON, MAKE, print_run("ERROR: No matching distribution found for flask\nmake: *** 1\n"), "No matching"),
        (RUBY, (), make_run(), "its files name no command"),
        (NEWER, (), make_old(make_run(SYNTAX)), "asks for Python >=3.13, and no test passes with Python 3.11.2"),
        (PYTHON, (), make_old(make_run(SYNTAX)), ""),
    ],
)
async def test_nothing_can_be_judged_only_for_want_of_what_no_change_could_bring(
    files: dict[str, str], command: tuple[str, ...], trial: Trial, fault: str
) -> None:
    result = await check(files, test_command=command).run(Base(trial), utc_now())
    assert (fault in result.fault, bool(result.fault)) == (True, bool(fault))


async def test_the_check_counts_what_ran_and_says_why_the_rest_did_not() -> None:
    result = await check(PYTHON).run(Base(make_run(FLASK, WRONG, passed=2, idle=3)), utc_now())
    assert (result.collected, result.passed, result.failed, result.note) == (7, 2, 1, "")
    assert result.idle == {"slow": 3, "ModuleNotFoundError: No module named 'flask'": 1}
    assert (result.command, result.language) == (("pytest",), Language.PYTHON)


@pytest.mark.parametrize(
    ("files", "spec", "is_taken"),
    [
        (RUBY, {}, True),
        (RUBY, {"test_command": ("rake",)}, False),
        (RUBY, {"tests": {"test_a.py": ""}}, False),
        (PYTHON, {}, False),
    ],
)
def test_a_found_command_judges_where_nothing_else_does(
    files: dict[str, str], spec: dict[str, Any], is_taken: bool
) -> None:
    command = FoundCommand(purpose=Purpose.TEST, words=MAKE, path="Makefile", line=1)
    asked = check(files, **spec)
    assert (choose_command(asked.tree, asked.spec, Found(commands=(command,))) is command) is is_taken
