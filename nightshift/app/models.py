"""Makes the gateway to the models, and the long-term memory, from the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from nightshift.app.acp import AgentPlaces, agent, nowhere
from nightshift.app.extras import ExtrasInstaller
from nightshift.app.store import StoreServices
from nightshift.config.load import Settings
from nightshift.core.clock import Clock
from nightshift.core.errors import ExtraMissing
from nightshift.core.tasks.task import Limits
from nightshift.core.text.masking import Masker
from nightshift.models.base import BackendSettings, BaseModelHandler, EnsureExtra, SandboxRuns
from nightshift.models.budgets import Price, SpendingLimits
from nightshift.models.call import CallPolicy
from nightshift.models.chain import build_chain, phase_routes
from nightshift.models.gateway import ModelHandler
from nightshift.models.live import LiveCalls
from nightshift.models.services import GatewayServices, RoutingConfig
from nightshift.models.thinking import ThinkingConfig
from nightshift.storage.db.model_results import ModelResults
from nightshift.storage.db.tool_forms import ToolForms
from nightshift.storage.memory.embedders import Choice, EmbedderMissing, Endpoints, Provisioning, choose
from nightshift.storage.memory.store import LongTermMemory


def make_models(
    settings: Settings, store: StoreServices, clock: Clock, chain: Sequence[BaseModelHandler]
) -> ModelHandler:
    """Make the gateway to the models.

    Args:
        settings: define the models.
        store: contains steps, events and the state that survives a restart.
        clock: gives the times of calls and pauses.
        chain: the backends, see `chain_of`.
    """
    services = GatewayServices(
        steps=store.steps,
        state=store.state,
        routes=ModelResults(store.db, clock=clock),
        forms=ToolForms(store.db),
        spent_since=store.state.spent_since,
        emit=store.events.emit,
        clock=clock,
        live=LiveCalls(clock),
    )
    return ModelHandler(chain, _routing_config(settings, store.mask), _spending_limits(settings), services)


def prepare_models(
    models: ModelHandler, settings: Settings, mask: Masker, chain: Sequence[BaseModelHandler]
) -> Callable[[], None]:
    """Return the function that applies new settings and a new chain on the gateway's event loop.

    See `ModelHandler.reload`.
    """
    config = _routing_config(settings, mask)
    return lambda: models.reload(chain, config, _spending_limits(settings))


def chain_of(
    settings: Settings,
    runs: SandboxRuns,
    ensure_extra: EnsureExtra | None = None,
    agents: AgentPlaces = nowhere,
) -> tuple[BaseModelHandler, ...]:
    """Return the backends in the order in which they are asked.

    Args:
        settings: define the models.
        runs: the sandbox access of backends that run code.
        ensure_extra: installs the packages of a backend when they are first needed.
        agents: returns the place where an agent works.

    Raises:
        ConfigError: a backend is unknown, or selected but not configured.
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
        prices={name: Price(**price.model_dump()) for name, price in settings.model_prices.items()},
        masker=mask,
        phase_models=phase_routes(settings.phase_models),
        thinking=ThinkingConfig.of(settings.model_thinking, phase_routes(settings.phase_thinking, "phase_thinking")),
        measured=settings.routing == "measured",
    )


def _spending_limits(settings: Settings) -> SpendingLimits:
    return SpendingLimits(
        call=Limits(tokens=settings.call_tokens, cost_usd=settings.call_cost_usd),
        day=Limits(tokens=settings.day_tokens, cost_usd=settings.day_cost_usd),
        total=Limits(tokens=settings.total_tokens, cost_usd=settings.total_cost_usd),
    )


def backend_settings(
    settings: Settings,
    runs: SandboxRuns,
    ensure_extra: EnsureExtra | None = None,
    agents: AgentPlaces = nowhere,
) -> BackendSettings:
    """Collect the settings of all backends in one object; each backend reads only its own part."""
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
        runs=runs,
        repair_s=settings.repair_s,
        acp_agent=agent(settings, agents),
        ensure_extra=ensure_extra,
    )


def make_memory(
    settings: Settings, store: StoreServices, extras: ExtrasInstaller, stack: ExitStack, clock: Clock
) -> LongTermMemory:
    """Make the long-term memory with the embedder that the settings choose; `stack` closes it."""
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
