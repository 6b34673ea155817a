"""Whether a model works with tools or answers at once, and which tools there are.

Given everything that matters in one long prompt, models solve less than in short steps in which they look around
(arXiv 2602.16069); for a small repository one prompt is enough, and cheaper. A model with a small window has no room
for a conversation.
"""

from __future__ import annotations

import asyncio

from agent.dialogue import Dialogue
from agent.draft import Draft
from agent.explore import Explorer
from agent.prompt.budget import Prompt
from agent.prompt.context import surroundings
from agent.services import AgentServices
from agent.tools import specs
from agent.tools.toolbox import Toolbox
from agent.view import View
from core.attempt_state import AttemptContext, AttemptState
from core.dialogue import Completion
from core.states import Phase
from core.tasks import Change, Explore
from core.tools import ToolSpec

LEAST_WINDOW = 16_000
"""Tokens of context below which a model gets no tools unless the owner says so."""
EASY_FILES, EASY_BYTES = 60, 24_000
"""A repository that is no larger is shown at once."""
EXPLORING = frozenset({Phase.PLANNING, Phase.CODING, Phase.TESTING, Phase.REFLECTING})
"""The phases that may work with tools; all but CODING read only."""
READ_STEPS = 8
"""How many replies with calls a phase that only reads takes at most."""


def is_wanted(context: AttemptContext, state: AttemptState, services: AgentServices, phase: Phase) -> bool:
    """Tell whether this phase works with tools. Reads the repository the first time: not for the loop."""
    mode = context.task.spec.explore or services.settings.explore
    if mode is not Explore.AUTO:
        return mode is Explore.ON
    window = services.gauge(phase, state.escalation).window
    if window is not None and window < LEAST_WINDOW:
        return False
    return not _is_easy(context, state, services)


def _is_easy(context: AttemptContext, state: AttemptState, services: AgentServices) -> bool:
    """Tell whether all that could matter fits easily into one prompt, and did not get stuck that way already."""
    if state.escalation:
        return False
    if len(services.tree.entries()) <= EASY_FILES:
        return len(services.corpora.get(services.tree).buffer) <= EASY_BYTES
    if context.whole_tree:
        return False
    view = View(services.tree, state.change)
    matter = surroundings(context, state, view, services.symbol_cache).matter
    return sum(len(view.text(path) or "") for path in matter) <= EASY_BYTES


def tools_for(services: AgentServices) -> tuple[ToolSpec, ...]:
    """The tools of a step that writes; those that execute only where something can."""
    runs = services.shell is not None
    return tuple(spec for spec in specs.WORKING if runs or spec not in (specs.RUN, specs.RUN_TESTS))


async def answered(
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
    if not await asyncio.to_thread(is_wanted, context, state, services, dialogue.phase):
        return await dialogue.ask(prompt, json_reply=json_reply)
    seen, tests = state.change if change is None else change, context.shown_tests or state.own_tests
    draft = Draft(services.tree, seen, context.task.spec, tests)
    toolbox = Toolbox(specs.READING, draft, context, state, services, prompt.gauge)
    end = await Explorer(dialogue, toolbox, services, steps=READ_STEPS, answers=True).explore(prompt)
    return end.final or await dialogue.ask(prompt, json_reply=json_reply)
