"""TESTING: the one entrance to a commit. What judges is the suite; a model is asked only when tests must be written."""

from __future__ import annotations

from dataclasses import replace

from agent import feedback, gatekeeping, own_tests
from agent.asking import Dialogue
from agent.coder import blames_tests
from agent.gatekeeping import Passage
from agent.tools import Tools
from core.events import Event, Kind, Level
from core.states import Ending, Outcome, Phase
from core.tasks import Spent, digest
from core.verdicts import Evidence, Failure, Label, Result, SuiteJob, Verdict
from core.work import Case, Step, Try, Work

_NO_TESTS = "The agent's own tests cannot be used"
_UNTESTED = "own tests"


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """Judge the change; OK only with a passing verdict. Raises what model and suite raise."""
    before = work.verdict
    if _needs_tests(case, work):
        talk = Dialogue(Phase.TESTING, case, work, tools)
        written = await own_tests.write(case, work, tools, talk)
        work = talk.charge(replace(work, own_tests=written.tests))
        if written.faults:
            return _failed(replace(work, verdict=_unusable(work, written.faults)), before)
    passage = await gatekeeping.examine(case, work, tools)
    if passage.verdict:
        step = _failed(replace(passage.work, verdict=passage.verdict), before)
        return replace(step, data={**step.data, **passage.data})
    if passage.asks:
        return _held(passage)
    step = await _suite(case, passage.work, tools, before)
    return replace(step, data={**step.data, **passage.data})


async def _suite(case: Case, work: Work, tools: Tools, before: Verdict | None) -> Step:
    """Run what the gates let pass."""
    verdict = await tools.suite.judge(job_for(case, work, tools))
    work = replace(work, verdict=verdict, spent=work.spent + Spent(suite_s=verdict.duration_s))
    _tell(case, work, tools, verdict)
    if verdict.tampering:
        return _attacked(case, work, tools, verdict)
    if not verdict.passed:
        return _failed(work, before)
    if unjudged(work):
        return _unjudged(work)
    note = feedback.passed(verdict)
    work = replace(work, feedback="", reason=note, tries=_without_blame(work))
    return Step(phase=Phase.TESTING, outcome=Outcome.OK, work=work, note=note, data=_data(verdict))


def _attacked(case: Case, work: Work, tools: Tools, verdict: Verdict) -> Step:
    """End the attempt: code that writes into the channels of its own verdict gets no further look at it."""
    reason = f"The tested code tampered with the run of its tests: {verdict.tampering}"
    tools.emit(
        Event(
            kind=Kind.GATE_FINDING, level=Level.WARNING, message=reason, task_id=case.task.id, attempt=work.attempt,
            iteration=work.iteration, phase=Phase.TESTING, data={"rule": "verdict.tampering", "severity": "block"},
        )
    )  # fmt: skip
    work = replace(work, ending=Ending.REFUSED, reason=reason, feedback=reason)
    return Step(phase=Phase.TESTING, outcome=Outcome.GIVE_UP, work=work, note=reason[:300], data=_data(verdict))


def _held(passage: Passage) -> Step:
    """The owner decides first. Tests that were just written again are not written once more when he has."""
    reason = passage.question[:1000]
    work = replace(
        passage.work, held_in=Phase.TESTING, asks=passage.asks, reason=reason, tries=_without_blame(passage.work)
    )
    asked = [ask.subject for ask in passage.asks[:20]]
    data = {**passage.data, "asks": asked}
    return Step(phase=Phase.TESTING, outcome=Outcome.HOLD, work=work, note=reason[:300], data=data)


def job_for(case: Case, work: Work, tools: Tools) -> SuiteJob:
    """The tree to judge, and by what."""
    spec = case.task.spec
    return SuiteJob(
        base=tools.tree,
        change=work.change,
        given=spec.tests,
        held=work.still_held(case.held),
        own=work.own_tests,
        start=spec.files,
        command=spec.test_command,
        allow=spec.allow,
        language=spec.language,
        packages=work.packages,
        limits=case.run_limits,
        whole_tree=case.whole_tree,
    )


def unjudged(work: Work) -> dict[str, str]:
    """Files of the change that the suite left out, with its reasons: what did not run may not be committed."""
    dropped = work.verdict.evidence.dropped if work.verdict else {}
    return {path: why for path, why in dropped.items() if path in work.change}


def _unjudged(work: Work) -> Step:
    files = "; ".join(f"{path} ({why})" for path, why in unjudged(work).items())
    text = f"The tests pass, but these files may not be part of the change and are taken out of it: {files}"
    after = replace(work, feedback=text)
    return Step(phase=Phase.TESTING, outcome=Outcome.REDO, work=after, note=text[:300])


def _without_blame(work: Work) -> tuple[Try, ...]:
    """The tries, the last one no longer blaming tests: they pass, and what comes next is about the code again."""
    if not work.tries:
        return ()
    last = work.tries[-1]
    return (*work.tries[:-1], replace(last, reflection=replace(last.reflection, tests_at_fault=False)))


def _needs_tests(case: Case, work: Work) -> bool:
    """Tests are written when nothing was given to judge by, and written again when they were found at fault."""
    spec = case.task.spec
    if spec.tests or spec.test_command or spec.cases:
        return False
    return not work.own_tests or blames_tests(work)


def _failed(work: Work, before: Verdict | None) -> Step:
    verdict = work.verdict
    assert verdict is not None
    text = feedback.shape(verdict, before)
    if verdict.weak:
        text += f"\n\nThese self-written tests prove nothing as they are: {', '.join(verdict.weak[:10])}"
    work = replace(work, feedback=text)
    note = feedback.headline(verdict)
    return Step(phase=Phase.TESTING, outcome=Outcome.REDO, work=work, note=note[:300], data=_data(verdict))


def _unusable(work: Work, faults: tuple[str, ...]) -> Verdict:
    """A verdict on tests that were never run."""
    tree = digest(work.change, work.own_tests)
    evidence = Evidence(tree=tree, sandbox="none", label=Label.SELF_TESTED, notes=("nothing was run",))
    failure = Failure(id=_UNTESTED, kind="cannot be used", message="\n".join(faults))
    return Verdict(
        passed=False, reason=f"{_NO_TESTS}: {faults[0]}", evidence=evidence, failures=(failure,), weak=(_UNTESTED,)
    )


def _data(verdict: Verdict) -> dict[str, object]:
    """Test counts for the timeline."""
    counts = {str(result): n for result in Result if (n := verdict.count(result))}
    return {"tests": counts, "label": str(verdict.evidence.label), "reason": verdict.reason[:300]}


def _tell(case: Case, work: Work, tools: Tools, verdict: Verdict) -> None:
    event = Event(
        kind=Kind.SUITE_JUDGED,
        message=feedback.passed(verdict) if verdict.passed else feedback.headline(verdict),
        task_id=case.task.id,
        attempt=work.attempt,
        iteration=work.iteration,
        phase=Phase.TESTING,
        data={**_data(verdict), "passed": verdict.passed, "suite_s": round(verdict.duration_s, 3)},
    )
    tools.emit(event)
    if dropped := verdict.evidence.dropped:
        text = f"not used: {', '.join(list(dropped)[:5])}"
        data = {"dropped": dict(list(dropped.items())[:20])}
        tools.emit(replace(event, kind=Kind.FILES_DROPPED, level=Level.WARNING, message=text, data=data))
