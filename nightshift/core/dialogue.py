"""Requests to models and their replies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from nightshift.core.built_in import BUILT_IN
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Kind, Spent
from nightshift.core.tools import ToolCall, ToolProtocol, ToolSpec

if TYPE_CHECKING:
    from nightshift.core.code.tree import Tree
    from nightshift.core.events import Sink
    from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState


SAW_HELD_OUT = "saw_held_out"
"""Key of `Completion.extra`: True if the author of the reply had seen the held-out test cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A section of a model's thinking; it is sent back only to the model that wrote it.

    `signature` is the vendor's proof or the encrypted form; `id` and `details` are further data of the vendor. `place`
    is the number of parts of the reply that come before the section. The text counts as one part, and so does each tool
    call.
    """

    text: str
    signature: str = ""
    id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a dialogue.

    An assistant's message may contain native `tool_calls`; each call is answered by a message of the role `tool` with
    its `call_id`. An assistant's message may also contain `thoughts` of the model that `author` names as
    `backend=model`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    thoughts: tuple[Thought, ...] = ()
    author: str = ""


class Thinking(StrEnum):
    """How much a model should think before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Finish(StrEnum):
    """The reason why a model stopped writing. The reply is complete only after STOP and TOOL."""

    STOP = "stop"
    LENGTH = "length"
    TOOL = "tool"
    FILTER = "filter"
    CUT = "cut"
    """The reply was not ended by the model itself, but by the server, by a gateway, or for an unknown reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The code that a request is about, for a backend that works on the code itself instead of on a prompt.

    `emit` accepts events about the backend's work, which become events of the attempt.
    """

    context: AttemptContext
    state: AttemptState
    tree: Tree
    emit: Sink | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to a model.

    Attributes:
        phase: The phase of the attempt that makes the request.
        messages: The dialogue so far.
        task_id: With `attempt`, `step_no` and `call_no`, identifies the request. A step that is resumed after a crash
            repeats the request with the same numbers and gets the stored reply.
        max_tokens: The maximum length of the reply, in tokens.
        cut_at: The position where the stream is cut, in tokens by our own count. This is the number of tokens reserved
            for the reply.
        json_reply: Whether the reply must be JSON.
        thinking: How much the model is to think; None lets the model decide.
        escalation: How often the loop was stuck. 0 asks the usual model; 1 or more raises the temperature or asks the
            next model.
        material: The code that the request is about; it is never sent anywhere.
        within_s: Search time in seconds for the built-in engine, if another backend can be asked after it; None means
            the engine's usual time.
        kind: The kind of the task, by which models are chosen and their results are recorded.
        wanted: The backend, the model or `backend=model` that is asked first for this task at the owner's wish. It
            overrides the settings.
        tools: The tools that the reply may call.
        protocol: How tools are called; None chooses by what is known about the answering model.
        heard: The id of the newest message of the task's owner that the request contains; 0 if it contains none.
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

    @property
    def digest(self) -> str:
        """SHA-256 of the content that is sent to the model."""
        turns = [[m.role, m.text, *([call.name, dict(call.arguments)] for call in m.tool_calls)] for m in self.messages]
        text = json.dumps([*turns, *([tool.name, tool.schema] for tool in self.tools)], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def reply_key(self) -> tuple[int, int, int, int] | None:
        """The key under which the reply is stored; None for a request outside a task."""
        return None if self.task_id is None else (self.task_id, self.attempt, self.step_no, self.call_no)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One reply of a model.

    `cost_usd` is None if the price of the model is unknown; it is never guessed. The entry `saved` in `extra` names the
    backend that would otherwise have been called. `protocol` says how the request offered tools; None if it offered
    none. `author` is the model that was asked, as `backend=model`.
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
        """True if the model did not end the reply itself, so that text may be missing."""
        return self.finish not in {Finish.STOP, Finish.TOOL}

    @property
    def spent(self) -> Spent:
        """The model use of this reply. The built-in engine takes time, but does not count as a model call."""
        return Spent(
            model_calls=int(self.backend != BUILT_IN),
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd or 0.0,
            model_s=self.latency_s,
            unpriced=int(self.cost_usd is None and self.backend != BUILT_IN),
        )


_BACKTICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


def file_block(path: str, text: str | None) -> str:
    """Return a fenced block with the file's path and whole text, or the removal of the file if the text is None."""
    where = f'path="{path}"' if " " in path else f"path={path}"
    if text is None:
        return f"```text {where} delete\n```"
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    language = "python" if path.endswith(".py") else "text"
    return f"{fence}{language} {where}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"
