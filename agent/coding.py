"""CODING: ask for files, take what is sound, and let nothing run that its own grammar refuses.

A reply that cannot be used is asked for again within the step, with a complaint that says what is missing; that is a
matter of form, not a try. Code that is not valid Python is a try like any other: it failed the cheapest check.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent import feedback, kinds, protected_files, syntax
from agent.dialogue import Dialogue
from agent.prompt import sections
from agent.prompt.budget import Prompt
from agent.prompt.context import expected_files
from agent.prompt.text import quoted, system
from agent.replies import Edit, Parsed, Refused, apply_edit, parse, spoken
from agent.services import AgentServices, EditFormat
from agent.view import View, base_text, misplaced, settled
from core.attempt_state import AttemptContext, AttemptState, Step
from core.dialogue import Completion
from core.errors import BadReply
from core.events import DroppedData, Kind, Level
from core.paths import MAX_FILE_CHARS, MAX_FILES, MAX_TOTAL_CHARS
from core.states import Outcome, Phase
from core.tasks import TaskSpec, digest
from core.tree import Tree
from core.verdicts import Verdict

_SUMMARY = re.compile(r"^\W{0,4}Summary\W{0,4}[:=][ \t]*(\S.{2,})$", re.MULTILINE | re.IGNORECASE)
_FIRST_BLOCK = re.compile(r"^[ \t]*(?:```|~~~|<{5,9} )", re.MULTILINE)
_UNCHANGED = "The reply left every file as it was, so the same tests fail as before. Change something that matters."


async def run(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """One try: from the model's text to a sound change. Raises what the model raises."""
    joins, state = joins_parts(state), replace(state, iteration=state.iteration + 1, remarks=())
    services = replace(services, events=services.events.bind(iteration=state.iteration))
    if joins:
        return Step(
            phase=Phase.CODING, outcome=Outcome.OK, state=state, note="what its parts made is judged as it stands"
        )
    if blames_tests(state):
        return Step(phase=Phase.CODING, outcome=Outcome.OK, state=state, note="the code stands, its tests are at fault")
    if state.verdict and state.verdict.evidence.dropped:
        state = _without_dropped(context, state, services)
        if state.verdict and state.verdict.passed:
            return Step(phase=Phase.CODING, outcome=Outcome.OK, state=state, note="took out what may not be changed")
    dialogue = Dialogue(Phase.CODING, context, state, services)
    draft = Draft(services.tree, state.change, context.task.spec)
    left = await _converse(context, state, services, dialogue, draft)
    after = replace(dialogue.charge(state), change=draft.change, summary=left.summary or state.summary)
    if draft.refused:
        _report_refused(services, draft.refused)
    return _judged(context, state, after, draft, left)


def joins_parts(state: AttemptState) -> bool:
    """Tell whether all parts of the task are done and were not judged together yet: that needs no model."""
    return bool(state.parts) and not (state.iteration or state.feedback)


def blames_tests(state: AttemptState) -> bool:
    """Tell whether the last reflection blamed the agent's own tests: then the code is not to be changed."""
    return bool(state.tries and state.tries[-1].reflection.tests_at_fault)


def _without_dropped(context: AttemptContext, state: AttemptState, services: AgentServices) -> AttemptState:
    """The state without what the suite refused to use; files that the owner gave are as he gave them."""
    dropped = state.verdict.evidence.dropped if state.verdict else {}
    kept = {path: text for path, text in state.change.items() if path not in dropped}
    kept |= {path: text for path, text in context.task.spec.files.items() if path in dropped}
    return replace(state, change=settled(services.tree, kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What is left when the conversation is over: faults that were not mended, and the model's word on its change."""

    faults: tuple[str, ...] = ()
    summary: str = ""


async def _converse(
    context: AttemptContext, state: AttemptState, services: AgentServices, dialogue: Dialogue, draft: Draft
) -> _Left:
    """Ask, and ask again for what cannot be used, a few times."""
    first, summary, taken = await asyncio.to_thread(first_request, context, state, services), "", Taken()
    prompt = first
    for _ in range(services.settings.reasks + 1):
        reply = await dialogue.ask(prompt)
        summary = summary or _summary(reply)
        taken = _take(context, state, services, draft, reply)
        if not taken.faults and draft.taken:
            return _Left(summary=summary)
        prompt = dialogue.again(first, _remembered(reply), complaint(taken, draft.taken))
    refused = tuple(f"{path} {why}." for path, why in taken.refused)
    return _Left(faults=taken.faults or refused or ("The reply held nothing.",), summary=summary)


def _take(
    context: AttemptContext, state: AttemptState, services: AgentServices, draft: Draft, reply: Completion
) -> Taken:
    view = View(services.tree, draft.change)
    try:
        return draft.take(parse(reply, expected=expected_files(context, state, view)))
    except BadReply as bad:
        return Taken(faults=(str(bad),))


def _summary(reply: Completion) -> str:
    """The line in which the model says what its change does: above its first block, never inside of a file."""
    text = spoken(reply.text)
    block = _FIRST_BLOCK.search(text)
    found = _SUMMARY.search(text[: block.start()] if block else text)
    return found.group(1).strip().strip("*_`").strip()[:200] if found else ""


def _remembered(reply: Completion) -> str:
    """The model's own reply, for it to see."""
    calls = f"(calls of {', '.join(call.name[:60] for call in reply.tool_calls[:10])})" if reply.tool_calls else ""
    return "\n".join(part for part in (reply.text.strip("\n"), calls) if part.strip())


def _judged(context: AttemptContext, before: AttemptState, after: AttemptState, draft: Draft, left: _Left) -> Step:
    """The step that follows from what was taken."""
    if left.faults:
        head = "Part of the reply could not be used." if draft.taken else "The reply held no usable file."
        return _redo(after, "\n".join([head, *left.faults]), None, head)
    if after.change == before.change and before.verdict is not None:
        return _redo(after, f"{_UNCHANGED}\n\n{before.feedback}".strip(), before.verdict, "the reply changed nothing")
    own = {path: text for path, text in after.change.items() if text != context.task.spec.files.get(path)}
    if found := syntax.verdict(own, digest(after.change, after.own_tests)):
        return _redo(after, feedback.shape(found), found, feedback.headline(found))
    note = f"wrote {_names(draft.taken)}" + (f"; dropped {_names(draft.refused)}" if draft.refused else "")
    return Step(phase=Phase.CODING, outcome=Outcome.OK, state=after, note=note, data={"files": draft.taken[:50]})


def _redo(state: AttemptState, text: str, verdict: Verdict | None, note: str) -> Step:
    after = replace(state, feedback=text, verdict=verdict)
    return Step(phase=Phase.CODING, outcome=Outcome.REDO, state=after, note=note[:300])


def _names(paths: Iterable[str]) -> str:
    shown = list(paths)
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "") or "nothing"


def _report_refused(services: AgentServices, refused: Mapping[str, str]) -> None:
    text = f"the model wrote files that it may not: {_names(refused)}"
    data = DroppedData(dropped=dict(list(refused.items())[:20]))
    services.events.emit(Kind.FILES_DROPPED, text, level=Level.WARNING, **data)


# --- what is asked for


_START_AFRESH = (
    "Earlier tries went in circles, so their details are left out. Begin again from the words of the task and the "
    "tests, as if you saw them for the first time. Distrust the code as it is; write another solution if in doubt."
)


def first_request(context: AttemptContext, state: AttemptState, services: AgentServices) -> Prompt:
    """System prompt and case, with what is stable first."""
    about = sections.prompt_context(context, state, services, Phase.CODING)
    head = system(Phase.CODING, *_formats(about), sections.language_file(context), _kind(context))
    parts = [
        sections.the_task(about),
        sections.the_tests(about),
        sections.the_repository(about),
        sections.the_lessons(about),
        sections.the_plan(state),
        sections.the_files(about),
        *sections.the_history(about),
        sections.closing(_now(state)),
    ]
    return sections.composed(about, head, parts)


def _kind(context: AttemptContext) -> str:
    return f"kinds/{kinds.kind_of(context.task.spec)}"


def _formats(about: sections.PromptContext) -> tuple[str, ...]:
    """The parts that teach the reply's form; edits only where they are wanted."""
    settings = about.services.settings
    if settings.edit_format is EditFormat.EDIT:
        return ("formats/whole", "formats/edit", "formats/edit_only")
    longest = max(((about.view.text(path) or "").count("\n") for path in about.near.matter), default=0)
    if settings.edit_format is EditFormat.AUTO and longest > settings.whole_file_lines:
        return ("formats/whole", "formats/edit", "formats/auto")
    return ("formats/whole",)


def _now(state: AttemptState) -> str:
    if not state.feedback:
        return "Write the files."
    text = "Find the cause of the failure in the files above, and send the files that change."
    return f"{_START_AFRESH}\n\n{text}" if state.escalation else text


def complaint(taken: Taken, done: Sequence[str]) -> str:
    """What could not be used, what was, and what to send again."""
    faults = [f"- {fault}" for fault in taken.faults]
    faults += [f"- {path} {why}." for path, why in taken.refused]
    parts = ["Your reply could not be used, or not all of it:", quoted("complaints", "\n".join(faults))]
    if done:
        parts.append(f"These were taken and need not come again: {', '.join(done[:40])}. Send only what is missing.")
    else:
        parts.append("Send the files again in the form that was described.")
    return "\n\n".join(parts) + "\n"


# --- the change while it is being written


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one reply brought: paths taken, sentences about what must come again, refused paths with reasons."""

    paths: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


class Draft:
    """The change of one CODING step, reply by reply.

    Args:
        tree: the base.
        change: the change so far; it is not touched.
        spec: the task, for what may not be written.
    """

    def __init__(self, tree: Tree, change: Mapping[str, str | None], spec: TaskSpec) -> None:
        self._tree, self._spec = tree, spec
        self._change: dict[str, str | None] = dict(change)
        self.taken: list[str] = []
        self.refused: dict[str, str] = {}

    @property
    def change(self) -> dict[str, str | None]:
        """The change relative to the base, in path order."""
        return settled(self._tree, self._change)

    def take(self, parsed: Parsed) -> Taken:
        """Put a reply's files, edits and deletions onto the change, as far as they may and fit."""
        paths, faults, refused = list[str](), list(parsed.complaints), dict[str, str]()
        for path, text in parsed.files.items():
            self._put(path, text, paths, refused)
        faults += [fault for edit in parsed.edits if (fault := self._edit(edit, paths, refused))]
        for path in parsed.deletions:
            if path in View(self._tree, self._change):
                self._put(path, None, paths, refused)
            else:
                faults.append(f"{path}: cannot be removed, there is no such file.")
        self.taken += [path for path in dict.fromkeys(paths) if path not in self.taken]
        self.refused |= refused
        return Taken(paths=tuple(dict.fromkeys(paths)), faults=tuple(faults), refused=tuple(refused.items()))

    def _put(self, path: str, text: str | None, paths: list[str], refused: dict[str, str]) -> None:
        if why := self._refusal(path, text):
            refused[path] = why
        else:
            self._change[path] = text
            paths.append(path)

    def _refusal(self, path: str, text: str | None) -> str | None:
        spec = self._spec
        before, given, asked = base_text(self._tree, path), spec.tests, spec.description
        why = protected_files.refusal(path, text, before=before, given=given, asked=asked, own=spec.files)
        if why := why or misplaced(path, View(self._tree, self._change), new=text is not None):
            return why
        return None if text is None else self._too_much(path, text, len(before or ""))

    def _too_much(self, path: str, text: str, before_chars: int) -> str | None:
        others = [held or "" for name, held in self._change.items() if name != path]
        if len(text) > max(MAX_FILE_CHARS, before_chars):
            return f"is longer than {MAX_FILE_CHARS} characters"
        if len(others) >= MAX_FILES or sum(map(len, others)) + len(text) > MAX_TOTAL_CHARS:
            return f"is too much: a change holds at most {MAX_FILES} files and {MAX_TOTAL_CHARS} characters together"
        return None

    def _edit(self, edit: Edit, paths: list[str], refused: dict[str, str]) -> str | None:
        text = View(self._tree, self._change).text(edit.path)
        if why := self._refusal(edit.path, text):
            refused[edit.path] = why
            return None
        if text is None and edit.search.strip():
            return f"{edit.path}: there is no such text file to edit; send it whole."
        try:
            self._put(edit.path, apply_edit(text or "", edit), paths, refused)
        except Refused as fault:
            return str(fault)
        return None
