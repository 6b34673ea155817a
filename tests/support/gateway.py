"""The gateway to the models for tests: real backends, the real store of replies, and backoffs of milliseconds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import anthropic
import ollama
import openai

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Limits, Spent, TaskSpec
from nightshift.models.base import BackendSettings, BaseModelHandler
from nightshift.models.budgets import Price, SpendingLimits
from nightshift.models.call import CallPolicy
from nightshift.models.chain import build_chain
from nightshift.models.gateway import BoundModel, ModelHandler
from nightshift.models.live import LiveCalls
from nightshift.models.services import GatewayServices, RoutingConfig
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.model_results import ModelResults
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.step_store import StepStore
from nightshift.storage.db.tool_forms import ToolForms
from tests.support.ready_database import ready
from tests.support.wire_server import WireServer

LOADED = (anthropic, ollama, openai)
"""Libraries of the vendors. They are imported here, before any timeout runs, because on a busy machine an import takes
longer than the timeouts of these tests.
"""

QUICK = CallPolicy(
    backoff_s=0.005,
    backoff_max_s=0.01,
    max_wait_s=0.3,
    first_text_s=2.0,
    gap_s=2.0,
    total_s=5.0,
    breaker_s=0.2,
    breaker_max_s=30.0,
    probe_s=0.02,
    probe_fresh_s=0.0,
)
TEN_TOKENS_OUT = "one two three four five six seven eight nine ten"
PRICE = Price(input_per_million_usd=1_000.0, output_per_million_usd=10_000.0)


class ManualClock:
    """A clock that tests move."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


@dataclass
class Gateway:
    """A handler of model requests, with its database, its stores and the events that it emitted."""

    handler: ModelHandler
    db: Database
    state: StateStore
    steps: StepStore
    events: list[Event]

    def task(self, task_id: int = 7, *, spent: Spent | None = None, **limits: Any) -> BoundModel:
        return self.handler.for_task(task_id, Limits(**limits), spent or Spent())

    def kinds(self) -> list[Kind]:
        return [event.kind for event in self.events]

    def of(self, kind: Kind) -> list[Event]:
        return [event for event in self.events if event.kind is kind]


@dataclass
class GatewaySetup:
    """Builds the gateways of one test. All of them use the same database."""

    path: Path

    @asynccontextmanager
    async def gateway(
        self, *backends: BaseModelHandler, clock: Callable[[], datetime] = utc_now, **more: Any
    ) -> AsyncIterator[Gateway]:
        events: list[Event] = []
        with Database(ready(self.path / "db.sqlite")) as db:
            log = EventLog(db)
            steps, state = StepStore(db, log, clock=clock), StateStore(db, clock=clock)
            if not log.newest_id():
                queue = QueueManager(db, log)
                [queue.submit(TaskSpec(description=f"task {n}")) for n in range(40)][-1].result()
            config = {each.name: more.pop(each.name) for each in fields(RoutingConfig) if each.name in more}
            budgets = more.pop("budgets", SpendingLimits())
            services = GatewayServices(
                **{
                    "steps": steps,
                    "state": state,
                    "routes": ModelResults(db, clock=clock),
                    "forms": ToolForms(db),
                    "spent_since": state.spent_since,
                    "emit": events.append,
                    "clock": clock,
                    "live": LiveCalls(clock),
                    **more,
                }
            )
            handler = ModelHandler(backends, RoutingConfig(**{"policy": QUICK, **config}), budgets, services)
            try:
                yield Gateway(handler, db, state, steps, events)
            finally:
                await handler.aclose()


KEY = "sk-test-0123456789abcdef"


def backend(server: WireServer, kind: str = "openai", model: str = "tiny-coder", *, key: str = KEY) -> BaseModelHandler:
    urls = BackendSettings(
        openai_api_key=key,
        openai_base_url=server.openai_base_url,
        openai_api="responses" if kind == "responses" else "auto",
        anthropic_api_key=key,
        anthropic_base_url=server.anthropic_base_url,
        gemini_api_key=key,
        gemini_base_url=server.gemini_base_url,
        ollama_base_url=server.ollama_base_url,
    )
    return build_chain(urls, model_type="openai" if kind == "responses" else kind, model_name=model)[0]


def ask(text: str = "Write add.", **more: Any) -> ModelRequest:
    turns = (Message(role="system", text="Phase: CODING\nBe brief."), Message(role="user", text=text))
    return ModelRequest(**{"phase": Phase.CODING, "messages": turns, "task_id": 7, **more})
