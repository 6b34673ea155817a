"""A run in which everything is as it should be, and what each single deviation does to its judgement."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.isolation import Ended, SandboxLimits, SandboxResult
from core.verdicts import Result
from sandbox import judging
from sandbox.answer import Answer, CaseReport, Fault, Report, Session
from sandbox.judging import Run
from sandbox.outline import outline
from sandbox.plan import Plan
from sandbox.pytest_settings import PytestSettings
from sandbox.shaping import Names
from sandbox.twins import Role, SuiteFile

TEXT = "def test_1a():\n    assert f() == 1\n\n\ndef test_2b():\n    assert f() == 1\n"
FILE = SuiteFile(
    role=Role.GIVEN,
    path="test_a.py",
    staged="test_0000.py",
    text=TEXT,
    original=TEXT,
    outline=outline(ast.parse("def test_one(): pass\ndef test_two(): pass\n"), PytestSettings()),
    names={"test_1a": "test_one", "test_2b": "test_two"},
    twin="test_ffff.py",
    twin_names=frozenset({"test_1a", "test_2b"}),
    plain=("test_1a",),
)
PLAN = Plan(
    files=(FILE,), texts={}, mounted={}, removed=(), closure=None, dropped={}, settings=PytestSettings(), options=(),
    paths=(".",),
)  # fmt: skip
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


ONE, TWO = case("test_0000.py::test_1a"), case("test_0000.py::test_2b")
COPY_ONE, COPY_TWO = failed("test_ffff.py::test_1a"), failed("test_ffff.py::test_2b")
SESSION = Session(how="exited", exit_code=1, tests=(ONE, TWO, COPY_ONE, COPY_TWO), finishes=(1,), output={})
ANSWER = Answer(python="3.11", session=SESSION, plain_made=True, plain={"test_0000.py::test_1a": "passed"})


def run(answer: Answer | None = ANSWER, plan: Plan = PLAN, result: SandboxResult = OUTPUT, **more: Any) -> Run:
    names = Names(plan.files, {"test_a.py": TEXT}.get)
    return Run(plan=plan, result=result, answer=answer, names=names, limits=SandboxLimits(wall_s=9), digest="", **more)


def session(**changes: Any) -> Run:
    return run(replace(ANSWER, session=replace(SESSION, **changes)))


def test_a_run_as_it_should_be_passes() -> None:
    found = judging.judge(run())
    assert found.passed
    assert {result.id: result.result for result in found.results} == {
        "test_a.py::test_one": Result.PASSED,
        "test_a.py::test_two": Result.PASSED,
    }
    assert (found.twins, found.notes) == (2, ())


DEVIATIONS: Mapping[str, tuple[Run, str]] = {
    "no answer": (run(None), "the run ended without an answer"),
    "the isolation's deadline": (run(None, result=replace(OUTPUT, ended=Ended.TIMEOUT)), "did not end within 9 s"),
    "memory": (run(result=replace(OUTPUT, ended=Ended.OUT_OF_MEMORY)), "used more than 512 MB"),
    "the isolation's output": (run(None, result=replace(OUTPUT, ended=Ended.OUTPUT_LIMIT)), "printed more than"),
    "the suite's deadline": (session(how="timeout", exit_code=None, finishes=()), "did not end within 9 s"),
    "a flood": (session(how="flood", exit_code=None, finishes=()), "printed more than 1024 KB"),
    "an early end": (session(exit_code=0, finishes=(), tests=(ONE,)), "ended by itself (exit status 0)"),
    "a signal": (session(exit_code=-11, finishes=(), running="test_0000.py::test_2b"), "signal 11"),
    "a refusal": (session(exit_code=4, finishes=(), tests=()), "pytest refused to start"),
    "an internal error": (session(internal="broken"), "pytest failed: broken"),
    "a failed test": (session(tests=(failed(ONE.id), TWO)), "1 failed of 2 tests"),
    "a skipped test": (session(tests=(case(ONE.id, "skipped", "Skipped"), TWO)), "1 skipped of 2 tests"),
    "a missing test": (session(tests=(ONE, COPY_ONE)), "1 missing of 2 tests"),
    "a stranger": (session(tests=(*SESSION.tests, case("test_0000.py::test_3c"))), "not in the suite: test_0000.py"),
    "a strange file": (session(tests=(*SESSION.tests, case("evil.py::test_1a"))), "not in the suite: evil.py"),
    "a hidden exception": (session(tests=(case(ONE.id, raised="AssertionError"), TWO)), "1 failed of 2 tests"),
    "a garbled report": (session(garbled=True), "what the recorder did not write"),
    "an unfinished test": (session(running="test_ffff.py::test_2b"), "what the recorder did not write"),
    "two endings": (session(finishes=(1, 1)), "which cannot be"),
    "another exit status": (session(exit_code=0), "which cannot be"),
    "a status that does not fit": (session(exit_code=0, finishes=(0,)), "which cannot be"),
    "a changed framework": (session(changed=("os._exit",)), "the test framework was changed"),
    "a changed test file": (run(replace(ANSWER, altered=("test_a.py",))), "was changed while the tests ran"),
    "a copy that passes": (session(tests=(ONE, TWO, COPY_ONE, case(COPY_TWO.id))), "test_a.py::test_two did not fail"),
    "a copy that did not run": (session(tests=(ONE, TWO, COPY_ONE)), "copy of test_a.py::test_two did not run"),
    "a copy that fails otherwise": (
        session(tests=(ONE, TWO, COPY_ONE, case(COPY_TWO.id, "failed", "KeyError"))),
        "copy of test_a.py::test_two did not fail",
    ),
    "a false AssertionError": (
        session(tests=(ONE, TWO, COPY_ONE, case(COPY_TWO.id, "failed", "AssertionError"))),
        "copy of test_a.py::test_two did not fail",
    ),
    "other behaviour without pytest": (
        run(replace(ANSWER, plain={"test_0000.py::test_1a": "KeyError"})),
        "test_a.py::test_one passes under pytest and ends otherwise without it (KeyError)",
    ),
    "silence without pytest": (run(replace(ANSWER, plain=None)), "no result outside pytest"),
    "a run that was stopped without a reason": (session(how="settled", exit_code=None, finishes=()), "which cannot be"),
    "no test at all": (session(tests=(), exit_code=5, finishes=(5,)), "2 missing of 2 tests"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEVIATIONS)
def test_nothing_passes_in_which_anything_is_odd(name: str) -> None:
    odd, reason = DEVIATIONS[name]
    found = judging.judge(odd)
    assert not found.passed
    assert reason in found.reason


def test_a_run_that_was_stopped_after_a_failure_has_its_results() -> None:
    found = judging.judge(session(how="settled", exit_code=None, finishes=(), tests=(failed(ONE.id), TWO), running="x"))
    assert found.reason == "1 failed of 2 tests"
    assert not found.stopped


def test_a_copy_in_doubt_is_cleared_by_a_run_of_its_own() -> None:
    odd = session(tests=(ONE, TWO, COPY_ONE, case(COPY_TWO.id)), exit_code=1)
    assert judging.judge(odd).doubtful == ("test_ffff.py::test_2b",)
    cleared = judging.judge(replace(odd, cleared=frozenset({"test_ffff.py::test_2b"})))
    assert cleared.passed
    assert cleared.twins == 2


def test_a_self_written_test_whose_copy_passes_is_weak() -> None:
    own = replace(PLAN, files=(replace(FILE, role=Role.OWN),))
    answer = replace(ANSWER, session=replace(SESSION, tests=(ONE, TWO, COPY_ONE, case(COPY_TWO.id))))
    found = judging.judge(run(answer, own))
    assert found.weak == ("test_a.py::test_two",)
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
    plan = replace(PLAN, files=(FILE, REGRESSION))
    tests = (*SESSION.tests, failed("old.py::test_x"), case("old.py::test_y"))
    broken = run(replace(ANSWER, session=replace(SESSION, tests=tests)), plan)
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


def command(**changes: Any) -> judging.Judgement:
    plan = replace(PLAN, files=(), command=("make", "test"))
    told = {"how": "exited", "exit_code": 0, "output": {"": "built\n"}, **changes}
    return judging.judge_command(run(Answer(python="3.11", session=Session(**told)), plan))


def test_a_command_is_judged_by_its_exit_code_alone() -> None:
    assert command().passed
    wrong = command(exit_code=2)
    assert wrong.reason == "`make test` ended with exit status 2"
    assert wrong.failures[0].output == "built"
    assert "did not end" in command(how="timeout", exit_code=None).reason
    assert not judging.judge_command(run(None, replace(PLAN, command=("x",)))).passed
