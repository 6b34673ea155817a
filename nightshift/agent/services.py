"""The services of a phase: the ports of the world around it, and the settings of the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
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
from nightshift.core.tasks.messages import OwnerMessage
from nightshift.core.tasks.remarks import Gravity
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Explore

PHASE_SHARES: Mapping[Phase, float] = MappingProxyType(
    {
        Phase.CLARIFYING: 0.5,
        Phase.PLANNING: 0.7,
        Phase.CODING: 1.0,
        Phase.REVIEW: 0.8,
        Phase.AUDIT: 0.8,
        Phase.TESTING: 0.5,
        Phase.REFLECTING: 0.7,
    }
)
"""How much of a prompt's length each phase may use: only who writes the files has to see all of them whole."""
WINDOW_SHARE = 0.75
"""A prompt leaves a quarter of the model's context to the reply."""
LEAST_TOKENS = 3000


CriticalLeft = Literal["ask", "wait", "commit"]
ChangeTests = Literal["ask", "allow", "keep"]


class EditFormat(StrEnum):
    """How a model is asked to change files. `AUTO` asks for whole files, and for edits of long ones."""

    WHOLE = "whole"
    EDIT = "edit"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How the agent prompts."""

    prompt_tokens: int = 24_000
    """The most tokens of a prompt, by estimate."""
    phase_shares: Mapping[Phase, float] = field(default_factory=lambda: PHASE_SHARES)
    """How much of that each phase may use."""
    fresh_share: float = 0.25
    """How much of it the history of earlier tries may take before a fresh context begins."""
    reply_tokens: int | None = None
    """The most tokens of a reply; None leaves it to the model."""
    edit_format: EditFormat = EditFormat.AUTO
    whole_file_lines: int = 400
    """The longest file that `EditFormat.AUTO` asks for whole, in lines."""
    recall_limit: int = 3
    """How many lessons an attempt recalls at most."""
    reasks: int = 2
    """How often a reply that cannot be used is asked for again within a step."""
    review_blocks: frozenset[Gravity] = frozenset({Gravity.CRITICAL, Gravity.HIGH})
    """Findings of a review that send a change back."""
    audit_blocks: frozenset[Gravity] = frozenset({Gravity.CRITICAL, Gravity.HIGH})
    """Findings of an audit that send a change back."""
    review_rounds: int = 2
    """How often each reader may send a change back within an attempt."""
    critical_left: CriticalLeft = "ask"
    """The rule for a critical finding of a review after its rounds: the owner is asked and nothing is done before he
    answers (`wait`), he is asked and it is committed where he does not answer in time (`ask`), or at once (`commit`).
    """
    read_together: bool = True
    """Whether one question may serve review and audit; not where they are to be asked of different models."""
    explore: Explore = Explore.AUTO
    """Whether models use tools (`agent.exploring.is_wanted`)."""
    conversation_tokens: int = 96_000
    """How long a conversation with tools may grow, by estimate."""
    explore_steps: int = 40
    """How many replies with tool calls a CODING step takes at most."""
    change_tests: ChangeTests = "ask"
    """Consent to a change of an existing test that the task contradicts: the owner's, nobody's (`allow`), or it stays
    as it is (`keep`)."""
    clear_enough: float = 0.5
    """A task that is less clear than this (0 to 1, `agent.clarifying`) is put in other words first."""

    def limit(self, phase: Phase, gauge: Gauge) -> int:
        """The most tokens that a prompt of this phase may have, for the model that will be asked.

        With less than `LEAST_TOKENS` the instructions would leave no room for the task; a model whose context is that
        small refuses the prompt with a clear word, which is better than to be asked without it.
        """
        window = self.prompt_tokens if gauge.window is None else int(gauge.window * WINDOW_SHARE)
        return max(LEAST_TOKENS, int(min(self.prompt_tokens, window) * self.phase_shares.get(phase, 1.0)))


async def _nothing() -> tuple[OwnerMessage, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The ports that a phase may use; it has no other way to the world."""

    model: Model
    suite: Suite
    memory: Memory
    tree: Tree
    """The base commit of the change."""
    events: Emitter
    """Knows task, attempt, try and phase while a phase runs."""
    clock: Clock = utc_now
    settings: AgentSettings = field(default_factory=AgentSettings)
    change_checks: Sequence[ChangeCheck] = ()
    """The checks of a change; all of them are asked before anything of it runs."""
    symbol_cache: SymbolCache = field(default_factory=SymbolCache)
    """The facts of files that were read, for maps of their repositories."""
    gauge: Callable[[Phase, int], Gauge] = lambda _phase, _escalation: Gauge()
    """How long texts are for the model that a phase will ask, by how often the loop was stuck."""
    count_form: Callable[[Completion, bool], object] = lambda _reply, _is_usable: None
    """Takes each answer of CODING, and whether it had the form that was asked for."""
    prompts: list[Mapping[str, Any]] = field(default_factory=list)
    """Takes a record of each prompt that is sent."""
    corpora: CorpusCache = field(default_factory=CorpusCache)
    wrote: Callable[[str], bool] = lambda _path: False
    """Tells whether all commits that touched a file of the base are the agent's, by its full path; reads git."""
    """The texts of commits, for searches."""
    environment: Callable[[Tree], Awaitable[Environment]] | None = None
    """Finds and makes the environment of a part of the workspace that a plan chose."""
    languages: Languages | None = None
    """Reads code and tests; without it no tests are written, and existing ones stay as they are."""
    shell: Shell | None = None
    """Runs commands of the model's; without it no tool does."""
    read_messages: Callable[[], Awaitable[tuple[OwnerMessage, ...]]] = _nothing
    """The messages of the task's owner so far, oldest first."""
    server_tools: ServerTools | None = None
    """Tools of servers that the owner configured; without it there are none."""
    tool_log: ToolLog | None = None
    """The store of tool calls; without it a resumed step calls again."""


Runner = Callable[[AttemptContext, AttemptState, AgentServices], Awaitable[Step]]
"""A phase: takes the state, returns a step. The machine sets `phase` and `step_no` of the state."""
