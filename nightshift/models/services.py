"""The services of the gateway: the settings of models, and the stores and the clock around it."""

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
    """How backends are asked: all that the settings say about models beside budgets.

    Attributes:
        policy: time-outs and retries of a backend.
        prices: `backend=model` or `model` to its price; a model without one has its tokens counted only.
        masker: takes secrets out of prompts and messages.
        phase_models: the backend, model or `backend=model` that is asked first in a phase.
        thinking: how much models think.
        measured: models are ordered by what they did with earlier tasks, and not as the owner ordered them.
    """

    policy: CallPolicy = field(default_factory=CallPolicy)
    prices: Mapping[str, Price] = field(default_factory=dict)
    masker: Masker = field(default_factory=Masker)
    phase_models: Mapping[Phase, str] = field(default_factory=dict)
    thinking: ThinkingConfig = field(default_factory=ThinkingConfig)
    measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayServices:
    """The parts around the gateway.

    Attributes:
        steps: stores replies.
        state: keeps pauses and lessons of refusals over restarts.
        routes: what models did with earlier tasks, by which `RoutingConfig.measured` orders them.
        forms: how well models called tools, by which the form of their calls is chosen.
        spent_since: what was spent since a moment or in all (None); asked at the start of each day.
        emit: takes the events.
        clock: the time, for days, pauses and parking.
        live: what models write just now.
    """

    steps: StepStore
    state: StateStore
    routes: ModelResults
    forms: ToolForms
    spent_since: Callable[[datetime | None], Spent]
    emit: Sink
    clock: Clock
    live: LiveCalls
