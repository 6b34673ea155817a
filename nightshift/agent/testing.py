"""TESTING: the only phase from which a commit is reached. The suite judges; a model is asked only to write tests.

For a task without tests, the model writes tests, which are then checked. A change that only removes needs none.
Rewritten tests must still notice everything that the earlier ones noticed. The model sees the task, the plan and the
interface of the code (`core.ports.Languages.describe_offer`), but no function bodies, so that a wrong result is not
copied into the test that should notice it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from nightshift.agent import change_check, changed_tests, exploring, feedback, syntax, test_paths
from nightshift.agent.change_check import Checked
from nightshift.agent.coding import blames_tests
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.kinds import asks_to_keep_behaviour
from nightshift.agent.prompt import plain_requests, sections
from nightshift.agent.prompt.budget import Prompt, Section, Shown, fix
from nightshift.agent.prompt.text import quote, system
from nightshift.agent.replies import parse
from nightshift.agent.services import REASKS, AgentServices
from nightshift.agent.suite_job import job_for, writes_documents
from nightshift.agent.taking_away import only_takes_away
from nightshift.agent.view import View, base_text, find_misplacement
from nightshift.core.code.paths import is_test_path
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply
from nightshift.core.events import DroppedData, JudgedData, Kind, Level
from nightshift.core.gauge import Gauge
from nightshift.core.ports import LEFT_OUT
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step, Try
from nightshift.core.tasks.states import Ending, Outcome, Phase, with_failure
from nightshift.core.tasks.task import Change, Files, Spent, digest
from nightshift.core.tasks.verdicts import HELD_OUT, Evidence, Failure, FindingKind, Label, Result, Trial, Verdict
from nightshift.core.text.encoding import encode

_NO_TESTS = "The agent's own tests cannot be used"
_UNTESTED = "own tests"
_ADD = "Where a fault is named that no test notices, add a test whose expected result it changes."
UNMET = "The tests pass, but the change does not do what the task says. Do what its words say:"
DOUBTFUL = "The tests pass, but they would pass whatever the code does. Do what the task says:"
SENT_BACK = frozenset({FindingKind.COPY, FindingKind.IDLE})
"""Kinds of findings that are sent back to the model once, before the change counts as doubtful. Forged results are
never sent back.
"""
_REPEATED = "Stuck at the self-written tests: what is left to ask about them was asked before"
_UNUSED = "Tests were asked for before, and no answer could be used. Send whole test files whose tests assert results."
_MOST_LINES = 200
"""Maximum number of lines that a prompt shows of a file's interface."""


async def run(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Judge the change; the step's outcome is OK only with a passing verdict. Raises what model and suite raise."""
    written, changed = state.written_tests, state.changed_tests
    own = {**test_paths.move_tests(written, services.tree), **changed}
    before, state = state.verdict, replace(state, own_tests=own, removed_tests=())
    left_out: Mapping[str, str] = {}
    if state.test_changes:
        checked = await change_check.check(context, replace(state, own_tests={}), services)
        if stopped := _stop_by_checks(checked, before):
            return stopped
        settled = await changed_tests.settle(context, replace(checked.state, own_tests=state.own_tests), services)
        if settled.failed:
            broken = replace(settled.state, verdict=_refuse_breaking(settled.state, settled.failed))
            return _add_left_out(_fail_iteration(broken, before), settled.left_out)
        if settled.asks:
            return _wait_for_owner(Checked(state=settled.state, asks=settled.asks))
        state, left_out = settled.state, settled.left_out
    judge = _judge
    if writes_documents(context, state, services):
        state = replace(state, own_tests={})
    elif _needs_tests(context, state, services):
        judge = _judge_with_new_tests
    step = await judge(context, state, services, before)
    return _add_left_out(step, left_out) if step.outcome is Outcome.REDO else step


async def _judge_with_new_tests(
    context: AttemptContext, state: AttemptState, services: AgentServices, before: Verdict | None
) -> Step:
    """Judge the change with newly written tests, or with the base's tests alone if they suffice."""
    without = replace(state, own_tests=state.changed_tests)
    if only_takes_away(context, state, services):
        return await _judge(context, without, services, before)
    if asks_to_keep_behaviour(context.task.spec) and not state.written_tests:
        step = await _judge(context, without, services, before)
        if not _is_weak(step):
            return step
    state, answer = await _with_tests(context, state, services)
    judging = _unusable(context, state, services, answer.faults, before) if answer.faults else None
    step = await (judging or _judge(context, state, services, before))
    if _proves_nothing(context, step):
        alone = await _judge(context, without, services, before)
        step = alone if alone.outcome is Outcome.OK else step
    return _give_up_tests(step) if answer.is_repeated else step


async def _judge(context: AttemptContext, state: AttemptState, services: AgentServices, before: Verdict | None) -> Step:
    """Run the checks, then the suite if the checks allow it; the step's data include the findings of the checks."""
    checked = await change_check.check(context, state, services)
    if stopped := _stop_by_checks(checked, before):
        return stopped
    step = await _suite(context, checked.state, services, before)
    return replace(step, data={**step.data, **checked.data})


def _is_weak(step: Step) -> bool:
    """Check whether a step shows that the base's tests are too weak to judge a change that keeps behaviour."""
    verdict = step.state.verdict
    if step.outcome is Outcome.NEEDS_APPROVAL or verdict is None:
        return False
    is_noticed = all(finding.kind is not FindingKind.MUTANTS for finding in verdict.findings)
    is_strong = verdict.evidence.label is Label.BEHAVIOUR_KEPT and is_noticed
    return not verdict.results if not verdict.passed else not is_strong


def _proves_nothing(context: AttemptContext, step: Step) -> bool:
    """Check whether a change passed, but its new tests add nothing to the base's tests and can be left out."""
    verdict = step.state.verdict
    if step.outcome is not Outcome.OK or verdict is None or asks_to_keep_behaviour(context.task.spec):
        return False
    return verdict.evidence.label is Label.BEHAVIOUR_KEPT and bool(step.state.written_tests)


async def _with_tests(
    context: AttemptContext, state: AttemptState, services: AgentServices
) -> tuple[AttemptState, Written]:
    """Ask for new tests; return the state with them and with the changed existing tests, and the result of asking."""
    changed, state = state.changed_tests, replace(state, own_tests=state.written_tests)
    dialogue = Dialogue(Phase.TESTING, context, state, services)
    written = await write_tests(context, state, services, dialogue)
    own = {**written.tests, **changed}
    asked = (*state.test_prompts, *written.asked)
    return dialogue.charge(replace(state, own_tests=own, test_prompts=asked)), written


def _stop_by_checks(checked: Checked, before: Verdict | None) -> Step | None:
    """Return the step that stops the change, if the checks' findings require one; else None."""
    if checked.verdict:
        step = _fail_iteration(replace(checked.state, verdict=checked.verdict), before)
        return replace(step, data={**step.data, **checked.data})
    return _wait_for_owner(checked) if checked.asks else None


def _add_left_out(step: Step, left_out: Mapping[str, str]) -> Step:
    """Return the step with feedback that also lists the rejected changes of tests."""
    lines = [f"Your change of {path} was not taken: it {why}." for path, why in left_out.items()]
    return replace(step, state=replace(step.state, feedback="\n\n".join([step.state.feedback, *lines])))


async def _suite(context: AttemptContext, state: AttemptState, services: AgentServices, before: Verdict | None) -> Step:
    """Run the suite, and return the step that follows from its verdict."""
    verdict = await services.suite.judge(job_for(context, state, services))
    if verdict.weak and not verdict.results:
        verdict = _with_results(verdict, await _run_without_own(context, state, services))
    if notes := change_check.notes_on_linters(state):
        verdict = replace(verdict, evidence=replace(verdict.evidence, notes=(*verdict.evidence.notes, *notes)))
    state = replace(state, verdict=verdict, spent=state.spent + Spent(suite_s=verdict.duration_s))
    _report(services, verdict)
    if not verdict.passed:
        tried = any(failure.kind == HELD_OUT for failure in verdict.failures)
        return _fail_iteration(replace(state, held_tries=state.held_tries + tried), before)
    if list_unjudged(state):
        return _send_unjudged_back(state)
    if state.unmet:
        return _send_back(context, state, verdict)
    if asks := changed_tests.ask_about(context, state, services, verdict.asks):
        return _wait_for_owner(Checked(state=state, asks=asks))
    doubts = [finding.says for finding in verdict.findings if finding.kind in SENT_BACK] if verdict.doubt else []
    if doubts and not state.heard_doubt and state.iteration < context.iterations:
        text = "\n".join([DOUBTFUL, *(f"- {says}" for says in doubts)])
        after = replace(state, feedback=text, heard_doubt=True)
        return Step(phase=Phase.TESTING, outcome=Outcome.REDO, state=after, note=doubts[0][:300], data=_data(verdict))
    note = feedback.describe_pass(verdict)
    state = replace(state, feedback="", reason=note, tries=_without_blame(state))
    return Step(phase=Phase.TESTING, outcome=Outcome.OK, state=state, note=note, data=_data(verdict))


def _wait_for_owner(checked: Checked) -> Step:
    """Wait for the owner's decision. Own tests that were just rewritten are not rewritten again after the decision."""
    reason = checked.question[:1000]
    state = replace(
        checked.state, held_in=Phase.TESTING, asks=checked.asks, reason=reason, tries=_without_blame(checked.state)
    )
    note = reason.partition("\n\n")[0][:300]
    asked = [ask.subject for ask in checked.asks[:20]]
    data = {**checked.data, "asks": asked}
    return Step(phase=Phase.TESTING, outcome=Outcome.NEEDS_APPROVAL, state=state, note=note, data=data)


def list_unjudged(state: AttemptState) -> dict[str, str]:
    """Return the change's files that the suite left out, with reasons. They did not run, so they are not committed."""
    dropped = state.verdict.evidence.dropped if state.verdict else {}
    return {path: why for path, why in dropped.items() if path in state.change}


def _send_unjudged_back(state: AttemptState) -> Step:
    files = "; ".join(f"{path} ({why})" for path, why in list_unjudged(state).items())
    text = f"The tests pass, but these files may not be part of the change and are taken out of it: {files}"
    after = replace(state, feedback=text)
    return Step(phase=Phase.TESTING, outcome=Outcome.REDO, state=after, note=text[:300])


def _send_back(context: AttemptContext, state: AttemptState, verdict: Verdict) -> Step:
    """Send back a change that passed but does not do what the task says; the second time, give the task up.

    The tests that were written for the change share its misunderstanding, so they are written again.
    """
    if state.heard_unmet or state.iteration >= context.iterations:
        reason = "; ".join(state.unmet)
        state = replace(state, ending=Ending.GAVE_UP, reason=reason, feedback=reason)
        return Step(phase=Phase.TESTING, outcome=Outcome.GIVE_UP, state=state, note=reason[:300], data=_data(verdict))
    text = "\n".join([UNMET, *(f"- {sentence}" for sentence in state.unmet)])
    after = replace(state, feedback=text, heard_unmet=True, own_tests=state.changed_tests)
    note = state.unmet[0][:300]
    return Step(phase=Phase.TESTING, outcome=Outcome.REDO, state=after, note=note, data=_data(verdict))


def _without_blame(state: AttemptState) -> tuple[Try, ...]:
    """Return the tries, but without the claim of the last one that tests are at fault.

    The tests pass now, and the next failure is about the code.
    """
    if not state.tries:
        return ()
    last = state.tries[-1]
    return (*state.tries[:-1], replace(last, reflection=replace(last.reflection, tests_at_fault=False)))


def _needs_tests(context: AttemptContext, state: AttemptState, services: AgentServices) -> bool:
    """Check whether own tests must be written: nothing else judges the change, or existing own tests are at fault."""
    spec = context.task.spec
    if spec.tests or spec.test_command or spec.cases or services.languages is None:
        return False
    return not state.own_tests or blames_tests(state)


def _fail_iteration(state: AttemptState, before: Verdict | None) -> Step:
    verdict = state.verdict
    assert verdict is not None
    text = feedback.shape(verdict, before)
    if verdict.weak:
        text += f"\n\nThese self-written tests prove nothing or too little: {', '.join(verdict.weak[:10])}. {_ADD}"
    state = replace(state, feedback=text)
    note = feedback.headline(verdict)
    return Step(phase=Phase.TESTING, outcome=Outcome.REDO, state=state, note=note[:300], data=_data(verdict))


async def _unusable(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    faults: tuple[str, ...],
    before: Verdict | None,
) -> Step:
    """Return the failed step of a change whose own tests cannot be used; the repository's tests are still run."""
    checked = await change_check.check(context, replace(state, own_tests=state.changed_tests), services)
    if stopped := _stop_by_checks(checked, before):
        return stopped
    tree = digest(state.change, state.own_tests)
    evidence = Evidence(tree=tree, sandbox="none", label=Label.SELF_TESTED, notes=("nothing was run",))
    failure = Failure(id=_UNTESTED, kind="cannot be used", message="\n".join(faults))
    unusable = Verdict(
        passed=False, reason=f"{_NO_TESTS}: {faults[0]}", evidence=evidence, failures=(failure,), weak=(_UNTESTED,)
    )
    verdict = _with_results(unusable, await _run_without_own(context, checked.state, services))
    state = replace(checked.state, own_tests=state.own_tests, verdict=verdict)
    return _fail_iteration(replace(state, spent=state.spent + Spent(suite_s=verdict.duration_s)), before)


async def _run_without_own(context: AttemptContext, state: AttemptState, services: AgentServices) -> Trial:
    """Run the tests that judge the change, except those that the agent wrote."""
    return await services.suite.try_out(job_for(context, replace(state, own_tests=state.changed_tests), services))


def _with_results(verdict: Verdict, trial: Trial) -> Verdict:
    """Add the results of a run of the other tests to a verdict that blames the agent's own tests.

    If one of the other tests fails, the verdict blames the code instead.
    """
    if not trial.results:
        return verdict
    evidence = replace(verdict.evidence, notes=("only tests that the agent did not write were run",))
    ran = replace(
        verdict, evidence=evidence, results=trial.results, before=trial.before, mended=trial.mended,
        duration_s=verdict.duration_s + trial.duration_s,
    )  # fmt: skip
    return replace(ran, reason=trial.reason, failures=trial.failures, weak=()) if trial.reason else ran


def _give_up_tests(step: Step) -> Step:
    """Give up if only the agent's own tests are at fault; else return the step unchanged.

    The caller uses this when a request for better tests would repeat an earlier prompt.
    """
    verdict = step.state.verdict
    if step.outcome is not Outcome.REDO or verdict is None or not verdict.weak:
        return step
    reason = with_failure(_REPEATED, feedback.headline(verdict))
    state = replace(step.state, ending=Ending.STUCK, reason=reason)
    return replace(step, outcome=Outcome.GIVE_UP, state=state, note=reason[:300])


def _refuse_breaking(state: AttemptState, trial: Trial) -> Verdict:
    """Return a failing verdict on a change that breaks existing tests and whose edits of these tests were rejected."""
    note = "only the existing tests that the change would rewrite were run"
    tree = digest(state.change, state.own_tests)
    evidence = Evidence(tree=tree, sandbox="none", label=Label.SELF_TESTED, notes=(note,))
    return Verdict(
        passed=False,
        reason=trial.reason,
        evidence=evidence,
        results=trial.results,
        failures=trial.failures,
        before=trial.before,
        duration_s=trial.duration_s,
    )


def _data(verdict: Verdict) -> dict[str, object]:
    """Return test counts, label and reason for the timeline."""
    return {"tests": _counts(verdict), "label": str(verdict.evidence.label), "reason": verdict.reason[:300]}


def _counts(verdict: Verdict) -> dict[str, int]:
    return {str(result): n for result in Result if (n := verdict.count(result))}


def _report(services: AgentServices, verdict: Verdict) -> None:
    text = feedback.describe_pass(verdict) if verdict.passed else feedback.headline(verdict)
    data = JudgedData(
        tests=_counts(verdict),
        label=str(verdict.evidence.label),
        reason=verdict.reason[:300],
        passed=verdict.passed,
        suite_s=round(verdict.duration_s, 3),
        kinds=sorted({failure.kind for failure in verdict.failures})[:10],
    )
    services.events.emit(Kind.SUITE_JUDGED, text, **data)
    if dropped := verdict.evidence.dropped:
        text, shown = f"not used: {', '.join(list(dropped)[:5])}", dict(list(dropped.items())[:20])
        services.events.emit(Kind.FILES_DROPPED, text, level=Level.WARNING, **DroppedData(dropped=shown))


# Functions and classes that ask a model for tests and read its answer.


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of asking a model for tests.

    Attributes:
        tests: the tests to use from now on.
        faults: why the model's last answer was rejected; empty if it was accepted.
        asked: the digests of the sent prompts.
        is_repeated: True if nothing was sent, because the same prompt had been sent before.
    """

    tests: Files
    faults: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    is_repeated: bool = False


async def write_tests(
    context: AttemptContext, state: AttemptState, services: AgentServices, dialogue: Dialogue
) -> Written:
    """Ask the model for tests, and a few times again if its answer is unusable.

    If no usable answer comes, the earlier tests stay. No prompt is sent twice in an attempt.
    """
    prompt = first = await asyncio.to_thread(_request, context, state, services)
    faults, asked = tuple[str, ...](), list[str]()
    for _ in range(REASKS + 1):
        if (name := _name_of(prompt)) in {*state.test_prompts, *asked}:
            break
        asked.append(name)
        reply = await exploring.answer(context, state, services, dialogue, prompt, change={})
        tests, faults = _read(reply, context, state, services)
        if not faults:
            return Written(tests=tests, asked=tuple(asked))
        prompt = dialogue.again(first, reply.text, _again(faults))
    if not asked and not state.own_tests:
        faults = ("the same was asked before, and no answer could be used",)
    return Written(tests=state.own_tests, faults=faults, asked=tuple(asked), is_repeated=not asked)


def _name_of(prompt: Prompt) -> str:
    """Return the digest of a prompt's messages."""
    text = "\0".join(f"{message.role}\0{message.text}" for message in prompt.messages)
    return hashlib.sha256(encode(text)).hexdigest()[:16]


def _request(context: AttemptContext, state: AttemptState, services: AgentServices) -> Prompt:
    about = sections.prompt_context(context, state, services, Phase.TESTING)
    if plain_requests.is_plain(context, state, services, Phase.TESTING):
        code = Section(title="", fill=lambda space: _interface(state, services, space, about.gauge), rank=9)
        return plain_requests.tests_prompt(about, code, test_paths.suggest(context, services, state.change))
    head = system(
        Phase.TESTING, sections.tests_file(context, services.tree, state.change), *sections.kind_file(context)
    )
    path = test_paths.suggest(context, services, state.change)
    again = "Mend what the complaint names." if state.own_tests else "Write the tests."
    earlier = [replace(sections.the_tests(about), title="Your earlier tests")] if state.own_tests else []
    if state.own_tests or blames_tests(state):
        earlier.append(replace(sections.the_failure(about), title="The complaint about them"))
    elif state.test_prompts:
        earlier.append(fix("Earlier answers", _UNUSED))
    parts = [
        sections.the_task(about),
        sections.the_plan(state),
        sections.the_repository(about),
        sections.the_conventions(about),
        Section(title="The code to be tested", fill=lambda r: _interface(state, services, r, about.gauge), rank=9),
        *earlier,
        sections.closing(f"{again} A good path for a single test file is {path}"),
    ]
    return sections.join_parts(about, head, parts)


def _interface(state: AttemptState, services: AgentServices, space: int, gauge: Gauge) -> Shown:
    """Show the interfaces of the changed files and of the files that these import, as many as fit.

    Files whose interface does not fit are listed by name.
    """
    view, shown, names = View(services.tree, state.change), dict[str, str](), list[str]()
    if (reader := services.languages) is None:
        return Shown()
    space -= 60
    changed = [path for path, text in state.change.items() if text is not None and path in view]
    elsewhere = set(view.paths())
    for path in changed:
        lines = reader.describe_offer(path, view.text(path) or "", base_text(services.tree, path))
        if not lines:
            names.append(path)
            continue
        text = "\n".join([path, *("    " + line for line in lines[:_MOST_LINES])])
        space -= (size := gauge.tokens(text + "\n\n"))
        if space < 0:
            space += size
            names.append(path)
        else:
            shown[path] = text
            elsewhere -= set() if lines[-1].startswith(LEFT_OUT) else {path}
    parts = [*shown.values(), *([f"Changed as well: {', '.join(names)}"] if names else [])]
    for path in changed:
        text, before = view.text(path) or "", base_text(services.tree, path)
        used = reader.describe_imports(path, text, before, elsewhere, view.text)
        space -= gauge.tokens(used)
        parts += [f"Imported by {path}:\n\n{used}"] if used and space >= 0 else []
    text = quote("interface", "\n\n".join(parts)) if parts else "(no file was changed)"
    return Shown(text=text, outlined=tuple(shown), named=tuple(names), cut=bool(names))


def _again(faults: tuple[str, ...]) -> str:
    text = quote("complaints", "\n".join(f"- {fault}" for fault in faults))
    return f"These tests cannot be used:\n\n{text}\n\nSend each test file whole again.\n"


def _read(
    reply: Completion, context: AttemptContext, state: AttemptState, services: AgentServices
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the own tests updated with a reply's files, and the faults of the reply."""
    free = test_paths.suggest(context, services, state.change)
    try:
        parsed = parse(reply, expected=list(state.own_tests) or [free])
    except BadReply as bad:
        return {}, (str(bad),)
    view = View(services.tree, {})
    sent = {view.spell(path): text for path, text in parsed.files.items()}
    tests = {**state.own_tests, **{path: text for path, text in sent.items() if is_test_path(path)}}
    faults = [*parsed.complaints]
    faults += [f"{edit.path}: send test files whole." for edit in parsed.edits[:1]]
    if not any(is_test_path(path) for path in sent):
        faults.append(f"No test file was sent; name it like {free}")
    for path in sent:
        faults += _file_faults(path, tests, services, state.change, free)
    return tests, tuple(faults)


def _file_faults(path: str, tests: Mapping[str, str], services: AgentServices, change: Change, free: str) -> list[str]:
    if path not in tests:
        return []
    text = tests[path]
    if path.rsplit("/", 1)[-1] == "conftest.py":
        return [f"{path}: steers how tests run and cannot be used; put fixtures into the test file."]
    if path in services.tree.entries():
        return [f"{path}: exists already and is not yours; choose another name, such as {free}."]
    others = {name: test_text for name, test_text in tests.items() if name != path}
    if why := find_misplacement(path, View(services.tree, {**change, **others})):
        return [f"{path}: {why}."]
    if failure := syntax.fault(path, text):
        return [f"{path} is not valid: {failure.kind}: {failure.message}"]
    why = services.languages.find_test_fault(path, text) if services.languages else ""
    return [f"{path}: {why}."] if why else []
