"""The services that a phase works with: ports to everything outside the agent, and the agent's settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from nightshift.agent.symbols import SymbolCache
from nightshift.agent.tools.corpus import CorpusCache
from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.environments import Environment
from nightshift.core.code.tree import Tree
from nightshift.core.dialogue import Completion
from nightshift.core.events import Emitter
from nightshift.core.gauge import Gauge
from nightshift.core.ports import ChangeCheck, Languages, Memory, Model, ServerTools, Shell, Suite, ToolLog
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.remarks import Gravity
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Explore, OwnerMessage

PHASE_SHARES: Mapping[Phase, float] = {
    Phase.CLARIFYING: 0.5,
    Phase.PLANNING: 0.7,
    Phase.CODING: 1.0,
    Phase.REVIEW: 0.8,
    Phase.AUDIT: 0.8,
    Phase.TESTING: 0.5,
    Phase.REFLECTING: 0.7,
}
"""Share of the prompt limit that each phase may use. Only CODING, which writes files, must see all of them whole."""
WINDOW_SHARE = 0.75
"""Share of the model's context that a prompt may use; the rest is for the reply."""
LEAST_TOKENS = 3000
REASKS = 2
"""Number of times that the model is asked again within a step after an unusable reply."""
WHOLE_FILE_LINES = 400
"""Maximum number of lines of a file that `EditFormat.AUTO` asks for whole."""


CriticalLeft = Literal["ask", "wait", "commit"]
ChangeTests = Literal["ask", "allow", "keep"]


class EditFormat(StrEnum):
    """The form in which a model is asked to change files.

    `AUTO` asks for short files as a whole, and for edits of long ones.
    """

    WHOLE = "whole"
    EDIT = "edit"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Settings of the agent: the form of prompts, limits, and when the owner must consent."""

    prompt_tokens: int = 24_000
    """Limit of a prompt, in estimated tokens."""
    fresh_share: float = 0.25
    """Largest share of the prompt for the history of earlier tries. Above it, a fresh context begins."""
    reply_tokens: int | None = None
    """Maximum number of tokens of a reply; None leaves the limit to the model."""
    edit_format: EditFormat = EditFormat.AUTO
    recall_limit: int = 3
    """Maximum number of lessons that an attempt recalls."""
    review_blocks: frozenset[Gravity] = frozenset({Gravity.CRITICAL, Gravity.HIGH})
    """Severities of review findings that send a change back."""
    audit_blocks: frozenset[Gravity] = frozenset({Gravity.CRITICAL, Gravity.HIGH})
    """Severities of audit findings that send a change back."""
    review_rounds: int = 2
    """Number of times that each reader may send a change back within an attempt."""
    critical_left: CriticalLeft = "ask"
    """Treatment of a critical review finding after the last round.

    `wait`: the owner is asked, and nothing is done before the answer. `ask`: the owner is asked, and the change is
    committed if no answer comes in time. `commit`: the change is committed at once.
    """
    read_together: bool = True
    """True if one prompt may serve review and audit; False if each needs a prompt of its own, for example to ask
    different models.
    """
    explore: Explore = Explore.AUTO
    """Whether models use tools: always, never, or when it seems useful (`agent.exploring.is_wanted`)."""
    conversation_tokens: int = 96_000
    """Estimated tokens at which a conversation with tools restarts."""
    explore_steps: int = 40
    """Maximum number of replies with tool calls in a CODING step."""
    change_tests: ChangeTests = "ask"
    """Whether existing tests that contradict the task may be changed: after the owner's consent (`ask`), without it
    (`allow`), or never (`keep`).
    """
    clear_enough: float = 0.5
    """Clarity (0 to 1, `agent.clarifying`) below which a task is first read into a specification."""

    def limit(self, phase: Phase, gauge: Gauge) -> int:
        """Return the maximum number of tokens of a prompt of this phase, for the model that will be asked.

        The result is at least `LEAST_TOKENS`, because a smaller limit would leave no space for the task beside the
        instructions. A model with a smaller context refuses such a prompt with a clear error, which is better than a
        prompt without the task.
        """
        window = self.prompt_tokens if gauge.window is None else int(gauge.window * WINDOW_SHARE)
        return max(LEAST_TOKENS, int(min(self.prompt_tokens, window) * PHASE_SHARES.get(phase, 1.0)))


async def _nothing() -> tuple[OwnerMessage, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The ports that a phase may use; it has no other access to the outside."""

    model: Model
    suite: Suite
    memory: Memory
    tree: Tree
    """The tree of the base commit."""
    events: Emitter
    """Emits events. While a phase runs, each event is marked with the task, attempt, try and phase."""
    clock: Clock = utc_now
    settings: AgentSettings = field(default_factory=AgentSettings)
    change_checks: Sequence[ChangeCheck] = ()
    """The checks of a change; all of them run before anything of the change executes."""
    symbol_cache: SymbolCache = field(default_factory=SymbolCache)
    """Cached tags (names and words) of files, by which a repository's files are ranked."""
    gauge: Callable[[Phase, int], Gauge] = lambda _phase, _escalation: Gauge()
    """Returns the token gauge of the model that a phase will ask, given the number of times that the attempt was stuck.
    """
    count_form: Callable[[Completion, bool], object] = lambda _reply, _is_usable: None
    """Receives each CODING reply, and True if it had the requested form."""
    prompts: list[Mapping[str, Any]] = field(default_factory=list)
    """Collects a record of each prompt that is sent."""
    corpora: CorpusCache = field(default_factory=CorpusCache)
    """The texts of commits' files, cached for searches."""
    wrote: Callable[[str], bool] = lambda _path: False
    """Checks, for the full path of a file of the base, whether the agent made all commits that touched the file; reads
    git.
    """
    environment: Callable[[Tree], Awaitable[Environment]] | None = None
    """Returns the environment of a tree, and makes it if necessary. Called when a plan has chosen a part of the
    workspace.
    """
    languages: Languages | None = None
    """Reads code and tests. If None, no tests are written, and existing ones stay unchanged."""
    shell: Shell | None = None
    """Runs commands for a model. If None, no tool can run a command."""
    read_messages: Callable[[], Awaitable[tuple[OwnerMessage, ...]]] = _nothing
    """Returns the owner's messages to the task so far, oldest first."""
    server_tools: ServerTools | None = None
    """Tools of servers that the owner configured; None if there are none."""
    tool_log: ToolLog | None = None
    """The store of tool calls. If None, a resumed step repeats its calls."""


Runner = Callable[[AttemptContext, AttemptState, AgentServices], Awaitable[Step]]
"""The function that runs a phase: it gets the state and returns a step. The machine sets the state's `phase` and
`step_no`.
"""
