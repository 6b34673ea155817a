"""Turns the report of a run into a `NativeRun`.

A `NativeRun` contains the result of each test and, if the run did not end normally, the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nightshift.core.isolation import Ended, SandboxLimits, SandboxResult
from nightshift.core.tasks.verdicts import CaseResult, Failure, Result
from nightshift.verdict import reports, shaping
from nightshift.verdict.answer import Answer, CaseReport, Fault, Session
from nightshift.verdict.judge import exit_words
from nightshift.verdict.languages.plan import Plan
from nightshift.verdict.reports.collected import BAD, Told
from nightshift.verdict.run import EXPECTED, FAILED, NativeRun, file_of
from nightshift.verdict.shaping import Texts, show_id
from nightshift.verdict.time_limits import TimeLimit

LIMIT = "SUITE_TIMEOUT_S, limits.suite_s"
"""Names of the settings with which the owner changes the time limit. Messages about a timeout show them."""
_WORST = (Result.ERROR, Result.FAILED, Result.SKIPPED, Result.PASSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A run that has ended, with everything that is needed to read its report.

    Attributes:
        plan: the plan of the run.
        result: the sandbox's result.
        answer: the trusted parent's answer; None if it has no valid signature.
        texts: cleans the texts of the run.
        limits: the sandbox limits of the job.
        time: the time limit of this run.
        digest: hash of all files that the run saw.
    """

    plan: Plan
    result: SandboxResult
    answer: Answer | None
    texts: Texts
    limits: SandboxLimits
    time: TimeLimit
    digest: str

    @property
    def session(self) -> Session | None:
        """The events of the run; None if there is no answer."""
        return self.answer.session if self.answer else None

    @property
    def is_late(self) -> bool:
        """True if a time limit ended the run."""
        return self.result.ended is Ended.TIMEOUT or bool(self.session and self.session.how == "timeout")

    @property
    def left(self) -> tuple[str, ...]:
        """The test files of the base that the run left for another run."""
        left = self.session.left if self.session else ()
        return tuple(file.path for file in self.plan.files if file.path in left)


def read_run(run: Reported) -> NativeRun:
    """Return the report of a run as a `NativeRun`."""
    session, texts = run.session, run.texts
    stopped = _find_stop(run)
    if session is None:
        return NativeRun(
            command=run.plan.command, exit_code=None, stopped=stopped, is_late=run.is_late, digest=run.digest,
            failures=(stopped,) if stopped else (),
        )  # fmt: skip
    report = None if session.items or session.tests or not run.plan.command else _read_report(run)
    tests, failures = (_read_tests(run) if report is None else report) or (None, ())
    ended = {show_id(test.id) for test in session.tests}
    left = set(session.left)
    expected = [show_id(item) for item in session.items]
    return NativeRun(
        command=run.plan.command or (run.plan.framework, *(run.plan.words or ())),
        exit_code=session.exit_code,
        stopped=stopped,
        is_late=run.is_late,
        tests=tests,
        failures=shaping.distinct([*([stopped] if stopped else []), *failures]),
        missing=tuple(test for test in expected if test not in ended and file_of(test) not in left),
        lines={show_id(test.id): test.lines for test in session.tests if test.lines},
        read=session.read,
        opened=tuple(sorted(session.opened)),
        modules=tuple(sorted(session.modules)),
        changed=tuple(dict.fromkeys(session.changed)),
        marked=tuple(show_id(test.id) for test in session.tests if test.is_marked),
        altered=tuple(run.answer.altered) if run.answer else (),
        is_forged=session.garbled and bool(session.finishes),
        is_recorded=not run.plan.command or bool(session.items or session.tests),
        output=shaping.tail(texts.text(session.output.get("", ""))),
        digest=run.digest,
        python=run.answer.python if run.answer else "",
        cpu_s=session.cpu_s,
        wall_s=session.duration_s,
        notes=(*session.notes, *_read_notes(run)),
    )


# The functions below read the results of the tests.


def _read_tests(run: Reported) -> tuple[tuple[CaseResult, ...] | None, tuple[Failure, ...]]:
    """Return the results and the failures of the recorded tests.

    The results are None if the run was a command whose tests no recorder observed.
    """
    session, results, failures = run.session, dict[str, CaseResult](), list[Failure]()
    assert session is not None
    if run.plan.command and not (session.items or session.tests or session.collection or session.finishes):
        return None, ()
    for path, fault in session.collection:
        failure = shaping.failure(path, fault, session.output.get("", ""), run.texts, collecting=True)
        failures.append(failure)
        message = failure.message.partition("\n")[0]
        results[failure.id] = CaseResult(
            id=failure.id, result=Result.ERROR, message=message, kind=failure.kind, frame=failure.frame
        )  # fmt: skip
    for path, fault in session.skipped:
        message = run.texts.text(fault.message).partition("\n")[0]
        results[show_id(path)] = CaseResult(id=show_id(path), result=Result.SKIPPED, message=message)
    for test in session.tests:
        ended, fault_of_test = _read_test(test, run)
        before = results.get(ended.id)
        if before is None or _WORST.index(ended.result) < _WORST.index(before.result):
            results[ended.id] = ended
        failures += [fault_of_test] if fault_of_test and ended.result in FAILED else []
    return (*results.values(), *_read_unreached(run, results.keys())), tuple(failures)


def _read_test(test: CaseReport, run: Reported) -> tuple[CaseResult, Failure | None]:
    failure = None
    if test.result is not Result.PASSED:
        fault = test.fault or Fault(kind="XPassed", message="it passed, though it was expected to fail")
        output = test.output or (run.session.output.get(test.id, "") if run.session else "")
        failure = shaping.failure(test.id, fault, output, run.texts)
    is_expected = test.fault is not None and test.fault.kind == "XFailed"
    message = EXPECTED if is_expected else failure.message if failure else ""
    result = CaseResult(
        id=show_id(test.id), result=test.result, duration_s=test.duration_s, message=message,
        kind=failure.kind if failure else "", frame=failure.frame if failure else "",
    )  # fmt: skip
    return result, failure


def _read_unreached(run: Reported, reached: Collection[str]) -> Iterator[CaseResult]:
    """List the tests that a stopped run did not reach, and the test in which it was stopped."""
    session = run.session
    if session is None or session.finishes:
        return
    for item in dict.fromkeys((*([session.running] if session.running else []), *session.items)):
        name = show_id(item)
        if name not in reached:
            is_in = item == session.running
            why = "the run was stopped in this test" if is_in else "the run was stopped before this test"
            yield CaseResult(id=name, result=Result.ERROR if is_in else Result.NOT_REACHED, message=why)


def _read_report(run: Reported) -> tuple[tuple[CaseResult, ...] | None, tuple[Failure, ...]] | None:
    """Return the results and failures in a command's report; None if the command wrote no report."""
    assert run.session is not None
    report = reports.read(run.session)
    if report is None or not report.form:
        return None
    texts = run.texts
    results = tuple(
        CaseResult(
            id=_id(test, texts), result=test.result, duration_s=test.duration_s,
            message=texts.text(test.message).partition("\n")[0], kind=texts.text(test.kind),
        )
        for test in report.tests
    )  # fmt: skip
    failures = [_failure(test, texts) for test in report.tests if test.result in BAD]
    faults = [
        CaseResult(id=texts.text(fault), result=Result.ERROR, message="the test report says so")
        for fault in report.faults
    ]
    failures += [Failure(id=fault.id, kind="Report", message=fault.id) for fault in faults]
    return (*results, *faults), tuple(failures)


def _read_notes(run: Reported) -> Iterator[str]:
    session = run.session
    if session is None or not run.plan.command or session.items or session.tests:
        return
    if (report := reports.read(session)) is None:
        return
    if report.form:
        yield f"tests by the {report.form} report, which the tested code can write"
    yield from map(run.texts.text, report.notes)
    if report.unlisted:
        yield f"{report.unlisted} further tests are not listed"


def _id(test: Told, texts: Texts) -> str:
    return " ".join(texts.text(test.id).split()) or "a test without a name"


def _failure(test: Told, texts: Texts) -> Failure:
    return Failure(
        id=_id(test, texts), kind=texts.text(test.kind) or "Failure", message=texts.text(test.message),
        output=shaping.tail(texts.text(test.output)),
    )  # fmt: skip


# The functions below find the reason if a run did not end normally.


def _find_stop(run: Reported) -> Failure | None:
    """Return why the run did not end normally; None if it did."""
    session, how = run.session, run.result.ended
    if how is Ended.OUT_OF_MEMORY or (session and session.how == "memory"):
        return _stop(run, "OutOfMemory", f"the tests used more than {run.limits.memory_mb} MB of memory")
    if run.answer and run.answer.gone:
        name, detail = next(iter(run.answer.gone.items()))
        return _stop(run, "Service", f"the service {name} ended while the tests ran", detail)
    if run.is_late:
        return _stop(run, "Timeout", f"the tests were cut off {_describe_limit(run)}", _read_printed(session))
    if how is Ended.OUTPUT_LIMIT or (session and session.how == "flood"):
        return _stop(run, "OutputLimit", _describe_flood(session, run.limits))
    if session is None:
        return _stop(run, "Crash", "the run ended without an answer", run.result.stderr.decode("utf-8", "replace"))
    if session.internal:
        detail = session.internal.rstrip().rpartition("\n")[2]
        return _stop(run, "InternalError", f"{run.plan.framework} failed: {detail}", session.internal)
    if not session.finishes and (not run.plan.command or session.items):
        return _stop(run, "Crash", _describe_crash(session, run.plan.framework), session.output.get("", ""))
    return None


def _stop(run: Reported, kind: str, message: str, output: str = "") -> Failure:
    """Return a failure of the whole run. Its message names the test that was running."""
    session = run.session
    running = (session.running or session.at) if session else None
    where = show_id(running) if running else (run.plan.files[0].path if run.plan.files else "")
    if running:
        message = f"{message}; it was in {where}"
    elif session and not session.tests and not run.plan.command and kind != "Crash":
        message = f"{message}; it was collecting the tests"
    return Failure(id=where, kind=kind, message=run.texts.text(message), output=shaping.tail(run.texts.text(output)))


def _read_printed(session: Session | None) -> str:
    return session.output.get(session.running or session.at or "", "") if session else ""


def _describe_limit(run: Reported) -> str:
    """Describe the time limit that ended a run."""
    of = {
        "processor": f"after {run.time.cpu_s:.3g} s of processor time",
        "idle": f"after {run.time.idle_s:.3g} s in which they used no processor time",
    }
    limit = run.session.limit if run.session else ""
    words = of.get(limit, f"after {run.time.wall_s:.3g} s by the clock")
    return f"{words} ({LIMIT})" if run.time.is_owner_limit else words


def _describe_flood(session: Session | None, limits: SandboxLimits) -> str:
    if session and session.limit == "report":
        return "the tests reported more data than a run can store"
    who = "one test" if session and (session.running or session.at) else "the tests"
    return f"{who} printed more than {limits.output_bytes >> 10} KB"


def _describe_crash(session: Session, framework: str) -> str:
    if session.exit_code == 4 and framework == "pytest":
        return "pytest refused to start"
    return f"the test process ended by itself ({exit_words(session.exit_code or 0)}) before the tests were over"
