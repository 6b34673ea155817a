"""Judges a run of a command that is no known test runner: its exit status decides, and its report may add to that.

A report never makes a pass of a failing exit by itself. Where it names all that failed, and each of these tests failed
for want of what this machine lacks, the same command is run without the change: if that ends with the same status, and
its report has the same tests with the same failures among them, the change is not charged with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nightshift.core.isolation import Ended
from nightshift.core.tasks.verdicts import CaseResult, Failure, Result
from nightshift.verdict import environment, shaping
from nightshift.verdict.judging import Judgement, Run, exit_words, stopping
from nightshift.verdict.reports import Reported
from nightshift.verdict.reports.collected import BAD, Told

FIRST = 10


def judge(run: Run) -> Judgement:
    """Weigh a run of a command."""
    session = run.answer.session if run.answer else None
    over = session is not None and session.how == "exited" and run.result.ended is Ended.EXITED
    over = over and run.answer is not None and not run.answer.gone
    stopped = None if over else stopping(run)
    if session is None or stopped:
        assert stopped is not None
        return Judgement(reason=stopped.message, failures=(stopped,), stopped=True, late=run.was_cut_off)
    command = " ".join(run.plan.command)
    ended = f"`{command}` ended with {exit_words(session.exit_code or 0)}"
    output = shaping.tail(run.names.text(session.output.get("", "")))
    whole = Failure(id=command, kind="ExitCode", message=ended, output=output)
    reported = run.reported
    if reported is None or not reported.form:
        notes = _names(run, reported.notes) if reported else ()
        failed = session.exit_code != 0
        return Judgement(reason=ended if failed else "", failures=(whole,) if failed else (), notes=notes)
    return _with_report(run, reported, whole, failed=session.exit_code != 0)


def _with_report(run: Run, reported: Reported, whole: Failure, *, failed: bool) -> Judgement:
    before = _before(run) if failed and _may_be_excused(run, reported) else None
    bad = [told for told in reported.tests if told.result in BAD and (before is None or told.id not in before)]
    passed = sum(told.result is Result.PASSED for told in reported.tests)
    excused = before is not None and not bad and passed > 0
    reason, total = "", len(reported.tests) + reported.unlisted
    if bad:
        reason = f"{len(bad)} of {total} tests failed: {whole.message}"
    elif failed and not excused:
        reason = whole.message
    elif reported.faults:
        reason = f"its report says: {run.names.text(reported.faults[0])}: {whole.message}"
    elif not passed:
        reason = f"no test ran: {whole.message}"
    failures = shaping.distinct(_failure(told, run) for told in bad) or ((whole,) if reason else ())
    left = tuple(sorted(_id(told, run) for told in reported.tests if told.result in BAD)) if before is not None else ()
    return Judgement(
        reason=reason,
        results=tuple(_result(told, run) for told in _counted(reported, before or {})),
        failures=failures,
        left=left,
        excusable=failed and run.unchanged is None and _may_be_excused(run, reported),
        notes=tuple(_notes(run, reported, left)),
    )


def _counted(reported: Reported, before: Mapping[str, Result]) -> Iterator[Told]:
    """The tests that are results: those that passed, and those that failed and had not before."""
    for told in reported.tests:
        if told.result is Result.PASSED or (told.result in BAD and told.id not in before):
            yield told


def _may_be_excused(run: Run, reported: Reported) -> bool:
    """Tell whether all that failed is told, and failed of what is not there on this machine."""
    bad = [told for told in reported.tests if told.result in BAD]
    if not bad or reported.faults or run.task is None:
        return False
    task = run.task
    return all(environment.is_to_blame(_failure(told, run), task) for told in bad)


def _before(run: Run) -> Mapping[str, Result] | None:
    """What failed without the change; None where that is not known, or does not excuse the exit status."""
    unchanged = run.unchanged
    if unchanged is None or unchanged.answer is None or run.answer is None or unchanged.reported is None:
        return None
    status, then = run.answer.session.exit_code, unchanged.answer.session
    if then.how != "exited" or then.exit_code != status or unchanged.reported.faults or unchanged.reported.unlisted:
        return None
    known = {told.id for told in run.reported.tests} if run.reported else set()
    if any(told.id not in known for told in unchanged.reported.tests):
        return None  # a test that is gone may be one that would fail
    return {told.id: told.result for told in unchanged.reported.tests if told.result in BAD}


def _notes(run: Run, reported: Reported, left: tuple[str, ...]) -> Iterator[str]:
    yield f"tests by the {reported.form} report, which the tested code can write; no must-fail copies were run"
    yield from _names(run, reported.notes)
    if reported.unlisted:
        yield f"{reported.unlisted} further tests are not listed"
    skipped = [_id(told, run) for told in reported.tests if told.result is Result.SKIPPED]
    if skipped:
        yield f"skipped: {_listed(skipped)}"
    if left:
        yield f"failing before the change already: {_listed(left)}"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - FIRST} more" if len(names) > FIRST else ""
    return f"{', '.join(names[:FIRST])}{more}"


def _names(run: Run, texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(run.names.text, texts))


def _id(told: Told, run: Run) -> str:
    return " ".join(run.names.text(told.id).split()) or "a test without a name"


def _result(told: Told, run: Run) -> CaseResult:
    message = run.names.text(told.message).partition("\n")[0]
    return CaseResult(id=_id(told, run), result=told.result, duration_s=told.duration_s, message=message)


def _failure(told: Told, run: Run) -> Failure:
    text = run.names.text
    return Failure(
        id=_id(told, run), kind=text(told.kind) or "Failure", message=text(told.message),
        output=shaping.tail(text(told.output)),
    )  # fmt: skip
