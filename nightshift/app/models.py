"""The gateway to the models and the long-term memory, made from the settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from nightshift.app.acp import AgentPlaces, agent, nowhere
from nightshift.app.extras import ExtrasInstaller
from nightshift.app.store import StoreServices
from nightshift.config.load import Settings
from nightshift.core.clock import Clock, from_text, to_text
from nightshift.core.errors import ExtraMissing
from nightshift.core.text.masking import Masker
from nightshift.models.backend_client import Pause, StoredPause
from nightshift.models.backend_pool import RoutingConfig
from nightshift.models.base import BackendSettings, BaseModelHandler, SandboxRuns
from nightshift.models.budgets import Price, SpendingLimits
from nightshift.models.call import CallPolicy
from nightshift.models.chain import build_chain, phase_routes
from nightshift.models.gateway import ModelHandler
from nightshift.models.thinking import ThinkingConfig
from nightshift.storage.db.model_results import ModelResults
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.tool_forms import ToolForms
from nightshift.storage.memory.embedders import Choice, EmbedderMissing, Endpoints, Provisioning, choose
from nightshift.storage.memory.store import LongTermMemory

EnsureExtra = Callable[[str], None]
"""Returns when optional packages are installed, or raises `ExtraMissing`; blocks."""
_KEY, _FACTS = "model_pauses", "model_facts"
_MAX_WHY_CHARS = 500


class DatabasePauseStore:
    """See `models.backend_client.PauseStore`; read when a model comes up, written when a provider asks for hours."""

    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state, self._clock, self._facts = state, clock, state.get(_FACTS) or {}
        self._kept: dict[str, StoredPause] = {
            account: StoredPause(pause=Pause(since=from_text(since), until=from_text(until)), why=why)
            for account, (since, until, why) in (state.get(_KEY) or {}).items()
        }

    def read(self, account: str) -> StoredPause | None:
        """The last pause that was kept, over or not."""
        return self._kept.get(account)

    def write(self, account: str, kept: StoredPause) -> None:
        """Keep it, and forget those that are over."""
        now = self._clock()
        self._kept = {name: one for name, one in self._kept.items() if one.pause.holds(now)} | {account: kept}
        rows = {
            name: (to_text(one.pause.since), to_text(one.pause.until), one.why[:_MAX_WHY_CHARS])
            for name, one in self._kept.items()
        }
        self._state.set(_KEY, rows)

    def read_facts(self, account: str) -> str:
        """Read the lessons of refusals as they were written."""
        return str(self._facts.get(account, ""))

    def write_facts(self, account: str, facts: str) -> None:
        """Keep what refusals taught."""
        self._facts[account] = facts
        self._state.set(_FACTS, self._facts)


def nothing_runs() -> str:
    """The way into the sandbox of a chain that is only looked at."""
    return "no sandbox is made here"


def make_models(
    settings: Settings,
    store: StoreServices,
    clock: Clock,
    runs: SandboxRuns,
    ensure_extra: EnsureExtra | None = None,
    agents: AgentPlaces = nowhere,
) -> ModelHandler:
    """The gateway to the models.

    Args:
        settings: which models there are.
        store: steps, events and what is kept over restarts.
        clock: dates calls and pauses.
        runs: the way into the sandbox of backends that run code.
        ensure_extra: installs the packages of a backend when they are first wanted.
        agents: where an agent works.

    Raises:
        ConfigError: a backend is unknown, or asked for and not configured.
    """
    return ModelHandler(
        chain_of(settings, runs, ensure_extra, agents),
        _routing_config(settings, store.mask),
        steps=store.steps,
        emit=store.events.emit,
        clock=clock,
        budgets=_spending_limits(settings),
        spent_since=store.state.spent_since,
        pauses=DatabasePauseStore(store.state, clock),
        routes=ModelResults(store.db, clock=clock),
        forms=ToolForms(store.db),
    )


def prepare_models(
    models: ModelHandler,
    settings: Settings,
    mask: Masker,
    runs: SandboxRuns,
    ensure_extra: EnsureExtra | None = None,
    agents: AgentPlaces = nowhere,
) -> Callable[[], None]:
    """Check other settings for the gateway, and return what puts them in place (`ModelHandler.reload`) on its loop.

    Raises:
        ConfigError: a backend is unknown, or asked for and not configured.
    """
    chain, config = chain_of(settings, runs, ensure_extra, agents), _routing_config(settings, mask)
    return lambda: models.reload(chain, config, _spending_limits(settings))


def chain_of(
    settings: Settings,
    runs: SandboxRuns,
    ensure_extra: EnsureExtra | None = None,
    agents: AgentPlaces = nowhere,
) -> tuple[BaseModelHandler, ...]:
    """The backends, in the order in which they are asked.

    Raises:
        ConfigError: a backend is unknown, or asked for and not configured.
    """
    return build_chain(
        backend_settings(settings, runs, ensure_extra, agents),
        model_type=settings.model_type,
        model_name=settings.model_name,
        phase_models=settings.phase_models,
    )


def _routing_config(settings: Settings, mask: Masker) -> RoutingConfig:
    return RoutingConfig(
        policy=CallPolicy(
            first_text_s=settings.model_first_byte_s,
            gap_s=settings.model_silence_s,
            total_s=settings.model_timeout_s,
            max_wait_s=settings.model_max_wait_s,
            probe_s=settings.model_probe_s,
            reply_tokens=settings.model_max_tokens,
            precheck_s=settings.repair_first_s,
        ),
        prices=prices_of(settings),
        masker=mask,
        phase_models=phase_routes(settings.phase_models),
        thinking=ThinkingConfig.of(settings.model_thinking, phase_routes(settings.phase_thinking, "phase_thinking")),
        measured=settings.routing == "measured",
    )


def prices_of(settings: Settings) -> dict[str, Price]:
    """What models cost, by `backend=model` or `model`."""
    return {name: Price(**price.model_dump()) for name, price in settings.model_prices.items()}


def _spending_limits(settings: Settings) -> SpendingLimits:
    return SpendingLimits(
        call_tokens=settings.call_tokens,
        call_cost_usd=settings.call_cost_usd,
        day_tokens=settings.day_tokens,
        day_cost_usd=settings.day_cost_usd,
        total_tokens=settings.total_tokens,
        total_cost_usd=settings.total_cost_usd,
    )


def backend_settings(
    settings: Settings,
    runs: SandboxRuns,
    ensure_extra: EnsureExtra | None = None,
    agents: AgentPlaces = nowhere,
) -> BackendSettings:
    """What each backend takes its own part of."""
    keys = (settings.openai_api_key, settings.anthropic_api_key, settings.gemini_api_key)
    openai, anthropic, gemini = (key.get_secret_value() if key else None for key in keys)
    return BackendSettings(
        openai_api_key=openai,
        openai_base_url=settings.openai_base_url,
        openai_api=settings.openai_api,
        anthropic_api_key=anthropic,
        anthropic_base_url=settings.anthropic_base_url,
        gemini_api_key=gemini,
        gemini_base_url=settings.gemini_base_url,
        ollama_base_url=settings.ollama_base_url,
        gpt4all_model_path=settings.gpt4all_model_path,
        llama_cpp_model_path=settings.llama_cpp_model_path,
        num_ctx=settings.model_num_ctx,
        max_tokens=settings.model_max_tokens,
        runs=runs,
        repair_s=settings.repair_s,
        acp_agent=agent(settings, agents),
        ensure_extra=ensure_extra,
    )


def make_memory(
    settings: Settings, store: StoreServices, extras: ExtrasInstaller, stack: ExitStack, clock: Clock
) -> LongTermMemory:
    """Long-term memory with the chosen embedder; `stack` closes it."""
    masker = store.mask
    memory = LongTermMemory(
        store.db,
        _embedders(settings, extras),
        clock=clock,
        emit=store.events.emit,
        masker=masker,
        control_share=settings.recall_control_share,
    )
    stack.callback(memory.close)
    return memory


def _embedders(settings: Settings, extras: ExtrasInstaller) -> Choice:
    def ensure() -> None:
        try:
            extras.ensure("embedder")
        except ExtraMissing as error:
            raise EmbedderMissing(str(error)) from None

    key = settings.openai_api_key
    endpoints = Endpoints(
        ollama_base_url=settings.ollama_base_url,
        openai_base_url=settings.openai_base_url,
        openai_api_key=key.get_secret_value() if key else None,
    )
    provisioning = Provisioning(ensure=ensure, fetch=settings.extras == "auto")
    return choose(settings.embedder, settings.embedder_model, endpoints, provisioning)
