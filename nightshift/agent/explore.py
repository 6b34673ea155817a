"""The tool loop: step by step, a model explores files, changes them and runs commands, until it ends the conversation.

The conversation is only ever extended at its end, so a vendor's prompt cache serves everything before that. Results
older than the last ten are masked in batches. Masking loses nothing (Lindenbauer and others, “The Complexity Trap”,
2025), and batches seldom invalidate the cached part. When the conversation nears the size of the model's window, it
restarts with a list of the calls so far. Each result is stored before the model is asked again. A resumed step replays
the stored replies and results, and runs only the call that had no result yet. Replay is sound because a call has no
outside effects: it reads only the base and the change, and its only effect is a new change.

The loop produces a change like any other; the later phases do not know how it was made.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nightshift.agent.asking import ASKED_BEFORE, as_question
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.prompt.budget import Prompt, tokens_of
from nightshift.agent.prompt.text import quote
from nightshift.agent.services import AgentServices
from nightshift.agent.tools import endings, specs
from nightshift.agent.tools.arguments import Done
from nightshift.agent.tools.calls import Calls, read_calls
from nightshift.agent.tools.running import NO_VERDICT
from nightshift.agent.tools.toolbox import Ending, Toolbox, as_json
from nightshift.core.dialogue import Completion, Finish, Message
from nightshift.core.events import Kind
from nightshift.core.tasks.task import Change, digest
from nightshift.core.tool_text import RESULT
from nightshift.core.tools import ToolCall, ToolProtocol, ToolRecord, brief

KEPT_RESULTS, BATCH = 10, 5
"""Number of latest results that are always shown in full, and size of the batches in which older ones are masked."""
MASKED_CHARS = 400
"""Results of up to this many characters are never masked, because masking would save too little."""
BAD_REPLIES = 3
"""Number of consecutive replies without a readable call after which the conversation switches to the other tool
protocol (native or text). It switches only once.
"""
NUDGE, ENOUGH = 3, 4
"""Number of times that the same call may have the same result before the model is warned, and before the step ends."""
NEAR_END = 5
FULL_SHARE = 0.75
"""Share of the model's window at which the conversation restarts."""
UNKNOWN_WINDOW = 32_000
"""Context window in tokens that is assumed if a server does not report one."""
BRIEFS = 30

_FORM = "Your reply held no tool call. Call one of the tools ({names}) in the form that was described{end}."
_CUT = "Your reply was cut off at its length limit, before a call was complete. Be shorter."
_CUT_CALL = "Not run: your reply was cut off within this call. Write less at once: an edit, or the file in parts."
_NUDGE = "(You made this very call before, with this very result. Do something else.)"
_TESTS_FAILED = (
    "the last run_tests failed. If your change broke these tests, mend it; if they contradict the task, say so with "
    "cannot; if neither, call done again."
)
_FULL = "The conversation was too long and begins afresh. Your change so far is kept. What was done:"


@dataclass(slots=True)
class _Turn:
    """A reply of the model, with the results of its calls.

    Each result is a pair of the call in one line and the message to the model.
    """

    message: Message
    results: list[tuple[str, Message]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """The end of the conversation.

    The model ended it with an `ending` call or with a `final` reply without a call. Otherwise `why` says why it ended.
    """

    ending: Ending | None = None
    final: Completion | None = None
    why: str = ""
    calls: int = 0
    reply: Completion | None = None
    """The last reply of the conversation."""


class Explorer:
    """The tool loop of one step.

    Args:
        dialogue: asks the model, and numbers the step's requests.
        toolbox: runs the calls.
        services: stores results, and accepts events.
        steps: limit of replies with calls.
        answers: True if a reply without a call is the wanted answer, as in phases that only read.
    """

    def __init__(
        self, dialogue: Dialogue, toolbox: Toolbox, services: AgentServices, *, steps: int, answers: bool = False
    ) -> None:
        self._dialogue, self._toolbox, self._services = dialogue, toolbox, services
        self._steps, self._answers = steps, answers
        self._turns, self._briefs = list[_Turn](), list[str]()
        self._seen = Counter[tuple[str, str, str, str]]()
        self._protocol: ToolProtocol | None = None
        self._last: Completion | None = None
        self._bad, self._switched, self._failed_tests = 0, False, ""
        self.forms = Counter[tuple[str, str, str, bool]]()
        """Counts of replies by backend, model, protocol, and whether the calls could be read (True) or not (False)."""

    async def explore(self, first: Prompt) -> Explored:
        """Ask and run calls until the model ends the work, the steps are used up, or the model repeats itself.

        Raises what the model, the sandbox and the log of calls raise.
        """
        for number in range(self._steps):
            left = self._steps - number
            prompt = self._prompt(first, left)
            reply = await self._dialogue.ask(prompt, tools=self._toolbox.tools, protocol=self._protocol)
            self._last, asked = reply, read_calls(reply, self._toolbox.tools)
            if not asked.calls and self._answers and reply.text.strip() and not asked.fault:
                self._note_form(reply, good=True)
                return self._end_conversation(final=reply)
            if end := await self._run_calls(reply, asked):
                return end
        return self._end_conversation(why=f"{self._steps} steps were used up")

    def _end_conversation(
        self, ending: Ending | None = None, final: Completion | None = None, why: str = ""
    ) -> Explored:
        return Explored(ending=ending, final=final, why=why, calls=len(self._briefs), reply=self._last)

    async def _run_calls(self, reply: Completion, asked: Calls) -> Explored | None:
        """Run the calls of a reply; return the end of the conversation, or None if it continues."""
        turn = _Turn(_as_message(reply, asked))
        self._turns.append(turn)
        if not asked.calls:
            return await self._without_call(reply, asked, turn)
        self._note_form(reply, good=not asked.fault)
        self._bad = 0
        failed = False
        for seq, call in enumerate(asked.calls):
            if reply.is_cut and call.arguments.keys() == {"text"}:
                self._answer(turn, reply, call, _CUT_CALL)
                failed = True
                continue
            if call.name == specs.DONE.name and (
                why := "a call before this one failed." if failed else self._failed_tests
            ):
                self._answer(turn, reply, call, f"Not yet: {why}")
                self._failed_tests = ""
                continue
            record, ending, repeated = await self._record_call(call, seq)
            failed |= not record.ok
            if call.name == specs.RUN_TESTS.name:
                self._failed_tests = _TESTS_FAILED if not record.ok and NO_VERDICT in record.text else ""
            self._answer(turn, reply, call, f"{record.text}\n\n{_NUDGE}" if repeated == NUDGE else record.text)
            if ending:
                return self._end_conversation(ending)
            if repeated >= ENOUGH:
                return self._end_conversation(why=f"the same call came {repeated} times with the same result")
        if asked.fault:
            turn.results.append(("", Message(role="user", text=asked.fault)))
        if asked.is_only_files and not (failed or asked.fault):
            return self._end_conversation(final=reply)  # The model ignores the tools and sent complete files.
        return None

    async def _without_call(self, reply: Completion, asked: Calls, turn: _Turn) -> Explored | None:
        """Handle a reply without a call, which ends the conversation or is a fault.

        A complete reply in the native protocol ends the conversation if a file was changed. Any other reply is a fault
        of form, but it still ends the conversation if it says in words that the work is over.
        """
        if reply.protocol is ToolProtocol.NATIVE and reply.finish is Finish.STOP and self._toolbox.draft.taken:
            self._note_form(reply, good=True)
            return self._end_conversation(final=reply)
        self._note_form(reply, good=False)
        end, why = await self._in_words(reply)
        if end:
            return end
        self._bad += 1
        if self._bad >= BAD_REPLIES:
            if self._switched:
                return self._end_conversation(why=f"{BAD_REPLIES} replies in a row held no tool call")
            native = reply.protocol is ToolProtocol.NATIVE
            self._protocol, self._switched, self._bad = ToolProtocol.TEXT if native else ToolProtocol.NATIVE, True, 0
        turn.results.append(("", Message(role="user", text=why or self._complaint(reply, asked))))
        return None

    async def _in_words(self, reply: Completion) -> tuple[Explored | None, str]:
        """End the work if the reply says so in words.

        The exact form always counts. Free words count only after an earlier reply without a call.

        Returns:
            The end and an empty string, or None and the reason why the work may not end.
        """
        claim = endings.read_stated(reply) or (endings.read_implied(reply) if self._bad else None)
        if claim is None or specs.DONE not in self._toolbox.tools:
            return None, ""
        if isinstance(claim, Done):
            result = await self._toolbox.finish(claim)
            return (self._end_conversation(claim), "") if result.ending else (None, result.text)
        question = as_question(claim)
        return (self._end_conversation(question) if self._toolbox.answer_to(question) is None else None), ""

    def _complaint(self, reply: Completion, asked: Calls) -> str:
        if asked.fault:
            return asked.fault
        if reply.is_cut:
            return _CUT
        end = "; `done` ends your work" if specs.DONE in self._toolbox.tools else ", or give your answer"
        form = _FORM.format(names=", ".join(spec.name for spec in self._toolbox.tools), end=end)
        claim = endings.read_stated(reply)
        answer = None if claim is None or isinstance(claim, Done) else self._toolbox.answer_to(as_question(claim))
        return f"{form} {ASKED_BEFORE} {answer}" if answer else form

    def _note_form(self, reply: Completion, *, good: bool) -> None:
        if reply.protocol is not None:
            self.forms[reply.backend, reply.model, str(reply.protocol), good] += 1

    async def _record_call(self, call: ToolCall, seq: int) -> tuple[ToolRecord, Ending | None, int]:
        """Run a call, or replay its stored record.

        Returns:
            The record, the ending that the call causes (or None), and the number of times that this result has come.
        """
        log, position, draft = self._services.tool_log, self._dialogue.locate_call(seq), self._toolbox.draft
        ending: Ending | None = None
        record, before = log.stored(position) if log else None, draft.change
        if record is None or call.name in specs.ENDING:
            record, ending = await self._make_call(call, before)
            if log:
                await log.save(position, record)
        elif record.change is not None:
            draft.restore(record.change)
        self._briefs.append(brief(call.name, record.arguments) + ("" if record.ok else " (refused or failed)"))
        key = (call.name, record.arguments, record.text, digest(before))
        self._seen[key] += 1
        return record, ending, self._seen[key]

    async def _make_call(self, call: ToolCall, before: Change) -> tuple[ToolRecord, Ending | None]:
        if call.name in {specs.RUN.name, specs.RUN_TESTS.name} or specs.is_outside(call.name):
            self._services.events.emit(Kind.TOOL_STARTED, brief(call.name, as_json(call.arguments)))
        began_s = time.monotonic()
        result = await self._toolbox.call(call)
        after = self._toolbox.draft.change
        record = ToolRecord(
            name=call.name,
            arguments=as_json(call.arguments),
            text=result.text,
            ok=result.ok,
            change=after if after != before else None,
            took_s=round(time.monotonic() - began_s, 3),
        )
        return record, result.ending

    def _answer(self, turn: _Turn, reply: Completion, call: ToolCall, text: str) -> None:
        """Add a call's result to the turn, in the protocol in which the call came."""
        line = brief(call.name, as_json(call.arguments))
        shown = quote("result", text)
        in_text = Message(role="user", text=f"{RESULT}{line}:\n\n{shown}")
        message = Message(role="tool", text=shown, call_id=call.id) if reply.tool_calls else in_text
        turn.results.append((line, message))

    # Methods and functions that build the next prompt.

    def _prompt(self, first: Prompt, left: int) -> Prompt:
        """Return the first prompt, followed by the conversation; a conversation that is too long restarts."""
        messages = self._messages(first, left)
        window = first.gauge.window or UNKNOWN_WINDOW
        limit = int(min(self._services.settings.conversation_tokens, window * FULL_SHARE))
        if tokens_of(messages, first.gauge) > limit and len(self._turns) > 1:
            self._begin_afresh()
            messages = self._messages(first, left)
        return first.with_messages(messages)

    def _begin_afresh(self) -> None:
        """Replace all turns except the last with one list of the calls so far."""
        lines = self._briefs[-BRIEFS:]
        more = len(self._briefs) - len(lines)
        text = "\n".join([*([f"(left out: the {more} oldest)"] if more else []), *lines])
        note = Message(role="user", text=f"{_FULL}\n\n{quote('calls', text)}")
        self._turns = [_Turn(Message(role="assistant", text="(I continue.)"), [("", note)]), self._turns[-1]]

    def _messages(self, first: Prompt, left: int) -> list[Message]:
        masked, messages, number = self._count_masked(), list(first.messages), 0
        for turn in self._turns:
            messages.append(turn.message)
            for line, message in turn.results:
                text = message.text
                if line:
                    number += 1
                    if number <= masked and len(text) > MASKED_CHARS:
                        text = f"{RESULT}{line}: (left out, {len(text):,} characters; call again if you need it)"
                _append(messages, replace(message, text=text))
        if left <= NEAR_END:
            last = "This is your last call." if left == 1 else f"{left} calls are left."
            end = "answer now, without a call" if self._answers and left == 1 else "finish"
            _append(messages, Message(role="user", text=f"({last} Please {end}.)"))
        return messages

    def _count_masked(self) -> int:
        """Return the number of results to mask, counted from the oldest."""
        count = sum(1 for turn in self._turns for line, _ in turn.results if line)
        return max(0, (count - KEPT_RESULTS) // BATCH * BATCH)


def _append(messages: list[Message], message: Message) -> None:
    """Append a message; a user message is merged into a preceding user message or tool result.

    Every vendor accepts the merged form.
    """
    if message.role == "user" and messages and messages[-1].role in {"user", "tool"}:
        messages[-1] = replace(messages[-1], text=f"{messages[-1].text.rstrip()}\n\n{message.text}")
    else:
        messages.append(message)


def _as_message(reply: Completion, asked: Calls) -> Message:
    """Convert a reply into the message that later prompts show."""
    message = Message(role="assistant", text=reply.text, thoughts=reply.thoughts, author=reply.author)
    if reply.tool_calls:
        return replace(message, tool_calls=asked.calls)
    return replace(message, text=reply.text.strip("\n") or "(an empty reply)")


def count_forms(forms: Counter[tuple[str, str, str, bool]]) -> list[list[object]]:
    """List how many replies were readable and unreadable, as rows for the step's data.

    A row contains backend, model, protocol, number of readable replies and number of unreadable replies.
    """
    keys = sorted({key[:3] for key in forms})
    return [[*key, forms[(*key, True)], forms[(*key, False)]] for key in keys]


def closing_words(reply: Completion) -> str:
    """Return the first line of a prose reply, as a summary of the change."""
    lines: Sequence[str] = [line.strip(" *#_`") for line in reply.text.strip().split("\n") if line.strip(" *#_`")]
    return lines[0][:200] if lines else ""
