"""The services of the gateway: the settings for models, and the stores and the clock that the gateway uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from nightshift.core.clock import Clock
from nightshift.core.events import Sink
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Spent
from nightshift.core.text.masking import Masker
from nightshift.models.budgets import Price
from nightshift.models.call import CallPolicy
from nightshift.models.live import LiveCalls
from nightshift.models.thinking import ThinkingConfig

if TYPE_CHECKING:
    from nightshift.storage.db.model_results import ModelResults
    from nightshift.storage.db.state_store import StateStore
    from nightshift.storage.db.step_store import StepStore
    from nightshift.storage.db.tool_forms import ToolForms


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingConfig:
    """All settings for models except the budgets.

    Attributes:
        policy: timeouts and retries of a backend.
        prices: maps `backend=model` or `model` to its price. For a model without a price, only tokens are counted.
        masker: removes secrets from prompts and messages.
        phase_models: maps a phase to the backend, model or `backend=model` that is asked first.
        thinking: how much models think.
        measured: True to order models by their results with earlier tasks; False to use the owner's order.
    """

    policy: CallPolicy = field(default_factory=CallPolicy)
    prices: Mapping[str, Price] = field(default_factory=dict)
    masker: Masker = field(default_factory=Masker)
    phase_models: Mapping[Phase, str] = field(default_factory=dict)
    thinking: ThinkingConfig = field(default_factory=ThinkingConfig)
    measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayServices:
    """The services that the gateway uses.

    Attributes:
        steps: stores replies.
        state: stores pauses and lessons from refusals across restarts.
        routes: the results of models with earlier tasks, used if `RoutingConfig.measured` is set.
        forms: how well each model called tools natively and in text, which decides how tools are offered.
        spent_since: returns the amount spent since a time, or in total (None); called at the start of each day.
        emit: receives the events.
        clock: returns the current time, for days, pauses and parking.
        live: the replies that models are writing now.
    """

    steps: StepStore
    state: StateStore
    routes: ModelResults
    forms: ToolForms
    spent_since: Callable[[datetime | None], Spent]
    emit: Sink
    clock: Clock
    live: LiveCalls
