"""Orders the models for a request: in the owner's order, or by their results with earlier tasks.

Measured routing decides once for each attempt, by Thompson sampling (W. Thompson, Biometrika 25, 1933). For each model
a success rate is drawn at random from a distribution that its results determine. The cheapest model whose draw is not
much below the best draw is asked first. A model with many results is chosen by its measured rate; a model with few
results is tried more often by chance. The distributions are Beta posteriors. The prior of a model for one kind of task
comes from its results with the other kinds, and weighs as much as a few attempts. The prior for all kinds begins at a
half.

The cost of a solved task is the cost of an attempt divided by the success rate. Costs are means over attempts, starting
from a guess that weighs as much as a few attempts. The cost of a model without a stated price is unknown, so it is
never chosen as the cheap model, nor tried in order to learn. Old results no longer count
(`storage.db.model_results.OF_A_KIND`).

A decision is stored before any model is asked, so a resumed attempt asks the same models again, even if other tasks
have produced new results. The owner's order applies to requests outside a task, to phases of `PHASE_MODELS`, to tasks
with a model of their own, and with the setting `routing: fixed`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from nightshift.core.dialogue import ModelRequest
from nightshift.core.routing import ModelResult, Results, Route
from nightshift.core.tasks.states import CircuitState, Phase
from nightshift.core.text.formats import money
from nightshift.models.backend_client import BackendClient
from nightshift.models.backend_pool import BackendPool, available
from nightshift.models.budgets import Price
from nightshift.models.token_estimates import estimate_request

if TYPE_CHECKING:
    from nightshift.storage.db.model_results import ModelResults

PRIOR_RATE, TRUSTED_RATE = 0.5, 0.8
"""Prior success rates of any model, and of the owner's first model. Without results, success and failure are equally
likely; the owner's first model is the one that the owner trusts most.
"""
OVERALL_WEIGHT = 2.0
"""Weight of the prior rate, in attempts. With a rate of one half it equals one solved and one failed attempt (Laplace's
rule).
"""
KIND_WEIGHT = 1.0
"""Weight, in attempts, of the results with the other kinds of tasks. It is low, since kinds differ."""
TOKENS_IN, TOKENS_OUT = 12_000, 3_000
"""Tokens that an attempt is assumed to use before any was measured: two tries, each with a prompt of some files and a
reply of one or two files.
"""
REMOTE_S, LOCAL_S = 60.0, 300.0
"""Seconds that an attempt is assumed to take before any was measured. A vendor's model writes 50 tokens per second; a
small machine reads and writes 10 per second.
"""
COST_WEIGHT = 3.0
"""Weight of the assumed tokens and seconds, in attempts. It is higher than that of rates, since tokens and time vary
less than success.
"""
USD_PER_HOUR = 0.05
"""Cost of an hour of waiting, in USD: the electricity of a machine that uses 150 W. Because of it, even a free model
has a small cost.
"""
NO_RESULT = ModelResult()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model that can be asked, with its known results.

    Attributes:
        label: the model, as `backend=model`.
        price: the model's price; None if none was stated.
        local: True if the model runs on the owner's machine.
        there: True if the model can be asked now.
        prior_rate: the share of solved attempts that is assumed before any was measured.
        measured: the model's results with the kind of the current task.
        others: the model's results with all other kinds.
    """

    label: str
    price: Price | None = None
    local: bool = False
    there: bool = True
    prior_rate: float = PRIOR_RATE
    measured: ModelResult = NO_RESULT
    others: ModelResult = NO_RESULT

    def learn(self, results: Results, kind: str) -> Candidate:
        """Return a copy with the model's results for a kind of task."""
        by_kind = {each: of.get(self.label, NO_RESULT) for each, of in results.items()}
        measured = by_kind.pop(kind, NO_RESULT)
        return replace(self, measured=measured, others=sum(by_kind.values(), NO_RESULT))

    @property
    def count(self) -> float:
        """Number of attempts, including those that the priors count as."""
        return self.measured.began + KIND_WEIGHT

    @property
    def solved(self) -> float:
        """Number of solved attempts, including those that the priors count as; not a whole number."""
        others = self.others
        prior = (others.solved + OVERALL_WEIGHT * self.prior_rate) / (others.began + OVERALL_WEIGHT)
        return self.measured.solved + KIND_WEIGHT * prior

    @property
    def rate(self) -> float:
        """The estimated share of attempts that the model solves."""
        return self.solved / self.count

    @property
    def attempt_usd(self) -> float:
        """The cost of an attempt in USD, including waiting; infinite if the model's price is not known."""
        return attempt_usd(self.price, self.measured, is_local=self.local) if self.price else math.inf

    def draw_rate(self, dice: Random) -> float:
        """Draw a success rate from the model's posterior."""
        return dice.betavariate(self.solved, self.count - self.solved)

    def usd_per_solution(self, rate: float) -> float:
        """Return the cost of a solved task in USD, at the given success rate."""
        return self.attempt_usd / max(rate, 1e-3)


def attempt_usd(price: Price, result: ModelResult, *, is_local: bool) -> float:
    """Return the mean cost of an attempt in USD, including the cost of waiting. Cached tokens count at full price.

    Tokens and time are means that start from a guess.
    """
    guesses = (TOKENS_IN, TOKENS_OUT, LOCAL_S if is_local else REMOTE_S)
    totals = (result.tokens_in, result.tokens_out, result.seconds)
    tokens_in, tokens_out, seconds = (
        (total + COST_WEIGHT * guess) / (result.began + COST_WEIGHT)
        for total, guess in zip(totals, guesses, strict=True)
    )
    tokens_usd = (tokens_in * price.input_per_million_usd + tokens_out * price.output_per_million_usd) / 1e6
    return tokens_usd + seconds * USD_PER_HOUR / 3600


MARGIN = 0.15
"""Margin by which the success rate of a cheaper model may be lower than the best rate. If the cheaper model fails, the
next stronger model tries, at little extra cost.
"""
LEAST_USEFUL_RATE = 0.1
"""A model with a lower success rate is not used even for easy phases, since it will not follow the format of replies.
"""
TRIES_PER_RUNG = 2
"""Number of failed tries after which the next stronger model is asked. A model gets more than one try, because its
first retries mostly fix what the feedback names.
"""
SMALL_PROMPT = 3_000
"""Prompt length in tokens. A task whose planning prompt is shorter counts as small, because its repository has few
files or none.
"""
EASY = frozenset({Phase.CLARIFYING, Phase.REFLECTING, Phase.REVIEW})
"""Phases with short replies in a fixed form, which are checked or only give advice."""


def decide(candidates: Sequence[Candidate], results: Results, kind: str, *, seed: str) -> Route:
    """Decide the order of models for an attempt.

    Args:
        candidates: all models in the owner's order; at least one.
        results: the models' results.
        kind: the kind of the task.
        seed: seed of the random choices; the same seed gives the same decision.
    """
    estimates = [each.learn(results, kind) for each in candidates]
    there = [estimate for estimate in estimates if estimate.there] or estimates
    first, is_drawn = _draw_first(there, Random(seed))  # noqa: S311 - no secret
    # Of models with equal rates, the one that comes first in the owner's order counts as the strongest.
    ladder = sorted(estimates, key=lambda estimate: (estimate.rate, -estimates.index(estimate)))
    return Route(
        kind=kind,
        ladder=tuple(estimate.label for estimate in ladder),
        first=first.label,
        cheap=_cheap(there, first).label,
        explored=is_drawn,
        why=_reason(first, there, kind, is_drawn),
    )


def model_order(
    route: Route, phase: Phase, *, iteration: int, escalation: int, prompt_tokens: int
) -> tuple[tuple[str, ...], str]:
    """Return all models of a route in the order in which a request asks them, and why the first one is first.

    After the first model come the stronger ones, then the weaker ones.

    Args:
        route: the attempt's route.
        phase: the phase that asks.
        iteration: number of the current try; all earlier tries failed.
        escalation: how often the loop was stuck. The first time only raises the temperature.
        prompt_tokens: length of the prompt in tokens.
    """
    ladder, top = route.ladder, len(route.ladder) - 1
    if phase is Phase.AUDIT:
        return _order_from(ladder, top), "the strongest model, for an audit"
    easy = phase in EASY or (phase is Phase.PLANNING and prompt_tokens < SMALL_PROMPT)
    failed, stuck = max(0, iteration - 1), max(0, escalation - 1)
    begins = ladder.index(route.cheap if easy else route.first)
    wanted = begins + failed // TRIES_PER_RUNG + stuck
    # At the strongest model, the order cannot go further up. If that model is stuck too, go down instead: a weaker
    # model may see what it misses.
    at = min(wanted, top) - min(stuck, max(0, wanted - top)) % len(ladder)
    why = "the cheap model, for an easy phase" if easy else "the first model of the task"
    if at != begins:
        why = f"instead of {ladder[begins]}, after {failed} failed {'try' if failed == 1 else 'tries'}"
        why += ", stuck" if stuck else ""
    return _order_from(ladder, at), why


def _order_from(ladder: Sequence[str], at: int) -> tuple[str, ...]:
    return (*ladder[at:], *reversed(ladder[:at]))


def _draw_first(estimates: Sequence[Candidate], dice: Random) -> tuple[Candidate, bool]:
    """Choose the model that is asked first, by success rates drawn at random from the models' results.

    Also return True if the estimated success rates would have led to another model.
    """
    usual = _cheapest_good(estimates, {estimate.label: estimate.rate for estimate in estimates})
    priced = [each for each in estimates if each is usual or each.price]
    first = _cheapest_good(priced, {estimate.label: estimate.draw_rate(dice) for estimate in priced})
    return first, first is not usual


def _cheapest_good(estimates: Sequence[Candidate], rates: Mapping[str, float]) -> Candidate:
    """Return the candidate with the lowest cost per solved task, of those at most `MARGIN` below the best rate."""
    least = max(rates.values()) - MARGIN
    good = [estimate for estimate in estimates if rates[estimate.label] >= least]
    return min(good, key=lambda estimate: estimate.usd_per_solution(rates[estimate.label]))


def _cheap(estimates: Sequence[Candidate], first: Candidate) -> Candidate:
    """Return the model for easy phases: the cheapest useful one, or `first` if no model has a known price."""
    useful = (each for each in estimates if each.price and each.rate >= LEAST_USEFUL_RATE)
    return min(useful, key=lambda estimate: estimate.attempt_usd, default=first)


def _reason(first: Candidate, estimates: Sequence[Candidate], kind: str, is_drawn: bool) -> str:
    if len(estimates) == 1:
        return f"{first.label} is the only model"
    others = "; ".join(_describe(estimate) for estimate in estimates if estimate is not first)
    reason = "chosen at random, to learn" if is_drawn else "the cheapest model that is not much worse than the best"
    return f"{kind}: {_describe(first)} ({reason}); compared with {others}"


def _describe(estimate: Candidate) -> str:
    """Describe a model's results and cost in words."""
    result, usd = estimate.measured, estimate.usd_per_solution(estimate.rate)
    cost = f"about {money(usd)} per solved task" if estimate.price else "price unknown"
    measured = f"solved {result.solved} of {result.began}" if result.began else "not measured yet"
    return f"{estimate.label} {measured}, {cost}"


@dataclass(frozen=True, slots=True)
class ClientOrder:
    """The models in the order in which a request tries them. `route` (JSON) explains an order based on past results."""

    clients: Sequence[BackendClient]
    route: dict[str, Any] | None = None


class Router:
    """Decides the order of models. Must be used from one event loop.

    Args:
        routes: stores the results and the decisions.
    """

    def __init__(self, routes: ModelResults) -> None:
        self._routes = routes
        self._seen: Results = {}

    async def order(self, pool: BackendPool, request: ModelRequest) -> ClientOrder:
        """Return the order in which a request asks the models."""
        task_id, kind = request.task_id, request.kind
        chosen = request.phase in pool.config.phase_models or bool(request.wanted)
        owners = not pool.config.measured or chosen or len(pool.models) < 2
        if owners or task_id is None or kind is None:
            return ClientOrder(pool.route(request))
        route = self._routes.route(task_id, request.attempt)
        if route is None:
            route = await self._decide(pool, request, task_id, kind)
        return _client_order(pool, request, route)

    async def _decide(self, pool: BackendPool, request: ModelRequest, task_id: int, kind: str) -> Route:
        if not available(pool.models):
            await asyncio.gather(*(client.ready() for client in pool.models))
        self._seen = self._routes.results()
        candidates = [_candidate(client, is_trusted=not number) for number, client in enumerate(pool.models)]
        route = decide(candidates, self._seen, kind, seed=f"route:{task_id}:{request.attempt}")
        await asyncio.shield(asyncio.wrap_future(self._routes.keep(task_id, request.attempt, route)))
        return route

    def describe_results(self, label: str) -> str:
        """Describe a model's results, as they were at the last decision; empty if there were none."""
        by_kind = {kind: of[label] for kind, of in self._seen.items() if label in of}
        return ", ".join(f"{kind} {each.solved} of {each.began}" for kind, each in by_kind.items() if each.began)


def _candidate(client: BackendClient, *, is_trusted: bool) -> Candidate:
    rate = TRUSTED_RATE if is_trusted else PRIOR_RATE
    there = client.health.available and client.circuit.state is not CircuitState.OPEN
    return Candidate(label=client.label, price=client.price, local=client.backend.free, there=there, prior_rate=rate)


def _client_order(pool: BackendPool, request: ModelRequest, route: Route) -> ClientOrder:
    """Return the clients in the order of a route.

    Models that the settings have added after the decision come last.
    """
    order, why = model_order(
        route,
        request.phase,
        iteration=request.iteration,
        escalation=request.escalation,
        prompt_tokens=estimate_request(request),
    )
    clients = {client.label: client for client in pool.models}
    ordered = [clients[label] for label in order if label in clients]
    choice = {"first": order[0], "why": f"{why}; {route.why}", "explored": route.explored}
    return ClientOrder([*ordered, *(client for client in pool.models if client not in ordered)], choice)
