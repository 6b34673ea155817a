"""Commands that are no known test runner: the exit status decides, a report adds to it and takes nothing from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nightshift.core.isolation import Ended, SandboxLimits, SandboxResult
from nightshift.core.tasks.verdicts import Result
from nightshift.verdict import commands, environment, judging
from nightshift.verdict.answer import Answer, Session
from nightshift.verdict.judging import Judgement, Run
from nightshift.verdict.languages.plan import Plan
from nightshift.verdict.reports import Reported
from nightshift.verdict.reports.collected import Told
from nightshift.verdict.shaping import Names
from nightshift.verdict.time_limits import TimeLimit

PLAN = Plan(
    files=(), texts={}, mounted={}, removed=(), closure=None, dropped={}, options=(), paths=(), command=("make", "test")
)
LIMITS = SandboxLimits(cpu_s=9)
OUTPUT = SandboxResult(exit_code=0, ended=Ended.EXITED, stdout=b"", stderr=b"", duration_s=1.0)
GOOD = Told(id="a::fine", result=Result.PASSED)
BAD = Told(id="a::adds", result=Result.FAILED, kind="Mismatch", message="3 is not 4", output="left 3\nright 4")
NETWORK = Told(id="a::fetches", result=Result.ERROR, kind="IOException", message="dial tcp: connection refused")
TASK = environment.Task(words="Make the parser faster", modules=frozenset({"parser"}))


def run(reported: Reported | None = None, **changes: Any) -> Run:
    of_run = {name: changes.pop(name) for name in ("task", "unchanged") if name in changes}
    told = {"how": "exited", "exit_code": 0, "output": {"": "built\n"}, **changes}
    return Run(
        plan=PLAN, result=OUTPUT, answer=Answer(python="3.11", session=Session(**told)), limits=LIMITS,
        names=Names((), lambda _path: None), time=TimeLimit.of(LIMITS), digest="", reported=reported, **of_run,
    )  # fmt: skip


def report(*tests: Told, **more: Any) -> Reported:
    return Reported(form="TAP", tests=tests, **more)


def judged(reported: Reported | None = None, **changes: Any) -> Judgement:
    return commands.judge(run(reported, **changes))


def test_a_command_without_a_report_is_judged_by_its_exit_code_alone() -> None:
    assert judged().passed
    wrong = judged(exit_code=2)
    assert wrong.reason == "`make test` ended with exit status 2"
    assert wrong.failures[0].output == "built"
    cut_off = judged(how="timeout", limit="processor", exit_code=None)
    assert cut_off.reason == f"the tests were cut off after 9 s of processor time ({judging.LIMIT})"
    assert not commands.judge(replace(run(), answer=None)).passed


def test_a_report_has_each_test_with_its_outcome_and_says_who_wrote_it() -> None:
    skipped = Told(id="a::later", result=Result.SKIPPED)
    found = judged(report(GOOD, skipped, unlisted=7))
    assert found.passed
    assert [(one.id, one.result) for one in found.results] == [("a::fine", Result.PASSED)]
    assert found.notes == (
        "tests by the TAP report, which the tested code can write; no must-fail copies were run",
        "7 further tests are not listed",
        "skipped: a::later",
    )


def test_a_failing_exit_stays_one_whatever_the_report_says() -> None:
    found = judged(report(GOOD), exit_code=1)
    assert found.reason == "`make test` ended with exit status 1"
    assert [one.result for one in found.results] == [Result.PASSED]
    assert found.failures[0].kind == "ExitCode"


def test_a_report_that_tells_of_failures_fails_though_the_exit_status_is_0() -> None:
    found = judged(report(BAD, GOOD))
    assert found.reason == "1 of 2 tests failed: `make test` ended with exit status 0"
    (failure,) = found.failures
    assert (failure.id, failure.kind, failure.message) == ("a::adds", "Mismatch", "3 is not 4")
    assert failure.output == "left 3\nright 4"
    assert judged(report(GOOD, faults=("it promises 3 tests and tells of 1",))).reason.startswith("its report says: it")
    assert judged(report(Told(id="a", result=Result.SKIPPED))).reason.startswith("no test ran")


def test_what_the_machine_lacks_is_excused_by_name_where_it_failed_before_as_well() -> None:
    before = run(report(NETWORK, GOOD), exit_code=1)
    now = run(report(NETWORK, GOOD), exit_code=1, task=TASK)
    first = commands.judge(now)
    assert (first.passed, first.excusable) == (False, True)
    found = commands.judge(replace(now, unchanged=before))
    assert found.passed
    assert found.left == ("a::fetches",)
    assert "failing before the change already: a::fetches" in found.notes
    assert [one.id for one in found.results] == ["a::fine"]


def test_nothing_else_excuses_a_failing_exit() -> None:
    now = run(report(NETWORK, GOOD), exit_code=1, task=TASK)
    before = run(report(NETWORK, GOOD), exit_code=1)
    other = replace(NETWORK, id="a::other")
    assert not commands.judge(replace(now, unchanged=run(report(GOOD), exit_code=1))).passed, "it passed before"
    assert not commands.judge(replace(now, unchanged=replace(before, reported=None))).passed
    assert not commands.judge(replace(now, unchanged=run(report(NETWORK, GOOD), exit_code=2))).passed
    gone = run(report(NETWORK, GOOD, Told(id="a::gone", result=Result.PASSED)), exit_code=1)
    assert not commands.judge(replace(now, unchanged=gone)).passed, "a test is gone"
    assert not judged(report(NETWORK, other, GOOD), exit_code=1, task=TASK, unchanged=before).passed
    assert not judged(report(NETWORK), exit_code=1, task=TASK, unchanged=run(report(NETWORK), exit_code=1)).passed
    assert not judged(report(NETWORK, GOOD), exit_code=1, unchanged=before).passed, "nobody said what the task is"
    named = environment.Task(words="Mend what fetches", modules=frozenset())
    assert not judged(report(NETWORK, GOOD), exit_code=1, task=named, unchanged=before).passed
    wrong = run(report(BAD, GOOD), exit_code=1)
    assert not judged(report(BAD, GOOD), exit_code=1, task=TASK, unchanged=wrong).passed, "the code may be at fault"
