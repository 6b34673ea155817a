"""From what a run reported to what it proved: pure, and never in favour of a run in which anything is odd.

Three questions in this order. Did the run come to its end? Did each of the owner's tests pass, and was none missing?
And can the answer be believed: did every must-fail copy fail by a genuine assertion, are the framework and the files
what they were, does the same hold without pytest? The first question that is answered with no gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nightshift.core.isolation import Ended, SandboxLimits, SandboxResult
from nightshift.core.tasks.verdicts import CaseResult, Failure, Result, TriedMutant
from nightshift.verdict import environment, integrity, let_off, shaping
from nightshift.verdict.answer import Answer, CaseReport, Fault, Session
from nightshift.verdict.languages.plan import Plan, Role, SuiteFile
from nightshift.verdict.reports import Reported
from nightshift.verdict.shaping import Names
from nightshift.verdict.time_limits import TimeLimit

LIMIT = "SUITE_TIMEOUT_S, limits.suite_s"
"""What the owner's limit is set with."""
_DECIDING = (Role.GIVEN, Role.COMMAND)
_FAILED = frozenset({Result.FAILED, Result.ERROR})
_ODD = ("Error", "an exception was raised, yet the test was reported as passed")
NO_COPIES = "the must-fail copies were not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a run proved.

    `left` are tests of the base that failed before the change already and are left out of `results`, `mended` those
    that failed before and pass now, `skipped` those that were skipped. `questioned` are the files of tests that failed,
    and may have failed before; `excusable` tells that nothing else failed, `stopped` that the run did not come to its
    end. `doubtful` are the ids of must-fail copies that did not fail as they must, `weak` self-written tests that prove
    nothing. `mutants` and `tampering` are as in a verdict. `late` tells that a limit of time decided.
    """

    reason: str
    results: tuple[CaseResult, ...] = ()
    failures: tuple[Failure, ...] = ()
    copies_failed: int = 0
    left: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    questioned: tuple[str, ...] = ()
    excusable: bool = False
    stopped: bool = False
    late: bool = False
    doubtful: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mutants: tuple[TriedMutant, ...] = ()
    tampering: str = ""

    def with_rest(self, rest: Judgement) -> Judgement:
        """The same with what a run of the tests that this one left says; `self` has passed."""
        results = (*self.results, *rest.results)
        return replace(
            self,
            reason=rest.reason.replace(f" of {len(rest.results)} tests", f" of {len(results)} tests"),
            results=results,
            failures=rest.failures,
            copies_failed=self.copies_failed + rest.copies_failed,
            left=(*self.left, *rest.left),
            mended=(*self.mended, *rest.mended),
            skipped=(*self.skipped, *rest.skipped),
            stopped=rest.stopped,
            late=rest.late,
            notes=tuple(dict.fromkeys((*self.notes, *rest.notes))),
            tampering=rest.tampering,
        )

    @property
    def passed(self) -> bool:
        """Tell whether nothing was found wrong."""
        return not self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The test in which a run was cut off, run again alone.

    `cut` says by which limit it was cut off again; it is empty for one that came to its end, whose results these are.
    """

    cut: str = ""
    results: tuple[CaseResult, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run with what it was asked: the plan, the isolation's result, the answer, and what the job was granted.

    `digest` is that of all files it saw, `time` what its tests might take. `before` holds those tests of the base that
    did not pass without the change, where that had to be looked up, `copies` is the run of the must-fail copies in a
    sandbox of their own, where there are any, `again` that of the test in which a limit of time cut it off. `task` is
    what a failure of a command's test is held against that failed before as well. Of a command that is no known runner,
    `reported` is what its report says, `unchanged` its run without the change, where that had to be looked up.
    """

    plan: Plan
    result: SandboxResult
    answer: Answer | None
    names: Names
    limits: SandboxLimits
    time: TimeLimit
    digest: str
    before: Mapping[str, Result] | None = None
    copies: Run | None = None
    again: Again | None = None
    task: environment.Task | None = None
    reported: Reported | None = None
    unchanged: Run | None = None

    @property
    def was_cut_off(self) -> bool:
        """Tell whether it was ended by a limit of time."""
        timed_out = self.answer is not None and self.answer.session.how == "timeout"
        return timed_out or self.result.ended is Ended.TIMEOUT

    @property
    def cut(self) -> str:
        """By which limit it was cut off, in words."""
        of = {
            "processor": f"after {self.time.cpu_s:.3g} s of processor time",
            "idle": f"after {self.time.idle_s:.3g} s in which they used no processor time",
        }
        limit = self.answer.session.limit if self.answer else ""
        words = of.get(limit, f"after {self.time.wall_s:.3g} s by the clock")
        if self.time.whole:
            return f"{words} ({LIMIT})"
        if known := self.time.learned:
            took = known.wall_s if limit == "idle" else known.cpu_s
            return f"{words} (earlier passing runs took at most {max(took, 0.1):.1f} s)"
        return words

    @property
    def left(self) -> tuple[str, ...]:
        """The files of the base's tests that were left for another run."""
        left = self.answer.session.left if self.answer else ()
        return tuple(file.staged for file in self.plan.files if file.staged in left and file.role is Role.REGRESSION)

    @property
    def cut_in(self) -> str:
        """The test of the suite in which it was when it ended, by its staged id without parameters; empty for none."""
        session = self.answer.session if self.answer else None
        path, _, name = ((session.running or session.at or "") if session else "").partition("::")
        known = any(file.staged == path for file in self.plan.files)
        return f"{path}::{name.partition('[')[0]}" if known and name else ""


def judge(run: Run) -> Judgement:
    """Weigh one run."""
    runs = [one for one in (run, run.copies) if one and one.answer]
    found = (integrity.tampering(one.answer.session, one.plan) for one in runs if one.answer)
    known = {test for test, result in (run.before or {}).items() if result in _FAILED}
    mended = known & _passed(run)
    return replace(
        _weighed(run),
        left=tuple(sorted(known - mended)),
        mended=tuple(sorted(mended)),
        tampering=next(filter(None, found), ""),
    )


def _passed(run: Run) -> set[str]:
    """The tests that passed, and the files in which one did."""
    tests = run.answer.session.tests if run.answer else ()
    passed = {test.id for test in tests if test.outcome is Result.PASSED}
    return passed | {test.partition("::")[0] for test in passed}


def _weighed(run: Run) -> Judgement:
    stopped = stopping(run)
    if run.answer is None:
        assert stopped is not None
        return Judgement(reason=stopped.message, failures=(stopped,), stopped=True, late=run.was_cut_off)
    session, every = run.answer.session, list[_Found]()
    for file in run.plan.files:
        every += _results_of(file, session, run)
    found = [one for one in every if not _excused(one, run)]
    bad = [one for one in found if one.result.result is not Result.PASSED]
    failures = shaping.distinct([*([stopped] if stopped else []), *(one.failure for one in bad if one.failure)])
    results = tuple(one.result for one in found)
    of_base = [one.result for one in every if one.role is Role.REGRESSION]
    skipped = tuple(one.id for one in of_base if one.result is Result.SKIPPED)
    notes = _notes(run, every, len(skipped))
    if stopped or bad:
        unknown = sum(one.result is Result.NOT_REACHED for one in results)
        more = f"; {unknown} of {len(results)} tests were not reached" if unknown else ""
        reason = f"{stopped.message}{more}" if stopped else _count(bad, len(found))
        return Judgement(
            reason=reason,
            results=results,
            failures=failures,
            skipped=skipped,
            questioned=_questioned(bad, stopped, run),
            excusable=run.before is None and not stopped and all(_may_be_excused(one, run) for one in bad),
            stopped=bool(stopped),
            late=bool(stopped) and run.was_cut_off,
            notes=notes,
        )
    if not results or _all_let_off(every):
        return Judgement(reason="no test ran", skipped=skipped, notes=notes)
    if doubt := integrity.doubt(run.answer, run.plan) or _copies_doubt(run.copies):
        late = integrity.is_late(run.answer) or bool(run.copies and run.copies.was_cut_off)
        return Judgement(reason=doubt, results=results, skipped=skipped, late=late, notes=notes)
    copied = any(file.copied for file in run.plan.files)
    if copied and run.copies is None and not integrity.all_failed_apart(run.plan, run.answer.split):
        return Judgement(reason=NO_COPIES, results=results, skipped=skipped, notes=notes)
    copies = _check_copies(run, session)
    return Judgement(
        reason=copies.reason(run.names), results=results, skipped=skipped, copies_failed=copies.genuine,
        doubtful=copies.doubtful, weak=copies.weak, notes=notes,
    )  # fmt: skip


def needs_copies(run: Run) -> bool:
    """Tell whether a run says all but how the must-fail copies end, or may once it is known how it was before."""
    found = judge(run)
    return found.reason == NO_COPIES or found.excusable


def doubtful_copies(run: Run) -> tuple[str, ...]:
    """The must-fail copies that did not fail as they must, whatever else may be wrong with a run that can be believed.

    What failed besides may yet be found to have failed before.
    """
    if run.answer is None or stopping(run) or integrity.doubt(run.answer, run.plan) or _copies_doubt(run.copies):
        return ()
    return _check_copies(run, run.answer.session).doubtful


def _check_copies(run: Run, session: Session) -> integrity.CopiesOutcome:
    return integrity.check_copies(run.plan.files, session.tests, copies_of(run), run.names)


def copies_of(run: Run) -> Sequence[CaseReport]:
    """How the must-fail copies ended."""
    if run.copies and run.copies.answer:
        return run.copies.answer.session.tests
    return integrity.failed_apart(run.plan, run.answer.split if run.answer else None)


def _copies_doubt(run: Run | None) -> str:
    """Why the run of the must-fail copies cannot be believed."""
    if run is None:
        return ""
    if stopped := stopping(run):
        return f"with other expected values {stopped.message}"
    assert run.answer is not None
    return integrity.doubt(run.answer, run.plan)


@dataclass(frozen=True, slots=True)
class _Found:
    """One test's result.

    `uncollected` tells that its file could not even be imported, `let_off` that its own text says how it ended.
    """

    role: Role
    result: CaseResult
    failure: Failure | None
    uncollected: bool = False
    let_off: bool = False


def stopping(run: Run) -> Failure | None:
    """Why the run did not come to its end, or None when it did."""
    session = run.answer.session if run.answer else None
    how = run.result.ended
    if how is Ended.OUT_OF_MEMORY or (session and session.how == "memory"):
        return _stop(run, "OutOfMemory", f"the tests used more than {run.limits.memory_mb} MB of memory")
    if run.answer and run.answer.gone:
        name, said = next(iter(run.answer.gone.items()))
        return _stop(run, "Service", f"the service {name} ended while the tests ran", run.names.text(said))
    if run.was_cut_off:
        return _cut_off(run)
    if how is Ended.OUTPUT_LIMIT or (session and session.how == "flood"):
        return _stop(run, "OutputLimit", _flood(session, run.limits))
    if session is None:
        detail = shaping.tail(run.names.text(run.result.stderr.decode("utf-8", "replace")))
        return _stop(run, "Crash", "the run ended without an answer", detail)
    if session.internal:
        said, trace = session.internal.rstrip().rpartition("\n")[2], run.names.text(shaping.tail(session.internal))
        return _stop(run, "InternalError", f"{run.plan.framework} failed: {said}", trace)
    if not session.finishes:
        return _stop(run, "Crash", _crash(session, run.plan.framework), run.names.text(session.output.get("", "")))
    return None


def _cut_off(run: Run) -> Failure:
    """The failure of a run that a limit of time ended: of the test that it was in, unless that one ends alone."""
    session = run.answer.session if run.answer else None
    printed = session.output.get(session.running or session.at or "", "") if session else ""
    stop = _stop(run, "Timeout", f"the tests were cut off {run.cut}", run.names.text(printed))
    if run.again is None:
        return stop
    if run.again.cut:
        how = f", {run.again.cut}" if run.again.cut != run.cut else ""
        return replace(stop, message=f"{stop.message}, which was cut off alone as well{how}")
    files = run.plan.files
    together = f"{stop.message}, which comes to its end alone: together the tests take too long"
    return replace(stop, id=files[0].path if len(files) == 1 else "the tests", message=together)


def _flood(session: Session | None, limits: SandboxLimits) -> str:
    if session and session.limit == "report":
        return "the tests reported more than a run can hold"
    who = "one test" if session and (session.running or session.at) else "the tests"
    return f"{who} printed more than {limits.output_bytes >> 10} KB"


def _crash(session: Session, framework: str) -> str:
    if session.exit_code == 4 and framework == "pytest":
        return "pytest refused to start"
    return f"the test process ended by itself ({exit_words(session.exit_code or 0)}) before the tests were over"


def exit_words(code: int) -> str:
    """An exit status in words; negative is a signal."""
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def _stop(run: Run, kind: str, message: str, output: str = "") -> Failure:
    """A failure of the whole run; it names the test that was running."""
    session = run.answer.session if run.answer else None
    running = (session.running or session.at) if session else None
    where = run.names.id(running) if running else (run.plan.files[0].path if run.plan.files else "")
    if running:
        message = f"{message}; it was in {where}"
    elif session and not session.tests and not run.plan.command:
        message = f"{message}; it was collecting the tests"
    return Failure(id=where, kind=kind, message=run.names.text(message), output=shaping.tail(output))


def _results_of(file: SuiteFile, session: Session, run: Run) -> Iterator[_Found]:
    """Every test of one file: those that ended, those that could not be collected, those that are missing."""
    seen = set[str]()
    for test in session.tests:
        path, _, rest = test.id.partition("::")
        if path == file.staged:
            seen.add(rest.partition("[")[0])
            yield _ended(file, test, run)
    broken = [fault for path, fault in session.collection if path.partition("::")[0] == file.staged]
    skipped = [fault for path, fault in session.skipped if path.partition("::")[0] == file.staged]
    listed = file.outline.required if file.outline else frozenset[str]()
    left = [staged for staged, name in file.names.items() if name in listed and staged not in seen]
    running, _, rest = (session.running or "").partition("::")
    if broken:
        failure = shaping.failure(file.staged, broken[0], session.output.get("", ""), run.names, collecting=True)
        message = failure.message.partition("\n")[0]
        for name in left or [""]:
            result = CaseResult(id=_id(file, name), result=Result.ERROR, message=message)
            yield _Found(file.role, result, failure, uncollected=True)
        return
    if skipped:
        message = run.names.text(skipped[0].message).partition("\n")[0]
        for name in left or [""]:
            result = CaseResult(id=_id(file, name), result=Result.SKIPPED, message=message)
            yield _Found(file.role, result, None, let_off=let_off.raised_by_its_text(file, skipped[0]))
        return
    if running == file.staged and file.outline is None and rest:
        left.append(rest.partition("[")[0])
    for name in left:
        if running == file.staged and rest.partition("[")[0] == name:
            yield from _interrupted(file, name, run)
        else:
            yield _left(file, name, finished=bool(session.finishes))


def _interrupted(file: SuiteFile, name: str, run: Run) -> Iterator[_Found]:
    """The test in which a run was stopped: as it ended alone, where it did.

    Of a test of the base that a limit cut off and that did not run alone nothing is known.
    """
    again = run.again
    uncertain = file.role is Role.REGRESSION and run.was_cut_off and again is None
    message = "the run was stopped in this test"
    if uncertain:
        yield _Found(file.role, CaseResult(id=_id(file, name), result=Result.NOT_REACHED, message=message), None)
        return
    if again and not again.cut:
        failures = {failure.id: failure for failure in again.failures}
        yield from (_Found(file.role, result, failures.get(result.id)) for result in again.results)
        return
    if again:
        message += ", also when it ran alone"
    yield _Found(file.role, CaseResult(id=_id(file, name), result=Result.ERROR, message=message), None)


def _left(file: SuiteFile, name: str, *, finished: bool) -> _Found:
    """A test that has no end: nothing is known of it where the run was stopped before."""
    if not finished:
        result = CaseResult(id=_id(file, name), result=Result.NOT_REACHED, message="the run was stopped before")
        return _Found(file.role, result, None)
    message = "this test did not run"
    failure = Failure(id=_id(file, name), kind="Missing", message=message)
    return _Found(file.role, CaseResult(id=_id(file, name), result=Result.MISSING, message=message), failure)


def _id(file: SuiteFile, name: str) -> str:
    return f"{file.path}::{file.names.get(name, name)}" if name else file.path


def _ended(file: SuiteFile, test: CaseReport, run: Run) -> _Found:
    nodeid = run.names.id(test.id.partition("[")[0] if _takes_nothing(file, test) else test.id)
    result = test.outcome
    failure = None
    if result is not Result.PASSED:
        kind, odd = ("XPassed", "it passed, though it was expected to fail") if result is Result.SKIPPED else _ODD
        fault = test.fault or Fault(kind=kind, message=odd)
        output = run.answer.session.output.get(test.id, "") if run.answer else ""
        failure = shaping.failure(test.id, fault, output, run.names)
    message = failure.message if failure else ""
    ended = CaseResult(
        id=nodeid, result=result, duration_s=sum(report.duration_s for report in test.reports), message=message
    )
    return _Found(file.role, ended, failure, let_off=let_off.ended_as_marked(file, test))


def _takes_nothing(file: SuiteFile, test: CaseReport) -> bool:
    """Tell whether a test has no parameters, so that none may stand in its id: what stands there is tested code's."""
    name = file.names.get(test.id.partition("::")[2].partition("[")[0])
    return name is not None and file.outline is not None and file.outline.takes_nothing(name)


def _excused(found: _Found, run: Run) -> bool:
    """Tell whether a test may end so: its owner skips it, or it failed before the change as well.

    What was skipped before and fails now is no such test. A file that could not be imported before has failed with all
    tests in it.
    """
    now = found.result.result
    if now is Result.SKIPPED and found.let_off and found.role in {Role.REGRESSION, Role.GIVEN}:
        return True
    if now is Result.PASSED or not run.before:
        return False
    before = run.before.get(found.result.id) or run.before.get(found.result.id.partition("::")[0])
    if now is Result.SKIPPED:
        return before is Result.SKIPPED
    return _may_be_excused(found, run) and before in _FAILED


def _all_let_off(every: Sequence[_Found]) -> bool:
    """Tell whether none passed of the tests that decide."""
    deciding = [one.result.result for one in every if one.role in _DECIDING]
    return bool(deciding) and Result.PASSED not in deciding


def _may_be_excused(found: _Found, run: Run) -> bool:
    """Tell whether how a test ended before may excuse how it ends now."""
    if found.result.result is Result.NOT_REACHED:
        return False
    skipped = found.result.result is Result.SKIPPED
    if found.role is Role.REGRESSION or (skipped and (found.role in _DECIDING or _was_there(found, run))):
        return True
    asked = run.task if found.role is Role.COMMAND else None
    return bool(asked and found.failure and environment.is_to_blame(found.failure, asked))


def _was_there(found: _Found, run: Run) -> bool:
    """Tell whether a test is in a file of the agent's that may be one of the base, changed: such are not copied."""
    path = found.result.id.partition("::")[0]
    return any(file.path == file.staged == path and file.role is Role.OWN for file in run.plan.files)


def _questioned(bad: list[_Found], stopped: Failure | None, run: Run) -> tuple[str, ...]:
    """The files of which it has to be known how their tests ended before; none where that is known."""
    if run.before is not None:
        return ()
    asked = {one.result.id.partition("::")[0] for one in bad if _may_be_excused(one, run)}
    if stopped and (path := run.cut_in.partition("::")[0]):
        asked |= {file.path for file in run.plan.files if file.staged == path and file.role is Role.REGRESSION}
    return tuple(sorted(asked))


def _notes(run: Run, found: list[_Found], skipped: int) -> tuple[str, ...]:
    alone = [file for file in run.plan.files if file.role is not Role.REGRESSION and not file.copied]
    notes = [f"{file.path} keeps its name and has a canary in place of copies" for file in alone if file.must_fail_path]
    forced = sorted(name for file in run.plan.files for name in file.forced)
    if forced:
        more = f" and {len(forced) - 10} more" if len(forced) > 10 else ""
        notes.append(f"must-fail copies of these fail by a call that they have besides: {', '.join(forced[:10])}{more}")
    notes += integrity.notes(run.plan, run.answer.split if run.answer else None)
    if skipped:
        notes.append(f"{skipped} tests of the base were skipped")
    let = sum(one.role in _DECIDING and one.result.result is Result.SKIPPED and _excused(one, run) for one in found)
    if let:
        notes.append(f"{let} of the task's tests were skipped or failed as expected")
    excused = sorted(one.result.id for one in found if one.result.result in _FAILED and _excused(one, run))
    excused += run.plan.without
    if excused:
        more = f" and {len(excused) - 10} more" if len(excused) > 10 else ""
        notes.append(f"failing before the change already: {', '.join(excused[:10])}{more}")
    return tuple(notes)


def _count(bad: list[_Found], total: int) -> str:
    first = bad[0].failure
    if first and all(one.uncollected for one in bad):
        return f"{first.id}: {first.kind}: {first.message}".partition("\n")[0]
    skipped = sum(one.result.result is Result.SKIPPED for one in bad)
    missing = sum(one.result.result is Result.MISSING for one in bad)
    counts = ((len(bad) - skipped - missing, "failed"), (missing, "missing"), (skipped, "skipped"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) + f" of {total} tests"
