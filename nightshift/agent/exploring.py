"""Whether a model works with tools or answers at once, and which tools there are.

Given everything that matters in one long prompt, models solve less than in short steps in which they look around
(arXiv 2602.16069); for a small repository one prompt is enough, and cheaper. A model with a small window has no room
for a conversation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nightshift.agent.dialogue import Dialogue
from nightshift.agent.draft import Draft
from nightshift.agent.explore import Explorer
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.prompt.context import Surroundings
from nightshift.agent.services import AgentServices
from nightshift.agent.tools import specs
from nightshift.agent.tools.toolbox import Toolbox
from nightshift.agent.view import View
from nightshift.core.dialogue import Completion
from nightshift.core.events import Kind, Level
from nightshift.core.gauge import Gauge
from nightshift.core.ports import OpenTools
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Change, Explore
from nightshift.core.tools import ToolSpec

LEAST_WINDOW = 16_000
"""Tokens of context below which a model gets no tools unless the owner says so."""
EASY_FILES, EASY_BYTES = 60, 24_000
"""A repository that is no larger is shown at once."""
EXPLORING = frozenset({Phase.CLARIFYING, Phase.PLANNING, Phase.CODING, Phase.TESTING, Phase.REFLECTING})
"""The phases that are shown little of a large repository: all may look around but CLARIFYING, which reads words; only
CODING changes anything."""
READ_STEPS = 8
"""How many replies with calls a phase that only reads takes at most."""


def is_wanted(
    context: AttemptContext, state: AttemptState, services: AgentServices, gauge: Gauge, near: Surroundings
) -> bool:
    """Tell whether a phase of `EXPLORING` works with tools. Reads a small repository: not for the loop.

    Args:
        context: the task.
        state: the attempt.
        services: of the phase.
        gauge: of the model that will be asked.
        near: what of the repository is near to the task.
    """
    if gauge.own_tools:
        return False
    mode = context.task.spec.explore or services.settings.explore
    if mode is not Explore.AUTO:
        return mode is Explore.ON
    if gauge.window is not None and gauge.window < LEAST_WINDOW:
        return False
    if context.task.spec.mcp:
        return True
    return not _is_easy(context, state, services, near)


def _is_easy(context: AttemptContext, state: AttemptState, services: AgentServices, near: Surroundings) -> bool:
    """Tell whether all that could matter fits easily into one prompt, and did not get stuck that way already."""
    if state.escalation:
        return False
    if len(services.tree.entries()) <= EASY_FILES:
        return len(services.corpora.get(services.tree).buffer) <= EASY_BYTES
    if context.sees_all(state):
        return False
    view = View(services.tree, state.change)
    return sum(len(view.text(path) or "") for path in near.matter) <= EASY_BYTES


def tools_for(services: AgentServices) -> tuple[ToolSpec, ...]:
    """The tools of a step that writes; those that execute only where something can."""
    runs = services.shell is not None
    return tuple(spec for spec in specs.WORKING if runs or spec not in (specs.RUN, specs.RUN_TESTS))


@asynccontextmanager
async def server_tools(context: AttemptContext, services: AgentServices) -> AsyncIterator[OpenTools | None]:
    """The tools of servers that the task may use, for a step that writes; what judges a change never has them."""
    allowed = context.task.spec.mcp
    if not allowed or services.server_tools is None:
        yield None
        return
    async with services.server_tools.opened(allowed) as open_tools:
        for name, why in open_tools.faults.items():
            text = f"{name} cannot be used: {why}"
            services.events.emit(Kind.TOOL_SERVER_FAILED, text, level=Level.WARNING)
        yield open_tools


async def answer(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    dialogue: Dialogue,
    prompt: Prompt,
    *,
    json_reply: bool = False,
    change: Change | None = None,
) -> Completion:
    """The answer to a phase's prompt, after the model has looked around where that is wanted; raises as `ask` does.

    Args:
        context: the task.
        state: the attempt.
        services: of the phase.
        dialogue: the phase's.
        prompt: its question.
        json_reply: whether the answer is to be one JSON object.
        change: what it may see of the change; None for all of it.
    """
    if not prompt.explores:
        return await dialogue.ask(prompt, json_reply=json_reply)
    seen = state.change if change is None else change
    draft = Draft(services.tree, seen, context.task.spec, context.tests_beside(state))
    toolbox = Toolbox(specs.READING, draft, context, state, services, prompt.gauge)
    end = await Explorer(dialogue, toolbox, services, steps=READ_STEPS, answers=True).explore(prompt)
    return end.final or await dialogue.ask(prompt, json_reply=json_reply)
