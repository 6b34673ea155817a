"""One phase's conversation with the model.

It numbers the calls, adds up their cost and keeps prompts within the limit. When a question is repeated, the model sees
only its last reply and the complaint about that reply. The reply is shortened to the space that the prompt's limit
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from nightshift.agent.kinds import kind_of
from nightshift.agent.owner_words import with_later
from nightshift.agent.prompt.budget import Prompt, clip, record_repeat
from nightshift.agent.replies.reader import with_answer
from nightshift.agent.services import REASKS, AgentServices
from nightshift.core.dialogue import SAW_HELD_OUT, Completion, Material, Message, ModelRequest
from nightshift.core.errors import OwnerSpoke
from nightshift.core.events import Kind
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Spent
from nightshift.core.tools import ToolPlace, ToolProtocol, ToolSpec

T = TypeVar("T")

REPLY_TOKENS = 2200
"""Maximum number of tokens of the model's previous reply that the next prompt shows."""


class Dialogue:
    """The model calls of one step.

    Each request is stored under its step number and call number. The calls must therefore be made one after the other,
    and in the same order whenever the step runs again.
    """

    def __init__(self, phase: Phase, context: AttemptContext, state: AttemptState, services: AgentServices) -> None:
        self._phase, self._context, self._state, self._services = phase, context, state, services
        self._spent, self._models, self.calls = Spent(), list[str](), 0
        self._saw_held_out, self._heard = state.saw_held_out, state.heard
        self._asked: Prompt | None = None
        self._sent = list[tuple[Message, ...]]()

    async def ask(
        self,
        prompt: Prompt,
        *,
        json_reply: bool = False,
        tools: Sequence[ToolSpec] = (),
        protocol: ToolProtocol | None = None,
    ) -> Completion:
        """Ask the model, and record what the prompt contained. Raises what `core.ports.Model.complete` raises.

        Args:
            prompt: the prompt to send.
            json_reply: True if the reply must be one JSON object.
            tools: the tools that the model may call.
            protocol: how tools are called; None if the choice depends on what is known about the model.
        """
        again = self._asked is not None and self._asked.held == prompt.held
        self._asked = prompt
        self._sent.append(prompt.messages)
        while True:
            asked = await self._with_later(prompt)
            request = self._request(asked, json_reply=json_reply)
            try:
                reply = await self._services.model.complete(replace(request, tools=tuple(tools), protocol=protocol))
                break
            except OwnerSpoke as interrupted:
                self._services.events.emit(Kind.MODEL_INTERRUPTED, str(interrupted))
        record = record_repeat(prompt.record(), asked) if again else asked.record()
        self._services.prompts.append({"call": self.calls, **record})
        self.calls += 1
        self._models.append(reply.model)
        self._saw_held_out |= bool(reply.extra.get(SAW_HELD_OUT))
        self._spent += reply.spent
        return with_answer(reply)

    async def _with_later(self, prompt: Prompt) -> Prompt:
        """Return the prompt, extended by messages that the owner sent since the step began."""
        earlier_messages = self._context.messages
        later = [
            message
            for message in await self._services.read_messages()
            if not earlier_messages or message.id > earlier_messages[-1].id
        ]
        self._heard = max((message.id for message in (*earlier_messages, *later)), default=self._heard)
        return with_later(prompt, later)

    def again(self, first: Prompt, reply: str, complaint: str) -> Prompt:
        """Return the question again, followed by the model's reply and the complaint about it.

        If the same messages were already sent, the model has given the same reply twice. The reply is then left out,
        because the model would copy it again, and the temperature is raised.

        Args:
            first: the question as it was first asked, without later replies and complaints.
            reply: the model's last reply.
            complaint: what is wrong with the reply. A complaint that is too long is cut, with a mark.
        """
        space = max(REPLY_TOKENS // 4, first.limit - first.tokens - 16)
        wrong, _ = clip(complaint, space * 2 // 3, first.gauge)
        shown, _ = clip(reply or "(an empty reply)", min(REPLY_TOKENS, space - first.gauge.tokens(wrong)), first.gauge)
        mine, theirs = Message(role="assistant", text=shown), Message(role="user", text=wrong)
        asked = first.with_messages((*first.messages, mine, theirs))
        if asked.messages not in self._sent:
            return asked
        *before, last = first.messages
        messages = (*before, replace(last, text=f"{last.text.rstrip()}\n\n{wrong}"))
        return replace(first, messages=messages, temperature=round(1 - 0.4 / self.calls, 2))

    async def ask_object(self, first: Prompt, read: Callable[[str], tuple[T, str]]) -> T:
        """Ask for one JSON object, and a few times again while its reader finds a fault in the reply.

        Args:
            first: the question.
            read: returns what it read in a reply, and the fault of the reply; empty if there is none.

        Returns:
            What was read in the last reply.
        """
        prompt = first
        for _ in range(REASKS + 1):
            reply = await self.ask(prompt, json_reply=True)
            answer, fault = read(reply.text)
            if not fault:
                break
            again = f"{fault} Send the one JSON object that was asked for, and nothing else."
            prompt = self.again(first, reply.text, again)
        return answer

    def locate_call(self, seq: int) -> ToolPlace:
        """Return the storage key of a tool call; `seq` is the call's number within the last reply."""
        state = self._state
        return ToolPlace(
            task_id=self._context.task.id, attempt=state.attempt, step_no=state.step_no, call_no=self.calls - 1, seq=seq
        )

    def _request(self, prompt: Prompt, *, json_reply: bool) -> ModelRequest:
        task, state = self._context.task, self._state
        return ModelRequest(
            phase=self._phase,
            messages=prompt.messages,
            temperature=prompt.temperature,
            task_id=task.id,
            attempt=state.attempt,
            step_no=state.step_no,
            call_no=self.calls,
            iteration=state.iteration,
            max_tokens=self._services.settings.reply_tokens,
            json_reply=json_reply,
            escalation=state.escalation,
            kind=kind_of(task.spec),
            heard=self._heard,
            material=Material(context=self._context, state=state, tree=self._services.tree, emit=self._services.events),
        )

    def charge(self, state: AttemptState) -> AttemptState:
        """Return the state with this conversation's cost and models added."""
        models = tuple(dict.fromkeys((*state.models, *self._models)))
        saw = state.saw_held_out or self._saw_held_out
        heard = self._heard if self._phase is Phase.CODING else state.heard
        return replace(state, spent=state.spent + self._spent, models=models, saw_held_out=saw, heard=heard)
