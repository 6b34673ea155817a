"""Runs a tool call: finds the tool, reads its arguments, and describes the result in words.

Whatever a call contains, it ends with a text for the model. Only errors from outside (a sandbox that cannot be set up,
a cancelled task) are raised.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from nightshift.agent import syntax
from nightshift.agent.asking import ASKED_BEFORE, answer_to, as_question
from nightshift.agent.draft import Draft
from nightshift.agent.replies import parse
from nightshift.agent.replies.edits import CODEX
from nightshift.agent.services import AgentServices
from nightshift.agent.tools import arguments, reading, running, specs, writing
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply
from nightshift.core.gauge import Gauge
from nightshift.core.ports import OpenTools
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Question
from nightshift.core.tools import ToolCall, ToolSpec

READ_CHARS, READ_CHARS_SMALL = 8000, 4000
SMALL_WINDOW = 32_000
MOST_MISSES = 2
"""Consecutive failed edits of a file after which it must be rewritten whole; small models do not recover otherwise."""

_OTHERS_SHELL = (
    "(`run` takes one command line. Files are changed by `edit`, `write_file` or a patch, not by the shell.)"
)

Ending = arguments.Done | Question
"""The calls that end a conversation: `Done` if the change is complete, `Question` if the owner must answer first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call. `ending` is set if the call ends the conversation."""

    text: str
    ok: bool = True
    ending: Ending | None = None


class Toolbox:
    """The tools of one step.

    Args:
        tools: the tools that the model may call.
        draft: the change; writing tools modify it, reading tools see it.
        context: the attempt's context with the task.
        state: the attempt's state, with its packages and tests.
        services: provide the shell, the suite and the texts of commits.
        gauge: the token gauge of the model; a model with a small window gets shorter texts.
        servers: the tools of the owner's servers, which may also be called.
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        draft: Draft,
        context: AttemptContext,
        state: AttemptState,
        services: AgentServices,
        gauge: Gauge,
        servers: OpenTools | None = None,
    ) -> None:
        self._servers, outside = servers, servers.specs if servers else ()
        self._outside = {spec.name for spec in outside}
        self.tools = (*tools, *outside)
        self.draft, self._context, self._state, self._services = draft, context, state, services
        self._misses = Counter[str]()
        small = gauge.window is not None and gauge.window < SMALL_WINDOW
        self._read_chars = READ_CHARS_SMALL if small else READ_CHARS

    async def call(self, call: ToolCall) -> ToolResult:
        """Run a call.

        Raises:
            SandboxError: nothing could be run.
        """
        tool_names = {spec.name for spec in self.tools}
        patch = patch_in(call) if specs.WRITE_FILE.name in tool_names else ""
        if call.name not in tool_names and not patch:
            names = ", ".join(spec.name for spec in self.tools)
            return ToolResult(text=f"There is no tool {call.name[:60]!r}. The tools are: {names}.", ok=False)
        if self._servers and call.name in self._outside:
            text, ok = await self._servers.call(call)
            return ToolResult(text=text, ok=ok)
        try:
            if patch:
                return self._apply_patch(patch)
            asked = arguments.read_arguments(call.name, call.arguments)
            result = await self._run_call(asked)
            listed = isinstance(call.arguments.get("command"), list)
            return replace(result, text=f"{result.text}\n\n{_OTHERS_SHELL}") if listed else result
        except BadReply as bad:
            return ToolResult(text=str(bad), ok=False)

    def _apply_patch(self, patch: str) -> ToolResult:
        """Apply a patch in Codex's form, whichever tool carried it."""
        taken = self.draft.take(parse(Completion(text=patch, backend="", model="")))
        wrong = [*taken.faults, *(f"{path} {why}." for path, why in taken.refused)]
        done = f"Success: patched {', '.join(taken.paths)}." if taken.paths else "Nothing was changed by the patch."
        return ToolResult(text="\n".join([done, *wrong]), ok=not wrong)

    async def _run_call(self, asked: Any) -> ToolResult:
        match asked:
            case arguments.Run() | arguments.RunTests():
                return await self._ran(asked)
            case arguments.Done():
                return await self.finish(asked)
            case arguments.Ask() | arguments.Cannot():
                return self._owners(as_question(asked))
        return ToolResult(text=await asyncio.to_thread(self._use_tool, asked))

    def _use_tool(self, asked: Any) -> str:
        draft = self.draft
        match asked:
            case arguments.ListFiles():
                return reading.list_files(draft.view, asked)
            case arguments.Search():
                return reading.search(draft.view, self._services.corpora, asked)
            case arguments.ReadFile():
                return reading.read_file(draft.view, asked, most_chars=self._read_chars)
            case arguments.Edit():
                return self._edit(asked)
            case arguments.WriteFile():
                self._misses.pop(asked.path, None)
                return writing.write_file(draft, asked)
        assert_never(asked)

    def _edit(self, asked: arguments.Edit) -> str:
        """Make an edit; after two consecutive misses in a short file, the model must write the whole file."""
        path, text = asked.path, self.draft.view.text(asked.path) or ""
        must_write = f"Send all of {path} by write_file. It holds now:\n{text}"
        if self._misses[path] >= MOST_MISSES:
            raise BadReply(f"Edits of {path} missed {MOST_MISSES} times. {must_write}")
        try:
            done = writing.edit(self.draft, asked)
        except BadReply as bad:
            self._misses[path] += 0 < len(text) <= self._read_chars
            raise bad if self._misses[path] < MOST_MISSES else BadReply(f"{bad}\n{must_write}") from None
        self._misses.pop(path, None)
        return done

    async def _ran(self, asked: arguments.Run | arguments.RunTests) -> ToolResult:
        work = (self.draft, self._context, self._state, self._services)
        if isinstance(asked, arguments.Run):
            text, ok = await running.run(asked, *work)
        else:
            text, ok = await running.run_tests(asked, *work)
        return ToolResult(text=text, ok=ok)

    def _owners(self, question: Question) -> ToolResult:
        """Return the owner's answer if the question was asked before.

        Else end the conversation until the owner answers.
        """
        answer = self.answer_to(question)
        if answer is None:
            return ToolResult(text="This goes to the owner.", ending=question)
        return ToolResult(text=f"{ASKED_BEFORE} {answer}")

    def answer_to(self, question: Question) -> str | None:
        """Return the owner's answer to a question; None if the owner was not asked."""
        return answer_to(self._context, question)

    async def finish(self, asked: arguments.Done) -> ToolResult:
        """End the work, unless a fault is found that is cheaper to fix now than after a failed run.

        A syntax error in a changed file is a fault. If nothing was changed, a failing test that came with the task, or
        a file that such a test lacks, is also a fault.
        """
        view = self.draft.view
        for path in self.draft.change:
            if (text := view.text(path)) is not None and (failure := syntax.fault(path, text)):
                return ToolResult(
                    text=f"Not yet: {path}: {failure.kind}: {failure.message}\n{failure.excerpt}", ok=False
                )
        work = (self.draft, self._context, self._state, self._services)
        if not self.draft.taken and (why := await running.find_contradiction(*work)):
            return ToolResult(text=f"Not yet, nothing was changed: {why}", ok=False)
        return ToolResult(text="Done.", ending=asked)


def patch_in(call: ToolCall) -> str:
    """Return the patch in Codex's form that a call contains; empty if there is none."""
    if call.name in {specs.WRITE_FILE.name, specs.EDIT.name}:
        return ""
    given = [*call.arguments.values()]
    texts = [text for value in given for text in (value if isinstance(value, list) else [value])]
    return next((text for text in texts if isinstance(text, str) and CODEX in text), "")


def as_json(arguments: Mapping[str, Any]) -> str:
    """Return the arguments in the form in which they are stored and compared."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)
