"""The base class of all backends. A backend asks one model of one vendor, once.

The gateway adds timeouts, budgets and routing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.events import Emitter, Event, Sink
from nightshift.core.tools import ToolProtocol
from nightshift.models.model_table import parameters_by_name
from nightshift.models.server_facts import ServerFacts
from nightshift.models.token_estimates import TokenEstimator

if TYPE_CHECKING:
    from nightshift.verdict.suite_runs import SuiteRuns

OnText = Callable[[str], None]
SandboxRuns = Callable[[], "SuiteRuns | str"]
"""Returns the object that runs code in the sandbox, or the reason why that object does not exist yet. This is a
function, because backends are created before the sandbox.
"""


class CallText(str):
    """A piece of a tool call, as passed to `OnText`. It costs tokens like text, but is not part of the reply's text."""

    __slots__ = ()


class CallName(CallText):
    """The first piece of a tool call, which contains the tool's name. The pieces of the arguments follow."""

    __slots__ = ()


class ThoughtText(str):
    """A piece of a model's thoughts, as passed to `OnText`. It costs tokens, but is not part of the reply's text."""

    __slots__ = ()


EnsureExtra = Callable[[str], None]
"""Ensures that the packages of an optional dependency group (“extra”) are installed, which may take minutes. Raises a
`NightshiftError` with a text for the owner if the installation fails.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSettings:
    """The owner's settings for all backends. Each backend reads its own settings (`BaseModelHandler.from_settings`).

    Attributes:
        runs: access to the sandbox, for backends that run code; None if there is no sandbox.
        repair_s: seconds that the built-in engine may search if the request sets no limit.
        acp_agent: creates the agent that speaks the Agent Client Protocol; None if no agent is configured. The argument
            is the model's name; if it is None, the agent is named after its program.
        ensure_extra: installs the packages of a backend from the extra of the same name; None leaves the installation
            to the owner.
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
    """The base class of a backend.

    Attributes:
        name: short name, equal to the name of its entry point.
        setup: one line for an owner without a model: how to set up this backend.
        streams: True if `on_text` is called continuously while the reply is written. If not, only the total timeout can
            detect a hanging backend.
        needs_sandbox: True if the backend works in the sandbox, which does not exist yet at the first availability
            check.
        own_tools: True if the backend explores and changes files itself, so it is offered no tools.
        parallel: maximum number of concurrent requests; None leaves the limit to the server.
        protocols: ways to offer tools to the backend's models, the default first. Only backends with `NATIVE` get
            requests with `tools`; for all others the tools are described in the messages.
        model: the model that answers; empty until `is_available` has chosen a model.
        detail: why the backend is not available and how to fix that, in words for the owner; empty if it is available.
        offered: the models that the server listed at the last check; empty if there was no list.
        facts: facts about the server, learned from its refusals.
        token_estimator: estimates token counts for the model, to size prompts and to check them against the context
            window.
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
        """Create a backend from the owner's settings, or return None if a required setting is missing.

        The text `setup` tells the owner which settings are required.
        """
        return cls(model=model)

    def stand_in(self, settings: BackendSettings) -> BaseModelHandler | None:  # noqa: ARG002 - for heirs
        """Return a fallback backend for the case that this one cannot load its model at all, or None."""
        return None

    @property
    def label(self) -> str:
        """`backend=model`, or the backend's name alone while the model is not known."""
        return f"{self.name}={self.model}" if self.model else self.name

    @property
    def advice(self) -> str:
        """Advice for an owner whose backend is available, but could work better."""
        return ""

    @property
    def free(self) -> bool:
        """True if replies cost nothing because the model runs on the owner's machine."""
        return False

    @property
    def window(self) -> int | None:
        """The model's context window in tokens, prompt and reply together; None while unknown."""
        return None

    @property
    def parameters_b(self) -> float | None:
        """Billions of parameters, read from the model's name; None if the name does not contain them."""
        return parameters_by_name(self.model)

    @property
    def known_window(self) -> int | None:
        """The smaller of `window` and the window that a refusal named; None if neither is known."""
        return min((size for size in (self.window, self.facts.window) if size), default=None)

    @property
    def account(self) -> str:
        """A name for the account in use, without its key; empty if there is none."""
        return ""

    @abstractmethod
    def is_available(self) -> bool:
        """Check whether the backend could answer now.

        Blocks for a few seconds at most, runs in a thread and never raises.

        Sets `detail`, `offered`, and `model` if none was configured.
        """

    async def load(self) -> None:  # noqa: B027 - not abstract: most small backends have nothing to load
        """Import the packages that a request needs.

        This may take seconds, which must not count as silence of the server.
        """

    @abstractmethod
    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """Ask once.

        `on_text` is called on the caller's loop with the pieces of the reply, or with "" as a sign of life. Pieces of
        tool calls have the type `CallText`, and the first piece of each call has the type `CallName`.

        Raises:
            ModelUnavailable: connection error, timeout, overload or truncated reply; asking again may help.
            ModelRefused: the request, the key or the model's name is wrong; asking again will not help. Includes
                `ToolsRefused`, after which `protocols` contains only `TEXT`.
        """

    async def aclose(self) -> None:  # noqa: B027 - not abstract: most small backends hold nothing open
        """Release connections and threads; the backend is not used afterwards."""


def events_about(request: ModelRequest, sink: Sink) -> Emitter:
    """Return an emitter for events about a request. Each event contains `step_no`, which links it to the step."""

    def emit(event: Event) -> None:
        sink(event if request.task_id is None else replace(event, data={**event.data, "step_no": request.step_no}))

    return Emitter(emit, request.task_id, request.attempt, request.iteration, request.phase)
