"""The chain of models and the long-term memory, made from the settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from bootstrap.pauses import StoredPauses
from bootstrap.repair import EngineRuns, built_in
from bootstrap.store import Store
from config import Settings
from core.clock import Clock
from core.masking import Masker
from db.model_results import ModelResults
from memory.embedders import Choice, Endpoints, choose
from memory.store import LongTermMemory
from model_handler import ModelHandler
from models.base import BackendSettings, BaseModelHandler
from models.chain import build_chain, phase_routes
from models.policy import Budgets, CallPolicy, Price
from models.roster import Terms


def make_models(settings: Settings, store: Store, clock: Clock, runs: EngineRuns) -> ModelHandler:
    """The door to the models; `runs` is the built-in engine's way into the sandbox.

    Raises:
        ConfigError: a backend is unknown, or asked for and not configured.
    """
    return ModelHandler(
        chain_of(settings, runs),
        _terms(settings, store.mask),
        steps=store.steps,
        emit=store.events.emit,
        clock=clock,
        budgets=_budgets(settings),
        ledger=store.state.spent_since,
        pauses=StoredPauses(store.state, clock),
        routes=ModelResults(store.db, clock=clock),
    )


def renewed_models(models: ModelHandler, settings: Settings, mask: Masker, runs: EngineRuns) -> Callable[[], None]:
    """Check other settings for the door, and return what puts them in place (`ModelHandler.renew`) on its loop.

    Raises:
        ConfigError: a backend is unknown, or asked for and not configured.
    """
    chain, terms = chain_of(settings, runs), _terms(settings, mask)
    return lambda: models.renew(chain, terms, _budgets(settings))


def chain_of(settings: Settings, runs: EngineRuns) -> tuple[BaseModelHandler, ...]:
    """The backends, in the order in which they are asked.

    Raises:
        ConfigError: a backend is unknown, or asked for and not configured.
    """
    return build_chain(
        backend_settings(settings, runs),
        model_type=settings.model_type,
        model_name=settings.model_name,
        phase_models=settings.phase_models,
    )


def _terms(settings: Settings, mask: Masker) -> Terms:
    return Terms(
        policy=CallPolicy(
            total_s=settings.model_timeout_s,
            max_wait_s=settings.model_max_wait_s,
            probe_s=settings.model_probe_s,
            reply_tokens=settings.model_max_tokens,
            scout_s=settings.repair_first_s,
        ),
        prices={name: Price(**price.model_dump()) for name, price in settings.model_prices.items()},
        masker=mask,
        phase_models=phase_routes(settings.phase_models),
        measured=settings.routing == "measured",
    )


def _budgets(settings: Settings) -> Budgets:
    return Budgets(
        call_tokens=settings.call_tokens,
        call_cost_usd=settings.call_cost_usd,
        day_tokens=settings.day_tokens,
        day_cost_usd=settings.day_cost_usd,
        total_tokens=settings.total_tokens,
        total_cost_usd=settings.total_cost_usd,
    )


def backend_settings(settings: Settings, runs: EngineRuns) -> BackendSettings:
    """What each backend takes its own part of."""
    openai, anthropic = settings.openai_api_key, settings.anthropic_api_key
    return BackendSettings(
        openai_api_key=openai.get_secret_value() if openai else None,
        openai_base_url=settings.openai_base_url,
        anthropic_api_key=anthropic.get_secret_value() if anthropic else None,
        anthropic_base_url=settings.anthropic_base_url,
        ollama_base_url=settings.ollama_base_url,
        gpt4all_model_path=settings.gpt4all_model_path,
        num_ctx=settings.model_num_ctx,
        max_tokens=settings.model_max_tokens,
        built_in=built_in(runs, budget_s=settings.repair_s),
    )


def make_memory(settings: Settings, store: Store, stack: ExitStack, clock: Clock) -> LongTermMemory:
    """Long-term memory with the chosen embedder; `stack` closes it."""
    masker = store.mask
    memory = LongTermMemory(
        store.db,
        _embedders(settings),
        clock=clock,
        emit=store.events.emit,
        masker=masker,
        control_share=settings.recall_control_share,
    )
    stack.callback(memory.close)
    return memory


def _embedders(settings: Settings) -> Choice:
    key = settings.openai_api_key
    endpoints = Endpoints(
        ollama_base_url=settings.ollama_base_url,
        openai_base_url=settings.openai_base_url,
        openai_api_key=key.get_secret_value() if key else None,
    )
    return choose(settings.embedder, settings.embedder_model, endpoints)
