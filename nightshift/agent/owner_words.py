"""Shows the owner's messages to a running task in prompts, and prevents a commit that ignores them.

Messages from before a step have their own section in each of the step's prompts. A message that arrives during a step
is appended to the step's next request and to all later ones. The model heeds a message most at the end of a request,
and the earlier part of the conversation stays valid in the provider's cache. A message counts as an instruction of the
owner, like the task itself, and not as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nightshift.agent.prompt.budget import Prompt, Section, Shown
from nightshift.agent.prompt.text import quote
from nightshift.agent.services import AgentServices
from nightshift.core.dialogue import Message
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import AttemptContext, Step
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import OwnerMessage

TITLE = "What the owner said since"
LATER = "What the owner said just now"
UNHEARD = "The tests pass, but the owner said something that the code was written without."
_HOLDS = "He said this while you worked on the task, oldest first. It holds where it differs from the task or the plan."
_JUST = "He says this while you work. It holds where it differs from the task, the plan or what was said before."
_FRAME = 60


def the_messages(messages: Sequence[OwnerMessage], gauge: Gauge) -> Section:
    """Return the prompt section with the owner's messages from before the step; only the newest ones if not all fit."""
    return Section(title=TITLE, fill=lambda space: _show_messages(messages, space, gauge), share=0.25, rank=1)


def _show_messages(messages: Sequence[OwnerMessage], space: int, gauge: Gauge) -> Shown:
    lines, cut = list[str](), False
    space -= gauge.tokens(_HOLDS) + _FRAME
    for message in reversed(messages):
        line = f"- {message.text}"
        space -= gauge.tokens(line + "\n")
        if space < 0 and lines:
            cut = True
            break
        lines.insert(0, line)
    return Shown(text=_quote_lines(_HOLDS, lines), cut=cut) if lines else Shown()


def _quote_lines(head: str, lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return f"{head}\n\n{quote('owner', text)}"


def with_later(prompt: Prompt, later_messages: Sequence[OwnerMessage]) -> Prompt:
    """Append the owner's messages that arrived since the step began to a prompt."""
    if not later_messages:
        return prompt
    text = f"## {LATER}\n\n{_quote_lines(_JUST, [f'- {message.text}' for message in later_messages])}"
    last = prompt.messages[-1]
    messages = (
        (*prompt.messages[:-1], replace(last, text=f"{last.text.rstrip()}\n\n{text}"))
        if last.role == "user"
        else (*prompt.messages, Message(role="user", text=text))
    )
    return replace(prompt, messages=messages, held=(*prompt.held, (LATER, Shown(), prompt.gauge.tokens(text))))


async def return_to_owner(context: AttemptContext, step: Step, services: AgentServices) -> Step:
    """Send a passed change back to CODING if it was written without the owner's latest messages."""
    if (step.phase, step.outcome) != (Phase.TESTING, Outcome.OK) or step.state.iteration >= context.iterations:
        return step
    unheard = [message for message in await services.read_messages() if message.id > step.state.heard]
    if not unheard:
        return step
    lines = "\n".join(f"- {message.text}" for message in unheard)
    state = replace(step.state, feedback=f"{UNHEARD}\n\n{lines}", verdict=None)
    return replace(step, outcome=Outcome.REDO, state=state, note=f"{UNHEARD} {unheard[-1].text}"[:300])
