"""Models are ordered by their results.

The tests cover the rule itself, and its use by the real gateway over real HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.events import Event
from nightshift.core.events import Kind as Told
from nightshift.core.routing import ModelResult, Results, Route
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Kind
from nightshift.models.budgets import FREE, Price
from nightshift.models.routing import TRUSTED_RATE, Candidate, attempt_usd, decide, model_order
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.model_results import OF_A_KIND, ModelResults
from tests.support.gateway import Gateway, GatewaySetup, ask, backend
from tests.support.wire_server import WireServer

WEAK, STRONG = "cloud=weak", "cloud=strong"
CHEAP = Price(input_per_million_usd=0.25, output_per_million_usd=1.25)
DEAR = Price(input_per_million_usd=3.0, output_per_million_usd=15.0)
PAIR = (Candidate(label=STRONG, price=DEAR, prior_rate=TRUSTED_RATE), Candidate(label=WEAK, price=CHEAP))
COST = {
    STRONG: attempt_usd(DEAR, ModelResult(), is_local=False),
    WEAK: attempt_usd(CHEAP, ModelResult(), is_local=False),
}
RATES = {"library": {WEAK: 0.9, STRONG: 0.95}, "web_app": {WEAK: 0.2, STRONG: 0.9}}
RIGHT = {"library": WEAK, "web_app": STRONG}

Rates = Mapping[str, Mapping[str, float]]


def result(solved: int, began: int, **more: float) -> ModelResult:
    used = {"tokens_in": 12_000 * began, "tokens_out": 3_000 * began, "seconds": 60.0 * began}
    return ModelResult(began=began, solved=solved, **{**used, **more})  # type: ignore[arg-type]  # of one type each


@dataclass
class World:
    """A simulation in which the routing policy assigns tasks to models with known success rates.

    A failed task costs another attempt by the strong model.
    """

    seed: int
    dice: Random = field(init=False)
    past: dict[str, deque[tuple[str, bool]]] = field(default_factory=dict)
    chosen: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)

    def live(self, attempts: int, rates: Rates) -> Sequence[tuple[str, str]]:
        """Simulate attempts, and return the task kind and the first model of each."""
        for _ in range(attempts):
            kind = self.dice.choice(sorted(rates))
            past = self.past.setdefault(kind, deque(maxlen=OF_A_KIND))
            label = decide(PAIR, self._results(), kind, seed=f"{self.seed}:{len(self.chosen)}").first
            past.append((label, self.dice.random() < rates[kind][label]))
            self.chosen.append((kind, label))
        return self.chosen[-attempts:]

    def _results(self) -> Results:
        results: dict[str, dict[str, ModelResult]] = {}
        for kind, past in self.past.items():
            for label in (WEAK, STRONG):
                outcomes = [solved for who, solved in past if who == label]
                results.setdefault(kind, {})[label] = result(sum(outcomes), len(outcomes))
        return results


def right(chosen: Sequence[tuple[str, str]], assignment: Mapping[str, str]) -> float:
    """Return the share of attempts that began with the best model for their kind of task."""
    return fmean(assignment[kind] == label for kind, label in chosen)


def cost(chosen: Sequence[tuple[str, str]], rates: Rates) -> float:
    """Return the expected cost of these attempts in USD, including the strong model's retries."""
    return sum(COST[label] + (1 - rates[kind][label]) * COST[STRONG] for kind, label in chosen)


def best(chosen: Sequence[tuple[str, str]], assignment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the same attempts with the best model for their kind of task."""
    return [(kind, assignment[kind]) for kind, _ in chosen]


def test_each_kind_of_task_gets_its_model_and_finding_that_out_costs_little() -> None:
    lives = [World(seed).live(500, RATES) for seed in range(8)]
    assert fmean(right(life[-200:], RIGHT) for life in lives) > 0.9
    regrets = [cost(life, RATES) / cost(best(life, RIGHT), RATES) - 1 for life in lives]
    assert fmean(regrets) < 0.12
    assert max(regrets) < 0.3
    always_strong = [cost(best(life, dict.fromkeys(RATES, STRONG)), RATES) for life in lives]
    assert sum(cost(life, RATES) for life in lives) < 0.75 * sum(always_strong)


def test_nothing_known_the_owners_first_begins_but_for_what_is_drawn_to_learn() -> None:
    routes = [decide(PAIR, {}, "library", seed=str(seed)) for seed in range(400)]
    assert {route.first for route in routes if not route.explored} == {STRONG}
    assert {route.first for route in routes if route.explored} == {WEAK}
    assert 0.1 < fmean(route.explored for route in routes) < 0.5
    assert routes[0].ladder == (WEAK, STRONG)


def usual(candidates: Sequence[Candidate], results: Results) -> Route:
    """Return a decision without random exploration."""
    return next(
        route for seed in range(100) if not (route := decide(candidates, results, "library", seed=str(seed))).explored
    )


def test_a_model_of_unknown_price_is_never_called_cheap() -> None:
    unknown = Candidate(label="cloud=mystery")
    results = {"library": {"cloud=mystery": result(90, 90), STRONG: result(88, 90), WEAK: result(85, 90)}}
    route = usual((unknown, *PAIR), results)
    assert (route.first, route.cheap) == (WEAK, WEAK)
    assert "cloud=mystery solved 90 of 90, price unknown" in route.why
    better = {"library": {"cloud=mystery": result(90, 90), STRONG: result(30, 90), WEAK: result(20, 90)}}
    route = usual((unknown, *PAIR), better)
    assert (route.first, route.cheap) == ("cloud=mystery", WEAK)
    # The policy does not explore a model of unknown price either.
    assert {decide((PAIR[0], unknown), {}, "library", seed=str(seed)).first for seed in range(300)} == {STRONG}


def test_a_free_model_costs_its_time() -> None:
    local = Candidate(label="ollama=own", price=FREE, local=True)
    slow, quick = result(45, 50, seconds=50 * 3600.0), result(45, 50, seconds=50 * 60.0)
    rivals = {WEAK: result(46, 50)}
    assert usual((PAIR[1], local), {"library": {**rivals, "ollama=own": quick}}).first == "ollama=own"
    assert usual((PAIR[1], local), {"library": {**rivals, "ollama=own": slow}}).first == WEAK


def test_a_model_that_is_away_does_not_begin_but_stays_on_the_ladder() -> None:
    away = Candidate(label=WEAK, price=CHEAP, there=False)
    results = {"library": {WEAK: result(50, 50), STRONG: result(40, 50)}}
    for seed in range(50):
        route = decide((PAIR[0], away), results, "library", seed=str(seed))
        assert (route.first, route.cheap, route.ladder) == (STRONG, STRONG, (STRONG, WEAK))


LADDER = Route(kind="library", ladder=("a", "b", "c"), first="b", cheap="a")


@pytest.mark.parametrize(
    ("phase", "iteration", "escalation", "prompt_tokens", "first"),
    [
        (Phase.CODING, 1, 0, 9_000, "b"), (Phase.PLANNING, 0, 0, 9_000, "b"), (Phase.PLANNING, 0, 0, 900, "a"),
        (Phase.CLARIFYING, 0, 0, 9_000, "a"), (Phase.AUDIT, 1, 0, 9_000, "c"),
        (Phase.CODING, 2, 0, 9_000, "b"),  # one try failed, so the next model takes over
        (Phase.CODING, 3, 0, 9_000, "c"),
        (Phase.CODING, 1, 1, 9_000, "b"),  # stuck for the first time: only the temperature rises
        (Phase.CODING, 1, 2, 9_000, "c"),
        (Phase.CODING, 1, 3, 9_000, "b"),  # the strongest model is stuck too
    ],
)  # fmt: skip
def test_who_is_asked_first(phase: Phase, iteration: int, escalation: int, prompt_tokens: int, first: str) -> None:
    order, _ = model_order(LADDER, phase, iteration=iteration, escalation=escalation, prompt_tokens=prompt_tokens)
    assert order[0] == first


def test_stronger_ones_stand_in_before_weaker_ones() -> None:
    asked = model_order(LADDER, Phase.CODING, iteration=1, escalation=0, prompt_tokens=0)
    assert asked == (("b", "c", "a"), "the first model of the task")
    later = model_order(LADDER, Phase.CODING, iteration=3, escalation=0, prompt_tokens=0)
    assert later == (("c", "b", "a"), "instead of b, after 2 failed tries")
    stuck = model_order(LADDER, Phase.CODING, iteration=2, escalation=2, prompt_tokens=0)
    assert stuck[1] == "instead of b, after 1 failed try, stuck"


@given(
    tallies=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=5),
    prices=st.lists(st.sampled_from([None, FREE, CHEAP, DEAR]), min_size=5, max_size=5),
    there=st.lists(st.booleans(), min_size=5, max_size=5),
    phase=st.sampled_from(Phase),
    iteration=st.integers(0, 30),
    escalation=st.integers(0, 12),
    seed=st.text(max_size=5),
)
def test_whatever_was_measured_everybody_is_asked_once(
    tallies: list[tuple[int, int]],
    prices: list[Price | None],
    there: list[bool],
    phase: Phase,
    iteration: int,
    escalation: int,
    seed: str,
) -> None:
    labels = [f"x={number}" for number in range(len(tallies))]
    candidates = [
        Candidate(label=label, price=price, there=here)
        for label, price, here in zip(labels, prices, there, strict=False)
    ]
    results = {"library": {label: result(s, s + f) for label, (s, f) in zip(labels, tallies, strict=True)}}
    route = decide(candidates, results, "library", seed=seed)
    order, _ = model_order(route, phase, iteration=iteration, escalation=escalation, prompt_tokens=10)
    assert sorted(order) == sorted(route.ladder) == labels
    assert {route.first, route.cheap} <= set(labels)
    if any(here for _, here in zip(labels, there, strict=False)):
        assert there[labels.index(route.first)]
        assert there[labels.index(route.cheap)]


OPENAI_STRONG, OPENAI_WEAK = "openai=strong", "openai=weak"
PRICES = {
    OPENAI_STRONG: Price(input_per_million_usd=3_000.0, output_per_million_usd=15_000.0),
    OPENAI_WEAK: Price(input_per_million_usd=250.0, output_per_million_usd=1_250.0),
}
ROUTE = Route(
    kind="library", ladder=(OPENAI_WEAK, OPENAI_STRONG), first=OPENAI_WEAK, cheap=OPENAI_WEAK, why="so it was decided"
)


class Models:
    """A strong and a weak model, and gateways to both. The owner lists the strong model first."""

    def __init__(self, setting: GatewaySetup) -> None:
        self.setting = setting
        self.strong = WireServer(lambda _p, _m: "strong", models=["strong"])
        self.weak = WireServer(lambda _p, _m: "weak", models=["weak"])

    def gateway(self, **more: Any) -> AbstractAsyncContextManager[Gateway]:
        chain = (backend(self.strong, model="strong"), backend(self.weak, model="weak"))
        return self.setting.gateway(*chain, **{"prices": PRICES, "measured": True, **more})


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Models]:
    new_models = Models(GatewaySetup(tmp_path))
    with new_models.strong, new_models.weak:
        yield new_models


async def first(gateway: Gateway, task_id: int = 7, **more: Any) -> str:
    """Send a request for a task, and return the name of the model that answers."""
    return (await gateway.task(task_id).complete(ask(task_id=task_id, **{"kind": Kind.LIBRARY, **more}))).text


def keep(gateway: Gateway, task_id: int = 7, route: Route = ROUTE) -> None:
    ModelResults(gateway.db).keep(task_id, 1, route).result()


def list_events(gateway: Gateway) -> list[Event]:
    return gateway.of(Told.MODEL_CALLED)


async def live_text(gateway: Gateway, queue: QueueManager, kind: Kind) -> str:
    """Run one task of a kind to its end, and return the model that began it.

    The weak model solves only tasks of the kind `library`.
    """
    queue.submit(parse_spec({"description": "Do it", "kind": kind, "priority": 9})).result()
    task = queue.claim("w1").result()
    assert task is not None
    began = await first(gateway, task.id, kind=kind, iteration=1)
    solved = began == "strong" or kind is Kind.LIBRARY
    ending = Ending.COMMITTED if solved else Ending.GAVE_UP
    queue.finish(task.id, task.fence, ending, commit=f"{task.id:040x}" if solved else None).result()
    return began


async def test_a_resumed_attempt_asks_the_models_that_were_decided_whatever_came_since(models: Models) -> None:
    async with models.gateway() as gateway:
        decided = [await first(gateway, task_id, iteration=1) for task_id in range(1, 13)]
        assert set(decided) == {"strong", "weak"}
        queue = QueueManager(gateway.db, EventLog(gateway.db))
        for _ in range(12):
            await live_text(gateway, queue, Kind.LIBRARY)
    async with models.gateway() as gateway:
        assert [await first(gateway, task_id, iteration=2, step_no=3) for task_id in range(1, 13)] == decided
        assert not any(event.kind is Told.MODEL_REPLAYED for event in gateway.events)


async def test_a_decision_is_durable_before_anybody_is_asked(models: Models) -> None:
    async with models.gateway() as gateway:
        models.strong.fail_next("hang")
        models.weak.fail_next("hang")
        asked = asyncio.create_task(first(gateway))
        await asyncio.to_thread(models.strong.until, lambda: models.strong.requests or models.weak.requests)
        assert ModelResults(gateway.db).route(7, 1) is not None
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)


async def test_phase_models_win(models: Models) -> None:
    async with models.gateway(phase_models={Phase.CODING: OPENAI_STRONG}) as gateway:
        keep(gateway)
        assert await first(gateway) == "strong"
        assert await first(gateway, phase=Phase.REFLECTING, step_no=1) == "weak"
    assert ["route" in event.data for event in list_events(gateway)] == [False, True]


async def test_the_owners_order_is_the_default_and_decides_nothing(models: Models) -> None:
    async with models.gateway(measured=False) as gateway:
        keep(gateway, 8)
        assert [await first(gateway, task_id) for task_id in (7, 8)] == ["strong", "strong"]
        assert ModelResults(gateway.db).route(7, 1) is None
        assert gateway.handler.status()[0].measured == ""
    assert not any("route" in event.data for event in list_events(gateway))


async def test_when_the_chosen_one_fails_the_stronger_one_answers(models: Models) -> None:
    with once_down(models.weak):
        async with models.gateway() as gateway:
            keep(gateway)
            assert await first(gateway) == "strong"
    assert gateway.of(Told.MODEL_FALLBACK)[0].data == {"from": OPENAI_WEAK, "to": OPENAI_STRONG, "step_no": 0}


@contextmanager
def once_down(server: WireServer) -> Iterator[None]:
    server.fail_next("503", 3)
    yield


async def test_models_that_came_with_new_settings_are_asked_last_and_those_that_went_are_not(models: Models) -> None:
    async with models.gateway() as gateway:
        keep(gateway, route=replace(ROUTE, ladder=("openai=gone", OPENAI_WEAK), first="openai=gone", cheap=OPENAI_WEAK))
        assert await first(gateway) == "weak"
        models.weak.fail_next("503", 3)
        assert await first(gateway, step_no=1) == "strong"
