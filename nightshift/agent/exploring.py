"""Decides whether a model works with tools or answers at once, and which tools it gets.

Models solve fewer tasks from one long prompt with all relevant files than in short steps in which they explore the
repository (arXiv 2602.16069). For a small repository one prompt is enough, and cheaper. A model with a small window has
no room for a conversation.
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

LEAST_WINDOW = 16_000
"""Context window in tokens below which a model gets no tools, unless the owner switches them on."""
EASY_FILES, EASY_BYTES = 60, 24_000
"""Number of files, and of bytes of text, up to which a repository is shown in one prompt."""
EXPLORING = frozenset({Phase.CLARIFYING, Phase.PLANNING, Phase.CODING, Phase.TESTING, Phase.REFLECTING})
"""Phases that see only a part of a large repository.

All of them except CLARIFYING may explore the rest with tools. Only CODING may change files.
"""
READ_STEPS = 8
"""Maximum number of replies with calls in a phase that only reads."""


def is_wanted(
    context: AttemptContext, state: AttemptState, services: AgentServices, gauge: Gauge, near: Surroundings
) -> bool:
    """Check whether a phase of `EXPLORING` works with tools.

    May read all files of a small repository, so do not call it on the event loop.

    Args:
        context: the attempt's context with the task.
        state: the attempt's state.
        services: the phase's services.
        gauge: the token gauge of the model that will be asked.
        near: the repository's files that are most related to the task.
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
    """Check whether all relevant files fit easily into one prompt; False if the attempt was stuck before."""
    if state.escalation:
        return False
    if len(services.tree.entries()) <= EASY_FILES:
        return len(services.corpora.get(services.tree).buffer) <= EASY_BYTES
    if context.sees_all(state):
        return False
    view = View(services.tree, state.change)
    return sum(len(view.text(path) or "") for path in near.matter) <= EASY_BYTES


@asynccontextmanager
async def server_tools(context: AttemptContext, services: AgentServices) -> AsyncIterator[OpenTools | None]:
    """Open the configured servers' tools that the task may use, for a step that changes files.

    Phases that judge never get these tools.
    """
    allowed = context.task.spec.mcp
    if not allowed or services.server_tools is None:
        yield None
        return
    async with services.server_tools.opened(allowed) as open_tools:
        for name, why in open_tools.faults.items():
            text = f"the server or tool {name} cannot be used: {why}"
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
    """Return the answer to a phase's prompt; if the prompt asks for exploring, the model may first use reading tools.

    Raises what `Dialogue.ask` raises.

    Args:
        context: the attempt's context with the task.
        state: the attempt's state.
        services: the phase's services.
        dialogue: the phase's conversation.
        prompt: the phase's question.
        json_reply: True if the answer must be one JSON object.
        change: the part of the change that the model may see; None for the whole change.
    """
    if not prompt.explores:
        return await dialogue.ask(prompt, json_reply=json_reply)
    seen = state.change if change is None else change
    draft = Draft(services.tree, seen, context.task.spec, context.tests_beside(state))
    toolbox = Toolbox(specs.READING, draft, context, state, services, prompt.gauge)
    end = await Explorer(dialogue, toolbox, services, steps=READ_STEPS, answers=True).explore(prompt)
    return end.final or await dialogue.ask(prompt, json_reply=json_reply)
