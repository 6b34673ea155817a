"""A run in which everything is as it should be, and what each single deviation does to its judgement."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from nightshift.core.isolation import Ended, SandboxLimits, SandboxResult
from nightshift.core.tasks.verdicts import Result
from nightshift.verdict import judging
from nightshift.verdict.answer import Answer, CaseReport, Fault, Report, Session, Split
from nightshift.verdict.judging import Run
from nightshift.verdict.languages import plan
from nightshift.verdict.languages.plan import Plan, Role, SplitPlan, SuiteFile
from nightshift.verdict.languages.python.outline import outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.shaping import Names
from nightshift.verdict.time_limits import TimeLimit

TEXT = "def test_1a():\n    assert f() == 1\n\n\ndef test_2b():\n    assert f() == 1\n"
FILE = SuiteFile(
    role=Role.GIVEN,
    path="test_a.py",
    staged="test_0000.py",
    text=TEXT,
    original=TEXT,
    outline=outline(ast.parse("def test_one(): pass\ndef test_two(): pass\n"), PytestSettings()),
    names={"test_1a": "test_one", "test_2b": "test_two"},
    must_fail_path="test_ffff.py",
    must_fail_names=frozenset({"test_1a", "test_2b"}),
    copied=True,
)
IDS = ("test_0000.py::test_1a", "test_0000.py::test_2b")
COPIES = ("test_ffff.py::test_1a", "test_ffff.py::test_2b")
PLAN = Plan(
    files=(FILE,), texts={}, mounted={}, removed=(), closure=None, dropped={}, options=(),
    paths=(".",),
    split=SplitPlan(
        suites=("test_0000.py", "test_ffff.py"), texts={}, hidden=(), roots=("",), settings={}, judged=frozenset(IDS),
        whole=True, simple={},
    ),
)  # fmt: skip
LIMITS = SandboxLimits(cpu_s=9)
OUTPUT = SandboxResult(exit_code=0, ended=Ended.EXITED, stdout=b"", stderr=b"", duration_s=1.0)


def case(nodeid: str, outcome: str = "passed", raised: str | None = None, *, genuine: bool = False) -> CaseReport:
    call = Report(
        when="call", outcome=outcome, xfail=False, subtest=False, raised=raised, genuine=genuine, duration_s=0.0
    )
    fine = replace(call, outcome="passed", raised=None, genuine=False)
    fault = None if outcome == "passed" else Fault(kind=raised or "Error", message="why")
    return CaseReport(
        id=nodeid, reports=(replace(fine, when="setup"), call, replace(fine, when="teardown")), fault=fault
    )


def failed(nodeid: str) -> CaseReport:
    return case(nodeid, "failed", "AssertionError", genuine=True)


ONE, TWO = map(case, IDS)
COPY_ONE, COPY_TWO = map(failed, COPIES)
SESSION = Session(how="exited", exit_code=0, tests=(ONE, TWO), finishes=(0,), output={}, duration_s=0.1)
OF_COPIES = Session(how="exited", exit_code=1, tests=(COPY_ONE, COPY_TWO), finishes=(1,), output={}, duration_s=0.1)
APART = dict.fromkeys(IDS, ("passed", "")) | dict.fromkeys(COPIES, ("failed", "AssertionError"))
SPLIT = Split(how="exited", exit_code=0, results=APART, duration_s=0.1)
ANSWER = Answer(python="3.11", session=SESSION, split=SPLIT)


def run(answer: Answer | None = ANSWER, planned: Plan = PLAN, result: SandboxResult = OUTPUT, **more: Any) -> Run:
    names = Names(planned.files, {"test_a.py": TEXT}.get)
    return Run(
        plan=planned, result=result, answer=answer, names=names, limits=LIMITS, time=TimeLimit.of(LIMITS), digest="",
        **more,
    )  # fmt: skip


def session(**changes: Any) -> Run:
    """A run that did not go as it should."""
    return run(replace(ANSWER, session=replace(SESSION, **changes)))


def copies(result: SandboxResult = OUTPUT, **changes: Any) -> Run:
    """A run as it should be without a split one, and one of its copies that did not go as it should."""
    alone = plan.copies(PLAN)
    assert alone is not None
    answer = Answer(python="3.11", session=replace(OF_COPIES, **changes))
    return run(replace(ANSWER, split=None), copies=run(answer, alone, result))


def split(results: Mapping[str, tuple[str, str]], **changes: Any) -> Run:
    """A run as it should be, of which the split run says something else."""
    return run(replace(ANSWER, split=replace(SPLIT, results={**APART, **results}, **changes)))


def test_a_run_as_it_should_be_passes() -> None:
    found = judging.judge(run())
    assert found.passed
    assert {result.id: result.result for result in found.results} == {
        "test_a.py::test_one": Result.PASSED,
        "test_a.py::test_two": Result.PASSED,
    }
    assert (found.copies_failed, found.notes, found.tampering) == (2, (), "")


def test_a_run_whose_copies_failed_in_a_sandbox_of_their_own_passes() -> None:
    found = judging.judge(copies())
    assert found.passed
    assert found.copies_failed == 2
    assert found.notes == ("2 of 2 tests were judged in one process with the code alone",)


def test_copies_are_needed_unless_the_split_run_had_them_all() -> None:
    assert not judging.needs_copies(run())
    without = run(replace(ANSWER, split=None))
    assert judging.judge(without).reason == judging.NO_COPIES
    assert judging.needs_copies(without)
    assert not judging.needs_copies(session(tests=(failed(ONE.id), TWO)))
    assert not judging.needs_copies(run(None))


DEVIATIONS: Mapping[str, tuple[Run, str]] = {
    "no answer": (run(None), "the run ended without an answer"),
    "the isolation's deadline": (run(None, result=replace(OUTPUT, ended=Ended.TIMEOUT)), "cut off after 45 s by"),
    "memory": (run(result=replace(OUTPUT, ended=Ended.OUT_OF_MEMORY)), "used more than 512 MB"),
    "the isolation's output": (run(None, result=replace(OUTPUT, ended=Ended.OUTPUT_LIMIT)), "printed more than"),
    "the suite's processor time": (
        session(how="timeout", limit="processor", exit_code=None, finishes=()), "cut off after 9 s of processor time",
    ),
    "the suite's deadline": (
        session(how="timeout", limit="clock", exit_code=None, finishes=()), "cut off after 45 s by the clock",
    ),
    "a suite that waits": (
        session(how="timeout", limit="idle", exit_code=None, finishes=()), "9 s in which they used no processor time",
    ),
    "a flood": (session(how="flood", exit_code=None, finishes=()), "printed more than 1024 KB"),
    "an early end": (session(exit_code=0, finishes=(), tests=(ONE,)), "ended by itself (exit status 0)"),
    "a signal": (session(exit_code=-11, finishes=(), running=IDS[1]), "signal 11"),
    "a refusal": (session(exit_code=4, finishes=(), tests=()), "pytest refused to start"),
    "an internal error": (session(internal="broken"), "pytest failed: broken"),
    "a failed test": (session(tests=(failed(ONE.id), TWO)), "1 failed of 2 tests"),
    "a skipped test": (session(tests=(case(ONE.id, "skipped", "Skipped"), TWO)), "1 skipped of 2 tests"),
    "a missing test": (session(tests=(ONE,)), "1 missing of 2 tests"),
    "a stranger": (session(tests=(*SESSION.tests, case("test_0000.py::test_3c"))), "1 tests that are not in the suite"),
    "a strange file": (session(tests=(*SESSION.tests, case("evil.py::test_1a"))), "1 tests that are not in the suite"),
    "a hidden exception": (session(tests=(case(ONE.id, raised="AssertionError"), TWO)), "1 failed of 2 tests"),
    "a garbled report": (session(garbled=True), "what the recorder did not write"),
    "an unfinished test": (session(running=IDS[1]), "a test is still running"),
    "two endings": (session(finishes=(0, 0)), "which cannot be"),
    "another exit status": (session(exit_code=1), "which cannot be"),
    "a status that does not fit": (session(exit_code=1, finishes=(1,)), "which cannot be"),
    "a changed framework": (session(changed=("os._exit",)), "the test framework was changed"),
    "a changed test file": (run(replace(ANSWER, altered=("test_a.py",))), "was changed while the tests ran"),
    "no test at all": (session(tests=(), exit_code=5, finishes=(5,)), "2 missing of 2 tests"),
    "no copies": (run(replace(ANSWER, split=None)), "the must-fail copies were not run"),
    "a copy that passes": (copies(tests=(COPY_ONE, case(COPIES[1]))), "test_a.py::test_two did not fail"),
    "all copies pass": (
        copies(tests=tuple(map(case, COPIES)), exit_code=0, finishes=(0,)), "test_a.py::test_one did not fail",
    ),
    "a copy that did not run": (copies(tests=(COPY_ONE,)), "copy of test_a.py::test_two did not run"),
    "a copy that fails otherwise": (
        copies(tests=(COPY_ONE, case(COPIES[1], "failed", "KeyError"))),
        "copy of test_a.py::test_two failed, but not by a check",
    ),
    "a false AssertionError": (
        copies(tests=(COPY_ONE, case(COPIES[1], "failed", "AssertionError"))),
        "copy of test_a.py::test_two failed, but not by a check",
    ),
    "copies that do not end": (
        copies(how="timeout", exit_code=None, finishes=()), "with other expected values the tests were cut off",
    ),
    "copies that leave": (copies(finishes=()), "with other expected values the test process ended by itself"),
    "memory of the copies": (copies(replace(OUTPUT, ended=Ended.OUT_OF_MEMORY)), "with other expected values"),
    "a changed framework beside the copies": (copies(changed=("os._exit",)), "the test framework was changed"),
    "a garbled report of the copies": (copies(garbled=True), "what the recorder did not write"),
    "a stranger among the copies": (copies(tests=(*OF_COPIES.tests, failed("evil.py::t"))), "not in the suite"),
    "an original among the copies": (copies(tests=(*OF_COPIES.tests, ONE)), "not in the suite"),
    "a copies' status that does not fit": (copies(exit_code=0, finishes=(0,)), "which cannot be"),
    "other behaviour from another process": (
        split({IDS[0]: ("failed", "6 == 5")}),
        "test_a.py::test_one passes in one process with the code and fails with the code in another one: 6 == 5",
    ),
    "an exception in another process": (split({IDS[1]: ("raised", "KeyError: 1")}), "test_a.py::test_two passes"),
    "one case that behaves otherwise": (split({f"{IDS[1]}[2]": ("failed", "why")}), "test_a.py::test_two passes"),
    "a file that cannot be imported from another process": (
        split({"test_0000.py": ("raised", "KeyError: 1")}), "test_a.py passes in one process",
    ),
    "no end in another process": (
        split({}, how="timeout", duration_s=8.0), "did not end within 8 s with the code in another process",
    ),
    "answers that are slow from another process alone": (
        split({IDS[0]: ("unjudged", "takes too long: 4.2 s in 2 calls")}),
        "the code answered 2 calls in 4 s from another process",
    ),
    "an end by a signal in another process": (split({}, exit_code=-9), "ended by signal 9 while the code"),
    "a copy that passes in another process": (split({COPIES[1]: ("passed", "")}), "the must-fail copies were not run"),
    "a copy that raises in another process": (split({COPIES[1]: ("raised", "")}), "the must-fail copies were not run"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEVIATIONS)
def test_nothing_passes_in_which_anything_is_odd(name: str) -> None:
    odd, reason = DEVIATIONS[name]
    found = judging.judge(odd)
    assert not found.passed
    assert reason in found.reason


@pytest.mark.parametrize("result", ["unjudged", "no such word"])
def test_a_test_that_the_split_run_does_not_judge_is_no_fault_of_the_code(result: str) -> None:
    kept = {name: value for name, value in APART.items() if name != IDS[1]}
    odd = split({IDS[1]: (result, "makes too many calls")})
    missing = run(replace(ANSWER, split=replace(SPLIT, results=kept)))
    for one in (odd, missing):
        assert judging.needs_copies(one)
        found = judging.judge(replace(one, copies=copies().copies))
        assert found.passed
        assert found.notes == ("1 of 2 tests were judged in one process with the code alone",)


def test_what_a_test_does_that_is_not_to_be_judged_apart_counts_for_nothing() -> None:
    assert PLAN.split
    planned = replace(PLAN, split=replace(PLAN.split, judged=frozenset(IDS[:1]), whole=False))
    odd = replace(split({IDS[1]: ("failed", "is")}), plan=planned, copies=copies().copies)
    found = judging.judge(odd)
    assert found.passed
    assert found.notes == ("1 of 2 tests were judged in one process with the code alone",)
    assert not judging.judge(replace(odd, plan=PLAN)).passed


@pytest.mark.parametrize(("duration_s", "calls"), [(2.0, 2), (0.1, 3000)])
def test_slow_answers_say_nothing_where_the_code_is_slow_or_asked_often(duration_s: float, calls: int) -> None:
    found = split(dict.fromkeys(IDS, ("unjudged", f"takes too long: 4.2 s in {calls} calls")))
    assert found.answer
    answer = replace(found.answer, session=replace(SESSION, duration_s=duration_s))
    assert judging.judge(replace(found, answer=answer, copies=copies().copies)).passed


def test_a_split_run_that_is_slow_beside_a_slow_suite_says_nothing() -> None:
    slow = replace(
        ANSWER, session=replace(SESSION, duration_s=4.0), split=replace(SPLIT, how="timeout", duration_s=10.0)
    )
    assert judging.judge(run(slow)).passed


@pytest.mark.parametrize(
    "odd",
    [
        session(garbled=True), session(tests=(*SESSION.tests, case("secret[17].py::test_x"))), copies(garbled=True),
        copies(tests=(*OF_COPIES.tests, failed("secret[17].py::test_x"))),
        session(tests=(failed(ONE.id), TWO, case("secret[17].py::test_x")), exit_code=1, finishes=(1,)),
    ],
)  # fmt: skip
def test_what_only_an_attack_puts_into_a_report_is_tampering_and_is_told_in_our_words(odd: Run) -> None:
    found = judging.judge(odd)
    assert found.tampering
    assert not found.passed
    assert "secret" not in repr((found.reason, found.tampering, found.results, found.failures))


@pytest.mark.parametrize(
    "odd",
    [
        run(), copies(), run(None), session(tests=(failed(ONE.id), TWO), exit_code=1, finishes=(1,)),
        session(garbled=True, exit_code=-9, finishes=()), session(changed=("os._exit",)),
        split({IDS[0]: ("failed", "x")}), session(how="timeout", exit_code=None, finishes=(), garbled=True),
    ],
)  # fmt: skip
def test_what_an_honest_process_can_leave_behind_is_no_tampering(odd: Run) -> None:
    assert judging.judge(odd).tampering == ""


def test_a_self_written_test_whose_copy_passes_is_weak() -> None:
    odd = copies(tests=(COPY_ONE, case(COPIES[1])))
    found = judging.judge(replace(odd, plan=replace(PLAN, files=(replace(FILE, role=Role.OWN),))))
    assert found.weak == ("test_a.py::test_two",)
    assert found.doubtful == COPIES[1:]
    assert "proves nothing" in found.reason


def test_the_test_that_was_running_is_blamed_and_the_rest_did_not_run() -> None:
    found = judging.judge(session(how="timeout", exit_code=None, finishes=(), tests=(ONE,), running=TWO.id))
    assert [(result.id, result.result) for result in found.results] == [
        ("test_a.py::test_one", Result.PASSED),
        ("test_a.py::test_two", Result.ERROR),
    ]
    assert found.failures[0].id == "test_a.py::test_two"


def test_an_error_of_collection_is_an_error_of_every_test_in_the_file() -> None:
    fault = Fault(kind="ModuleNotFoundError", message="No module named 'x'")
    found = judging.judge(session(tests=(), collection=(("test_0000.py", fault),)))
    assert found.reason == "test_a.py: ModuleNotFoundError: No module named 'x'"
    assert {result.result for result in found.results} == {Result.ERROR}
    assert len(found.failures) == 1


REGRESSION = SuiteFile(role=Role.REGRESSION, path="old.py", staged="old.py", text="", original="")


def test_what_failed_before_the_change_is_excused_and_told() -> None:
    planned = replace(PLAN, files=(FILE, REGRESSION))
    tests = (*SESSION.tests, failed("old.py::test_x"), case("old.py::test_y"))
    broken = run(replace(ANSWER, session=replace(SESSION, tests=tests, exit_code=1, finishes=(1,))), planned)
    found = judging.judge(broken)
    assert found.excusable
    assert not found.passed
    excused = judging.judge(replace(broken, before={"old.py::test_x": Result.FAILED}))
    assert excused.passed
    assert "failing before the change already: old.py::test_x" in excused.notes
    assert not judging.judge(replace(broken, before={"old.py::test_x": Result.PASSED})).passed


def test_a_given_test_is_never_excused() -> None:
    odd = session(tests=(failed(ONE.id), TWO))
    assert not judging.judge(odd).excusable
    assert not judging.judge(replace(odd, before={"test_a.py::test_one": Result.FAILED})).passed
