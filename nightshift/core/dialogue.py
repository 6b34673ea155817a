"""Requests to models and their replies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from nightshift.core.built_in import BUILT_IN
from nightshift.core.tasks.benchmarked import Benchmarked
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Kind, Spent
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.core.tools import ToolCall, ToolSpec

if TYPE_CHECKING:
    from nightshift.core.code.tree import Tree
    from nightshift.core.events import Sink
    from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState

SAW_HELD_OUT = "saw_held_out"
"""In `Completion.extra`: whoever answered had seen what is held out of the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A stretch of a model's thinking; the model that wrote it gets it back, and no other.

    `signature` is the vendor's proof or the encrypted form, `id` and `details` are its own marks. `place` counts the
    parts of the reply that stand before it: its text is one, and each call.
    """

    text: str
    signature: str = ""
    id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a dialogue.

    An assistant's turn may carry native `tool_calls`; each is answered by a turn of the role `tool` with its `call_id`.
    It may carry `thoughts` too, of the model that `author` names as `backend=model`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    thoughts: tuple[Thought, ...] = ()
    author: str = ""


class Thinking(StrEnum):
    """How much a model is to think before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Finish(StrEnum):
    """Why a model stopped writing; only after STOP and TOOL is the reply complete."""

    STOP = "stop"
    LENGTH = "length"
    TOOL = "tool"
    FILTER = "filter"
    CUT = "cut"
    """Something else ended it: the server, a gateway, or a word that nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Code behind a request, for a backend that works on the code itself and not on words about it.

    `emit` takes events about its work, which become events of the attempt.
    """

    context: AttemptContext
    state: AttemptState
    tree: Tree
    emit: Sink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model.

    The place (`task_id`, `attempt`, `step_no`, `call_no`) identifies the request: a step that is resumed after a
    crash asks at the same place and gets the stored reply. `escalation` counts how often the loop was stuck: 0 asks
    the usual model, 1 and more a higher temperature or the next model. `material` is never sent anywhere. `within_s`
    is for a backend that searches: how long it may, where others wait to be asked after it; None is as long as usual.
    `kind` is what the task builds, by which models are chosen and remembered. `wanted` is the backend, the model or
    `backend=model` that the owner wants to be asked first for this task, whatever the settings say. `tools` may be
    called in the reply; `protocol` says how, None leaves that to what is known of the model that answers.
    `thinking` is how much the model is to think; None leaves that to it.
    `cut_at` is where the stream is cut, in tokens by our own count: what was reserved for it.
    `heard` is the newest message of the task's owner that it carries. `benchmarked` is what models did in a benchmark
    of the task's repository, under the settings of the task.
    """

    phase: Phase
    messages: tuple[Message, ...]
    task_id: int | None = None
    attempt: int = 1
    step_no: int = 0
    call_no: int = 0
    iteration: int = 0
    max_tokens: int | None = None
    cut_at: int | None = None
    temperature: float | None = None
    json_reply: bool = False
    thinking: Thinking | None = None
    escalation: int = 0
    material: Material | None = field(default=None, repr=False, compare=False)
    within_s: float | None = None
    kind: Kind | None = None
    wanted: str = ""
    tools: tuple[ToolSpec, ...] = ()
    protocol: ToolProtocol | None = None
    heard: int = 0
    benchmarked: tuple[Benchmarked, ...] = field(default=(), repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of what is sent."""
        turns = [[m.role, m.text, *([call.name, dict(call.arguments)] for call in m.tool_calls)] for m in self.messages]
        text = json.dumps([*turns, *([tool.name, tool.schema] for tool in self.tools)], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def reply_key(self) -> tuple[int, int, int, int] | None:
        """The durable key of the reply, or None for a request outside a task."""
        return None if self.task_id is None else (self.task_id, self.attempt, self.step_no, self.call_no)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One reply. `cost_usd` is None when the price of the model is not known; it is never guessed.

    In `extra`, `saved` names the backend whose call this reply made needless. `protocol` is how the tools of the
    request were offered; None where there were none. `author` is who was asked, as `backend=model`.
    """

    text: str
    backend: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    latency_s: float = 0.0
    finish: Finish = Finish.STOP
    tool_calls: tuple[ToolCall, ...] = ()
    protocol: ToolProtocol | None = None
    replayed: bool = False
    thoughts: tuple[Thought, ...] = ()
    author: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        """Whether the model did not end it by itself, so that more may have been to come."""
        return self.finish not in {Finish.STOP, Finish.TOOL}

    @property
    def spent(self) -> Spent:
        """Use of models by this reply; the built-in engine takes time, and is no model call."""
        return Spent(
            model_calls=int(self.backend != BUILT_IN),
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd or 0.0,
            model_s=self.latency_s,
            unpriced=int(self.cost_usd is None and self.backend != BUILT_IN),
        )
