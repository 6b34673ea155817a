"""What a phase is handed: the ports of the world around it, and the settings of this room."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agent.atlas import Shelf
from core.clock import Clock, utc_now
from core.ports import Gate, Memory, Model, Sink, Suite
from core.remarks import Gravity
from core.tree import Tree
from core.work import Case, Step, Work


class EditFormat(StrEnum):
    """How a model is asked to change files. `AUTO` asks for whole files, and for edits of long ones."""

    WHOLE = "whole"
    EDIT = "edit"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How the agent prompts.

    `prompt_tokens` bounds a prompt, by estimate; `reply_tokens` None leaves a reply's length to the model. `reasks` is
    how often a reply that cannot be used is asked for again within a step. Findings of the gravities in `review_blocks`
    and `audit_blocks` send a change back, those of a review `review_rounds` times in an attempt at most. A task that is
    less clear than `clear_enough` (0 to 1, `agent.clarity`) is put in other words first.
    """

    prompt_tokens: int = 24_000
    reply_tokens: int | None = None
    edit_format: EditFormat = EditFormat.AUTO
    whole_file_lines: int = 400
    recall_limit: int = 3
    reasks: int = 2
    review_blocks: frozenset[Gravity] = frozenset({Gravity.CRITICAL, Gravity.HIGH})
    audit_blocks: frozenset[Gravity] = frozenset({Gravity.CRITICAL, Gravity.HIGH})
    review_rounds: int = 2
    clear_enough: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The ports that a phase may use; it has no other way to the world. Every gate is asked before anything runs.

    `shelf` keeps what was read of files for maps of their repositories.
    """

    model: Model
    suite: Suite
    memory: Memory
    tree: Tree
    emit: Sink
    clock: Clock = utc_now
    settings: AgentSettings = field(default_factory=AgentSettings)
    gates: Sequence[Gate] = ()
    shelf: Shelf = field(default_factory=Shelf)


Runner = Callable[[Case, Work, Tools], Awaitable[Step]]
"""A phase: takes the case file, returns a step. `Work.phase` and `Work.step_no` are the machine's to set."""
