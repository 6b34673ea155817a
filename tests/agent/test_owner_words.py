"""Messages that the owner sends during a task appear in every later request and are never ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from nightshift.agent.owner_words import LATER, TITLE, UNHEARD, with_later
from nightshift.agent.prompt.budget import compose, fix
from nightshift.agent.services import AgentServices
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.errors import OwnerSpoke
from nightshift.core.events import Kind
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import OwnerMessage
from tests.support.agent_parts import RIGHT, TESTS, WRONG, Bench, ScriptedModel, block, case_for, model_for

SUMMED = block("add.py", "def add(a, b):\n    return sum((a, b))\n")
P = Phase


def message(number: int, text: str) -> OwnerMessage:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return OwnerMessage(id=number, task_id=7, attempt=1, text=text, interrupts=True, at=at)


@dataclass
class Spoken(Bench):
    """A bench whose owner can send messages to the running task."""

    owner_messages: list[OwnerMessage] = field(default_factory=list)

    @property
    def tools(self) -> AgentServices:
        async def read_messages() -> tuple[OwnerMessage, ...]:
            return tuple(self.owner_messages)

        return replace(super().tools, read_messages=read_messages)

    def say(self, text: str) -> None:
        self.owner_messages.append(message(len(self.owner_messages) + 1, text))


class Interrupted(ScriptedModel):
    """A model whose first request in a phase is interrupted by a message from the owner, as in the gateway."""

    def __init__(self, model: ScriptedModel, phase: Phase) -> None:
        super().__init__(model.replies)
        self.phase, self.spoken = phase, Spoken(self)

    async def complete(self, request: ModelRequest) -> Completion:
        if request.phase is self.phase and not self.spoken.owner_messages:
            self.requests.append(request)
            self.spoken.say("Use sum().")
            raise OwnerSpoke("CODING is asked again")
        return await super().complete(request)


async def test_a_request_that_was_interrupted_is_made_again_with_the_words_at_the_same_place() -> None:
    model = Interrupted(model_for(SUMMED), P.CODING)
    work = await model.spoken.run(case_for(tests=TESTS))
    assert work.phase is P.COMMIT
    assert model.phases == [P.PLANNING, P.CODING, P.CODING]
    first, again = model.requests[1:]
    assert (first.reply_key, first.heard) == (again.reply_key, 0)
    assert again.heard == work.heard == 1
    assert LATER not in model.prompt(1)
    assert "Use sum()." in model.prompt(2)
    assert model.prompt(2).index(LATER) > model.prompt(2).index("## Now"), "at the end, where it is heeded"
    assert Kind.MODEL_INTERRUPTED in [event.kind for event in model.spoken.events]
    (coding,) = [step for step in model.spoken.steps if step.phase is P.CODING]
    assert LATER in str(coding.data["prompts"])


async def test_what_was_said_before_stands_in_a_part_of_its_own_of_every_request() -> None:
    spoken = Spoken(model_for(WRONG, RIGHT, REVIEW=['{"findings": []}'] * 2, AUDIT=['{"findings": []}'] * 2))
    spoken.say("Use no imports.")
    spoken.say("Write it short.")
    work = await spoken.run(case_for(tests=TESTS, review=True, audit=True))
    assert work.phase is P.COMMIT
    assert {P.PLANNING, P.CODING, P.REVIEW, P.REFLECTING} <= set(spoken.model.phases)
    for at in range(len(spoken.model.requests)):
        prompt = spoken.model.prompt(at)
        assert prompt.count(f"## {TITLE}") == 1
        assert "- Use no imports.\n- Write it short." in prompt
        assert LATER not in prompt
    assert all(request.heard == 2 for request in spoken.model.requests)


async def test_a_change_that_passed_is_not_committed_over_what_was_said_meanwhile() -> None:
    spoken = Spoken(model_for(RIGHT, SUMMED))
    judge = spoken.suite.judge

    async def speak(job: object) -> object:
        if not spoken.owner_messages:
            spoken.say("Use sum().")
        return await judge(job)

    spoken.suite.judge = speak
    work = await spoken.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert work.change == {"add.py": "def add(a, b):\n    return sum((a, b))\n"}
    assert spoken.model.phases == [P.PLANNING, P.CODING, P.CODING], "no model is asked why it was sent back"
    assert spoken.steps[2].note == f"{UNHEARD} Use sum()."
    assert spoken.model.prompt(2).count("Use sum().") >= 1


@pytest.mark.parametrize(("roles", "count"), [(["system", "user"], 2), (["system", "user", "assistant", "tool"], 5)])
def test_later_words_follow_the_last_message_whoever_s_it_is(roles: Sequence[str], count: int) -> None:
    prompt = compose(Message(role="system", text="s"), [fix("Now", "Go.", rank=0)], 5000, Gauge())
    messages = [Message(role=role, text=role) for role in roles]  # type: ignore[arg-type]
    later_prompt = with_later(prompt.with_messages(messages), [message(1, "Use csv.")])
    assert len(later_prompt.messages) == count
    assert (later_prompt.messages[-1].role, later_prompt.messages[:-1]) == ("user", tuple(messages[: count - 1]))
    assert "- Use csv." in later_prompt.messages[-1].text
    assert later_prompt.held[-1][0] == LATER
    assert with_later(prompt, []) is prompt
