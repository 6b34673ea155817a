"""What every backend is: one model of one vendor, asked once. Time-outs, budgets and routing are the gateway's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Emitter, Event, Sink
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.models.model_sizes import parameters_by_name
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
    """What the owner set, for all backends alike; each takes what concerns it (`BaseModelHandler.configured`).

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
    max_tokens: int = 8192
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
        streams: whether `on_text` is called while the reply is written; if not, only the total time-out can notice a
            backend that hangs.
        parallel: how many requests it takes at once; None leaves it to the server behind it.
        protocols: how its models can be offered tools, the usual way first. Only those with `NATIVE` get requests with
            `tools`; for all others the tools are in the messages' texts already.
    """

    name: ClassVar[str]
    setup: ClassVar[str] = ""
    streams: ClassVar[bool] = True
    parallel: int | None = None
    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.TEXT,)

    def __init__(self, *, model: str | None = None) -> None:
        self._model = model
        self._detail = ""
        self._offered: tuple[str, ...] = ()
        self._listed_b = dict[str, float]()
        """Billions of parameters by model, as the server lists them."""
        self.facts = ServerFacts()
        """What refusals taught of its server."""
        self.token_estimator = TokenEstimator()
        """How long texts are for its model: prompts are made, and held against its context, by this one figure."""

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:  # noqa: ARG003 - for heirs
        """Make one of the owner's settings, or None where they do not suffice (`setup` tells what is missing)."""
        return cls(model=model)

    def stand_in(self, settings: BackendSettings) -> BaseModelHandler | None:  # noqa: ARG002 - for heirs
        """A backend that is asked instead where this one cannot load its model at all; most have none."""
        return None

    @property
    def model(self) -> str:
        """The model that answers; empty while that is still to be found out by `is_available`."""
        return self._model or ""

    @property
    def detail(self) -> str:
        """Why it is not available and how to mend it, in words for the owner; empty when all is well."""
        return self._detail

    @property
    def advice(self) -> str:
        """What the owner could do better although it is available, in words for him."""
        return ""

    @property
    def offered(self) -> tuple[str, ...]:
        """The models that the server named when it was last looked at; none where it names none."""
        return self._offered

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
        """The billions of parameters of its model, where its server lists them or its name tells them."""
        return self._listed_b.get(self.model) or parameters_by_name(self.model)

    @property
    def known_window(self) -> int | None:
        """The smaller one of its `window` and the one that a refusal named."""
        return min((size for size in (self.window, self.facts.window) if size), default=None)

    @property
    def needs_sandbox(self) -> bool:
        """Whether it works in the sandbox, which is not there yet when models are looked at first."""
        return False

    @property
    def own_tools(self) -> bool:
        """Whether it looks around and changes files by itself, so that it is offered no tools."""
        return False

    @property
    def account(self) -> str:
        """A name for the account that is asked, where there is one; without its key."""
        return ""

    @abstractmethod
    def is_available(self) -> bool:
        """Look whether it could answer now. Blocking, but for a few seconds at most; called in a thread; never raises.

        Sets `detail`, and `model` where none was named.
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

    def placed(event: Event) -> None:
        sink(replace(event, data={**event.data, "step_no": request.step_no}))

    known = sink if request.task_id is None else placed
    return Emitter(known, request.task_id, request.attempt, request.iteration, request.phase)
