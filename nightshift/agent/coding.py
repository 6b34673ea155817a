"""CODING: asks a model for files, accepts the usable ones, and stops code with a syntax error before anything runs.

An unusable reply is requested again within the step, with a complaint that says what is missing. Such a repeat does not
count as a try. A model may also say that there is nothing to write; then the existing code is judged unchanged. If the
model says that something cannot be done, or that only the owner can decide it, the owner is asked once. Code with a
syntax error does count as a try, because it failed the cheapest check.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nightshift.agent import changed_tests, exploring, feedback, syntax
from nightshift.agent.asking import ASKED_BEFORE, answer_to, as_question, read_agreed_refusal, wait_for_answer
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.draft import Draft, Taken
from nightshift.agent.explore import Explorer, closing_words, count_forms
from nightshift.agent.project_choice import begin_project
from nightshift.agent.prompt import plain_requests, sections
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.prompt.context import list_expected_files
from nightshift.agent.prompt.text import prompt_file, quote, system
from nightshift.agent.replies import parse
from nightshift.agent.replies.definitions import merge_definitions
from nightshift.agent.replies.names import without_path_line
from nightshift.agent.replies.templates import is_copied
from nightshift.agent.services import REASKS, WHOLE_FILE_LINES, AgentServices, EditFormat
from nightshift.agent.tools import endings, specs
from nightshift.agent.tools.arguments import Ask, Cannot, Done
from nightshift.agent.tools.running import find_contradiction
from nightshift.agent.tools.toolbox import Toolbox
from nightshift.agent.view import View, settle
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply
from nightshift.core.events import DroppedData, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Question, Step
from nightshift.core.tasks.projects import LAID_OUT
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.task import digest
from nightshift.core.tasks.verdicts import Verdict
from nightshift.core.text.faults import name_first

_SUMMARY = re.compile(r"^\W{0,4}Summary\W{0,4}[:=][ \t]*(\S.{2,})$", re.MULTILINE | re.IGNORECASE)
_FIRST_BLOCK = re.compile(r"^[ \t]*(?:```|~~~|<{5,9} )", re.MULTILINE)
_YOUR_TEST = "Your test is unchanged: change it and retry the task, or answer how to continue without changing it."
_UNCHANGED = "The reply left every file as it was, so the same tests fail as before. Change something that matters."


async def run(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Run one try: ask the model, and return the step with the resulting change. Raises what the model raises."""
    if refused := _end_by_owner(context, state):
        return refused
    if services.settings.change_tests == "keep" and (question := _contradiction(context, state)):
        return wait_for_answer(Phase.CODING, state, question)
    joins, state = joins_parts(state), replace(state, iteration=state.iteration + 1, remarks=())
    services = replace(services, events=services.events.bind(iteration=state.iteration))
    state = await asyncio.to_thread(begin_project, context, state, services)
    if joins:
        return Step(
            phase=Phase.CODING, outcome=Outcome.OK, state=state, note="the subtasks' joined change is judged unchanged"
        )
    if blames_tests(state):
        return Step(phase=Phase.CODING, outcome=Outcome.OK, state=state, note="the tests are at fault, not the code")
    if state.verdict and state.verdict.evidence.dropped:
        state = _without_dropped(context, state, services)
        if state.verdict and state.verdict.passed:
            return Step(phase=Phase.CODING, outcome=Outcome.OK, state=state, note="removed files that are not allowed")
    state, prompt = await asyncio.to_thread(first_request, context, state, services)
    dialogue = Dialogue(Phase.CODING, context, state, services)
    change = {**state.change, **state.test_changes}
    draft = Draft(services.tree, change, context.task.spec, context.tests_beside(state))
    work = _explore if prompt.explores else _converse
    left = await work(context, state, services, dialogue, draft, prompt)
    proposed = changed_tests.propose(state.test_changes, draft.test_changes, services.tree)
    after = replace(
        dialogue.charge(state), change=draft.sources, test_changes=proposed, summary=left.summary or state.summary
    )
    if draft.refused:
        _report_refused(services, draft.refused)
    if left.question:
        return wait_for_answer(Phase.CODING, replace(after, iteration=after.iteration - 1), left.question)
    step = _judge_reply(context, state, after, draft, left)
    return replace(step, data={**step.data, **left.data})


def joins_parts(state: AttemptState) -> bool:
    """Check whether all subtasks are done but not yet judged together. Their joined change needs no model call."""
    return bool(state.parts) and not (state.iteration or state.feedback)


def blames_tests(state: AttemptState) -> bool:
    """Check whether the last reflection blamed the agent's own tests. If so, CODING must leave the code unchanged."""
    return bool(state.tries and state.tries[-1].reflection.tests_at_fault)


def _without_dropped(context: AttemptContext, state: AttemptState, services: AgentServices) -> AttemptState:
    """Return the state without the files that the suite refused.

    If the task itself supplied a refused file, the file is reset to the task's text.
    """
    dropped = state.verdict.evidence.dropped if state.verdict else {}
    remaining = {path: text for path, text in state.change.items() if path not in dropped}
    remaining |= {path: text for path, text in context.task.spec.files.items() if path in dropped}
    return replace(state, change=settle(services.tree, remaining))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """The result of a finished conversation.

    Attributes:
        faults: faults that remain in the reply.
        summary: the model's summary of its change.
        question: a question that the owner must answer first, or None.
        data: additional data for the timeline.
    """

    faults: tuple[str, ...] = ()
    summary: str = ""
    question: Question | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


async def _explore(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    dialogue: Dialogue,
    draft: Draft,
    prompt: Prompt,
) -> _Left:
    """Let the model work with tools. The changes that it made are kept, however the conversation ended."""
    async with exploring.server_tools(context, services) as servers:
        barred = () if services.shell is not None else (specs.RUN, specs.RUN_TESTS)
        tools = tuple(spec for spec in specs.WORKING if spec not in barred)
        toolbox = Toolbox(tools, draft, context, state, services, prompt.gauge, servers)
        loop = Explorer(dialogue, toolbox, services, steps=services.settings.explore_steps)
        end = await loop.explore(prompt)
    if end.reply and not isinstance(end.ending, Question):
        services.count_form(end.reply, bool(draft.taken or end.ending))
    data = {"tool_calls": end.calls, "forms": count_forms(loop.forms)}
    if isinstance(end.ending, Question):
        return _Left(question=end.ending, data=data)
    if end.why and not draft.taken:
        return _Left(faults=(f"Nothing was changed: {end.why}.",), data=data)
    if end.ending:
        return _Left(summary=" ".join(end.ending.summary.split())[:200], data=data)
    return _Left(summary=(_summary(end.final) or closing_words(end.final)) if end.final else "", data=data)


def _end_by_owner(context: AttemptContext, state: AttemptState) -> Step | None:
    """End the task if the model said that it cannot be done and the owner agrees; else return None."""
    agreed = read_agreed_refusal(context, state)
    if not agreed:
        return None
    state = replace(state, ending=Ending.REFUSED, reason=agreed)
    return Step(phase=Phase.CODING, outcome=Outcome.GIVE_UP, state=state, note=agreed[:300])


def _contradiction(context: AttemptContext, state: AttemptState) -> Question | None:
    """Return the question to the owner about tests that contradict the task.

    Return None if no test contradicts it, or if the owner has answered the question.
    """
    last = state.tries[-1].reflection if state.tries else None
    if last is None or not last.contradicting_tests:
        return None
    is_single = len(last.contradicting_tests) == 1
    which = f"the existing {'test' if is_single else 'tests'} {', '.join(last.contradicting_tests)}"
    why = f"{which} {'contradicts' if is_single else 'contradict'} it: {last.root_cause} {_YOUR_TEST}"
    question = as_question(Cannot(reason=why))
    return question if answer_to(context, question) is None else None


async def _converse(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    dialogue: Dialogue,
    draft: Draft,
    prompt: Prompt,
) -> _Left:
    """Ask the model until its reply is usable or says that no files are needed, at most `REASKS` times again.

    A claim in free words, such as "this is already done", counts only if the model repeats it after a prompt showed the
    exact form for such claims.
    """
    first, before, summary, taken, hint = prompt, dict(draft.change), "", Taken(), ""
    for number in range(1, REASKS + 2):
        reply = await dialogue.ask(prompt)
        claim = _read_claim(reply, prompt, hint)
        why = await find_contradiction(draft, context, state, services) if isinstance(claim, Done) else ""
        if claim and not why and (end := _end_by_claim(context, claim)):
            return end
        line = _summary(reply)
        summary = summary or ("" if is_copied(line, prompt.messages) else line)
        taken = _complain_about(context, claim, why) if claim else _take(context, state, services, draft, reply, prompt)
        is_usable = not taken.faults and bool(draft.taken)
        services.count_form(reply, is_usable)
        # If a file was sent unchanged, `draft.change` lacks it; an empty text stands for it.
        texts = [draft.change.get(path) or "" for path in draft.taken]
        is_unchanged = is_usable and draft.change == before and not context.shown_tests
        lack = plain_requests.name_lack(texts, is_unchanged=is_unchanged) if first.is_plain and number == 1 else ""
        if is_usable and not lack:
            return _Left(summary=summary)
        if first.is_plain:
            prompt = plain_requests.ask_again(first, number, lack)
            continue
        hint = (
            "" if claim or taken.paths or endings.read_implied(reply) is None else prompt_file("formats/endings_again")
        )
        prompt = dialogue.again(first, _repeat_reply(reply), complaint(taken, draft.taken, hint))
    refused = tuple(f"{path} {why}." for path, why in taken.refused)
    return _Left(faults=taken.faults or refused or ("The reply held nothing.",), summary=summary)


def _read_claim(reply: Completion, prompt: Prompt, hint: str) -> endings.Said | None:
    """Read a claim that takes the place of files: the work is done, cannot be done, or needs an answer.

    Return None for replies to plain requests, and for a claim that only copies the instructions.
    """
    claim = endings.read_stated(reply) or (endings.read_implied(reply) if hint else None)
    if claim is None or prompt.is_plain:
        return None
    words = claim.summary if isinstance(claim, Done) else claim.question if isinstance(claim, Ask) else claim.reason
    return None if is_copied(words, prompt.messages) else claim


def _end_by_claim(context: AttemptContext, claim: endings.Said) -> _Left | None:
    """Return the end of the conversation that a claim causes; None if the owner has answered its question."""
    if isinstance(claim, Done):
        return _Left(summary=" ".join(claim.summary.split())[:200])
    question = as_question(claim)
    return _Left(question=question) if answer_to(context, question) is None else None


def _complain_about(context: AttemptContext, claim: endings.Said, why: str) -> Taken:
    """Return the complaint about a rejected claim: tests contradict it, or the owner has answered it."""
    if isinstance(claim, Done):
        return Taken(faults=(f"It is not done already: {why}",))
    return Taken(faults=(f"{ASKED_BEFORE} {answer_to(context, as_question(claim))}",))


def _take(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    draft: Draft,
    reply: Completion,
    prompt: Prompt,
) -> Taken:
    view, part_of = View(services.tree, draft.change), prompt.part_of
    try:
        parsed = parse(reply, expected=prompt.paths or list_expected_files(context, state, view))
        files = {path: without_path_line(path, text, view.text(path)) for path, text in parsed.files.items()}
        parsed = replace(parsed, files=files)
        if part_of in parsed.files:
            merged = merge_definitions(view.text(part_of) or "", parsed.files[part_of])
            parsed = replace(parsed, files={**parsed.files, part_of: merged})
        return draft.take(parsed)
    except BadReply as bad:
        first = str(bad).partition("\n")[0]
        services.events.emit(Kind.REPLY_REFUSED, f"the reply cannot be used: {first}", level=Level.WARNING)
        return Taken(faults=(str(bad),))


def _summary(reply: Completion) -> str:
    """Return the reply's summary of the change. Only the text above the first code block is searched."""
    text = reply.text
    block = _FIRST_BLOCK.search(text)
    match = _SUMMARY.search(text[: block.start()] if block else text)
    return match.group(1).strip().strip("*_`").strip()[:200] if match else ""


def _repeat_reply(reply: Completion) -> str:
    """Return the reply as text for the next prompt, with tool calls reduced to their names."""
    calls = f"(calls of {', '.join(call.name[:60] for call in reply.tool_calls[:10])})" if reply.tool_calls else ""
    return "\n".join(part for part in (reply.text.strip("\n"), calls) if part.strip())


def _judge_reply(context: AttemptContext, before: AttemptState, after: AttemptState, draft: Draft, left: _Left) -> Step:
    """Return the step that follows from the conversation's result."""
    if left.faults:
        head = "Part of the reply could not be used." if draft.taken else "The reply held no usable file."
        return _redo(after, "\n".join([head, *left.faults]), None, head)
    same = (after.change, after.test_changes) == (before.change, before.test_changes)
    if same and before.verdict is not None and not before.verdict.unmet:
        earlier = before.feedback.removeprefix(_UNCHANGED).strip()  # avoids repeating the sentence `_UNCHANGED`
        return _redo(after, f"{_UNCHANGED}\n\n{earlier}".strip(), before.verdict, "the reply changed nothing")
    own = {path: text for path, text in after.change.items() if text != context.task.spec.files.get(path)}
    if verdict := syntax.verdict(own, digest(after.change, after.own_tests)):
        return _redo(after, feedback.shape(verdict), verdict, feedback.headline(verdict))
    if not draft.taken and not draft.refused:
        if set(after.change) <= set(LAID_OUT):  # a change of only these project files does not count
            after = replace(after, change={})
        note = f"nothing to write: {left.summary}"[:300]
        return Step(phase=Phase.CODING, outcome=Outcome.OK, state=after, note=note)
    note = f"wrote {name_first(draft.taken, 4) or 'nothing'}" + (
        f"; dropped {name_first(draft.refused, 4)}" if draft.refused else ""
    )
    return Step(phase=Phase.CODING, outcome=Outcome.OK, state=after, note=note, data={"files": draft.taken[:50]})


def _redo(state: AttemptState, text: str, verdict: Verdict | None, note: str) -> Step:
    after = replace(state, feedback=text, verdict=verdict)
    return Step(phase=Phase.CODING, outcome=Outcome.REDO, state=after, note=note[:300])


def _report_refused(services: AgentServices, refused: Mapping[str, str]) -> None:
    text = f"the agent rejected files that the model wrote: {name_first(refused, 4)}"
    data = DroppedData(dropped=dict(list(refused.items())[:20]))
    services.events.emit(Kind.FILES_DROPPED, text, level=Level.WARNING, **data)


# Functions that build the first request of a try.


_MOST_NAMED = 10
_WRITE, _SEND = "Write the files", "Find the cause of the failure in the files above, and send the files that change."
_BEGIN, _MEND = "Begin.", "Find the cause of the failure, and mend it."
_START_AFRESH = (
    "Earlier tries went in circles, so their details are left out. Begin again from the words of the task and the "
    "tests, as if you saw them for the first time. Distrust the code as it is; write another solution if in doubt."
)


def first_request(context: AttemptContext, state: AttemptState, services: AgentServices) -> tuple[AttemptState, Prompt]:
    """Return the state to begin with, and the try's first request.

    There are three forms of request: one in plain words (`agent.prompt.plain_requests`), one that asks for files, and
    one for a model with tools. Stable parts of the prompt come first.
    """
    if plain_requests.is_plain(context, state, services, Phase.CODING):
        state = plain_requests.start(context, state, services.tree)
        return state, plain_requests.coding_prompt(sections.prompt_context(context, state, services, Phase.CODING))
    about = sections.prompt_context(context, state, services, Phase.CODING)
    if about.explores:
        return state, _working_prompt(about)
    head = system(Phase.CODING, *_formats(about), sections.language_file(context), *sections.kind_file(context))
    parts = [
        *sections.the_beginning(about),
        sections.the_plan(state),
        sections.the_files(about),
        sections.the_change(about),
        *sections.the_history(about),
        sections.closing(_now(state, _name_files(about), _SEND)),
    ]
    return state, sections.join_parts(about, head, parts)


def _working_prompt(about: sections.PromptContext) -> Prompt:
    """Return the request to a model with tools: the task and a starting point; the model reads the files itself."""
    parts = [
        *sections.the_beginning(about),
        sections.the_plan(about.state),
        replace(sections.the_change(about, new=True), share=0.3, rank=9),
        *sections.the_history(about),
        sections.closing(_now(about.state, _BEGIN, _MEND)),
    ]
    head = system(Phase.CODING, sections.language_file(about.context), main="explorer")
    return sections.join_parts(about, head, parts, once=True)


def _name_files(about: sections.PromptContext) -> str:
    """Return the closing request; it names the files if they are few and known.

    The names come last, because the end of a prompt has the most influence.
    """
    paths = list_expected_files(about.context, about.state, about.view)
    return f"{_WRITE}: {', '.join(paths)}." if 0 < len(paths) <= _MOST_NAMED else f"{_WRITE}."


def _formats(about: sections.PromptContext) -> tuple[str, ...]:
    """Return the names of the prompt files that describe the form of a reply.

    The form with edits is included only if the settings allow edits.
    """
    settings = about.services.settings
    if settings.edit_format is EditFormat.EDIT:
        return ("formats/whole", "formats/edit", "formats/edit_only", "formats/endings")
    longest = max(((about.view.text(path) or "").count("\n") for path in about.near.matter), default=0)
    if settings.edit_format is EditFormat.AUTO and longest > WHOLE_FILE_LINES:
        return ("formats/whole", "formats/edit", "formats/auto", "formats/endings")
    return ("formats/whole", "formats/endings")


def _now(state: AttemptState, first: str, again: str) -> str:
    if not state.feedback:
        return first
    return f"{_START_AFRESH}\n\n{again}" if state.escalation else again


def complaint(taken: Taken, done: Sequence[str], hint: str = "") -> str:
    """Format a complaint: the unusable parts, the accepted files and the request to send the rest again.

    `hint` comes last.
    """
    faults = [f"- {fault}" for fault in taken.faults]
    faults += [f"- {path} {why}." for path, why in taken.refused]
    parts = ["Your reply could not be used, or not all of it:", quote("complaints", "\n".join(faults))]
    if done:
        parts.append(f"These were taken and need not come again: {', '.join(done[:40])}. Send only what is missing.")
    else:
        parts.append("Send the files again in the form that was described.")
    parts += [hint] if hint else []
    return "\n\n".join(parts) + "\n"
