"""The base of all backends: one model of one vendor, asked once. Time-outs, budgets and routing are the gateway's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Emitter, Event, Sink
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.models.model_table import parameters_by_name
from nightshift.models.server_facts import ServerFacts
from nightshift.models.token_estimates import TokenEstimator

if TYPE_CHECKING:
    from nightshift.verdict.suite_runs import SuiteRuns

OnText = Callable[[str], None]
SandboxRuns = Callable[[], "SuiteRuns | str"]
"""Gives what runs code in the sandbox, or says why nothing can be run yet: backends are made before the sandbox."""


class CallText(str):
    """A piece of a tool call for `OnText`: paid for like text, but no part of the reply's text."""

    __slots__ = ()


class CallName(CallText):
    """The piece that begins a tool call: the tool's name. The pieces of its arguments follow."""

    __slots__ = ()


class ThoughtText(str):
    """A piece of a model's thinking for `OnText`: paid for like text, but no part of the reply's text."""

    __slots__ = ()


EnsureExtra = Callable[[str], None]
"""Sees to it that the packages of an extra are installed, which may take minutes; raises a `NightshiftError` whose text
is for the owner where they are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSettings:
    """Settings of the owner's for all backends alike; each takes its own (`BaseModelHandler.from_settings`).

    `runs` is the way into the sandbox, for backends that run code; None where there is to be none. `repair_s` bounds a
    search of the built-in engine where the request says nothing else.
    `acp_agent` makes the agent that is asked by the Agent Client Protocol, called by a name or as its program; None
    where there is none.
    `ensure_extra` brings the packages of a backend whose name is that of an extra; None leaves that to the owner.
    """

    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str | None = None
    openai_api: str = "auto"
    anthropic_api_key: str | None = field(default=None, repr=False)
    anthropic_base_url: str | None = None
    gemini_api_key: str | None = field(default=None, repr=False)
    gemini_base_url: str | None = None
    ollama_base_url: str = "http://localhost:11434"
    gpt4all_model_path: Path | None = None
    llama_cpp_model_path: Path | None = None
    num_ctx: int | None = None
    connect_s: float = 5.0
    runs: SandboxRuns | None = None
    repair_s: float = 60.0
    acp_agent: Callable[[str | None], BaseModelHandler] | None = None
    ensure_extra: EnsureExtra | None = None


class BaseModelHandler(ABC):
    """One backend.

    Attributes:
        name: its short name, that of its entry point.
        setup: one line for an owner who has no model yet: what to do to get this one.
        streams: whether `on_text` is called all the time while the reply is written; if not, only the total time-out
            can notice a backend that hangs.
        needs_sandbox: whether it works in the sandbox, which is not there yet when models are looked at first.
        own_tools: whether it looks around and changes files by itself, so that it is offered no tools.
        parallel: how many requests it takes at once; None leaves it to the server behind it.
        protocols: how its models can be offered tools, the usual way first. Only those with `NATIVE` get requests with
            `tools`; for all others the tools are in the messages' texts already.
        model: the model that answers; empty while `is_available` has not chosen it.
        detail: why it is not available and how to mend it, in words for the owner; empty when all is well.
        offered: the models that the server listed when it was last looked at; none where it lists none.
        facts: lessons of refusals about its server.
        token_estimator: how long texts are for its model: prompts are made, and held against its context, by it.
    """

    name: ClassVar[str]
    setup: ClassVar[str] = ""
    streams: ClassVar[bool] = True
    needs_sandbox: ClassVar[bool] = False
    own_tools: ClassVar[bool] = False
    parallel: int | None = None
    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.TEXT,)

    def __init__(self, *, model: str | None = None) -> None:
        self.model, self.detail = model or "", ""
        self.offered: tuple[str, ...] = ()
        self.facts, self.token_estimator = ServerFacts(), TokenEstimator()

    @classmethod
    def from_settings(cls, settings: BackendSettings, model: str | None) -> Self | None:  # noqa: ARG003 - for heirs
        """Make one of the owner's settings, or None where they do not suffice (`setup` tells what is missing)."""
        return cls(model=model)

    def stand_in(self, settings: BackendSettings) -> BaseModelHandler | None:  # noqa: ARG002 - for heirs
        """A backend that is asked instead where this one cannot load its model at all; most have none."""
        return None

    @property
    def label(self) -> str:
        """`backend=model`, or the backend alone while its model is not known."""
        return f"{self.name}={self.model}" if self.model else self.name

    @property
    def advice(self) -> str:
        """Advice for an owner whose backend is available, but could work better."""
        return ""

    @property
    def free(self) -> bool:
        """Whether its replies cost nothing because it runs on the owner's machine."""
        return False

    @property
    def window(self) -> int | None:
        """The model's context in tokens, prompt and reply together, where that is known by now."""
        return None

    @property
    def parameters_b(self) -> float | None:
        """The billions of parameters of its model, where its name tells them."""
        return parameters_by_name(self.model)

    @property
    def known_window(self) -> int | None:
        """The smaller one of its `window` and the one that a refusal named."""
        return min((size for size in (self.window, self.facts.window) if size), default=None)

    @property
    def account(self) -> str:
        """A name for the account that is asked, where there is one; without its key."""
        return ""

    @abstractmethod
    def is_available(self) -> bool:
        """Look whether it could answer now. Blocking, but for a few seconds at most; called in a thread; never raises.

        Sets `detail`, `offered`, and `model` where none was named.
        """

    async def load(self) -> None:  # noqa: B027 - not abstract: most small backends have nothing to load
        """Load the packages of a request, which may take seconds: no silence of its server's."""

    @abstractmethod
    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """Ask once. `on_text` gets the reply's pieces on the caller's loop, or "" as a mere sign of life.

        Pieces of tool calls come as `CallText`, the first one of each as `CallName`.

        Raises:
            ModelUnavailable: connection, time-out, overload or a reply that broke off; asking again may help.
            ModelRefused: the request, the key or the model's name is wrong; asking again will not help. Also
                `ToolsRefused`, after which `protocols` has `TEXT` alone.
        """

    async def aclose(self) -> None:  # noqa: B027 - not abstract: most small backends hold nothing open
        """Let go of connections and threads; it is not used afterwards."""


def events_about(request: ModelRequest, sink: Sink) -> Emitter:
    """Emits events about a request, which name its step by `step_no`, so that a line of the log leads there."""

    def emit(event: Event) -> None:
        sink(event if request.task_id is None else replace(event, data={**event.data, "step_no": request.step_no}))

    return Emitter(emit, request.task_id, request.attempt, request.iteration, request.phase)
