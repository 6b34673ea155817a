"""Orders the models for a request: as the owner did, or by what was measured, decided once for each attempt.

What was decided is stored before anybody is asked, so a resumed attempt asks the models that it asked before, whatever
other tasks have taught since. Requests outside a task, phases of `PHASE_MODELS`, tasks with a model of their own and
settings with `routing: fixed` get the owner's order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from core.dialogue import ModelRequest
from core.routing import Results, Route
from models.base import estimate_request
from models.choosing import decide, turn
from models.circuit import State
from models.line import Line
from models.roster import Roster, available
from models.worth import Candidate


class Routes(Protocol):
    """What models did, and what was decided for attempts (`db.model_results.ModelResults`)."""

    def results(self) -> Results:
        """What each model did, by kind of task."""
        ...

    def route(self, task_id: int, attempt: int) -> Route | None:
        """What was decided for an attempt."""
        ...

    def keep(self, task_id: int, attempt: int, route: Route) -> Future[Any]:
        """Store what was decided for an attempt; the future is done when it is durable."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """The models in the order in which a request asks them; `route` is its choice by what was measured, as JSON."""

    lines: Sequence[Line]
    route: dict[str, Any] | None = None


class Router:
    """Used from one event loop.

    Args:
        routes: what was measured and decided; without it the owner's order holds.
    """

    def __init__(self, routes: Routes | None = None) -> None:
        self._routes = routes
        self._seen: Results = {}

    async def order(self, roster: Roster, request: ModelRequest) -> Order:
        """Whom a request asks, one after the other."""
        task_id, kind, routes = request.task_id, request.kind, self._routes
        said = request.phase in roster.terms.phase_models or bool(request.wanted)
        owners = not roster.terms.measured or said or len(roster.models) < 2
        if owners or task_id is None or kind is None or routes is None:
            return Order(roster.route(request))
        route = routes.route(task_id, request.attempt)
        if route is None:
            route = await self._decided(routes, roster, task_id, request.attempt, kind)
        return _order(roster, request, route)

    async def _decided(self, routes: Routes, roster: Roster, task_id: int, attempt: int, kind: str) -> Route:
        if not available(roster.models):
            await asyncio.gather(*(line.ready() for line in roster.models))
        self._seen = routes.results()
        candidates = [_candidate(line) for line in roster.models]
        route = decide(candidates, self._seen, kind, lot=f"route:{task_id}:{attempt}")
        await asyncio.shield(asyncio.wrap_future(routes.keep(task_id, attempt, route)))
        return route

    def seen(self, label: str) -> str:
        """What was known of a model when an attempt was decided last, in words; empty where nothing was."""
        known = {kind: of[label] for kind, of in self._seen.items() if label in of}
        return ", ".join(f"{kind} {result.solved} of {result.began}" for kind, result in known.items() if result.began)


def _candidate(line: Line) -> Candidate:
    there = line.presence.available and line.circuit.state is not State.OPEN
    return Candidate(label=line.label, price=line.price, local=line.backend.free, there=there)


def _order(roster: Roster, request: ModelRequest, route: Route) -> Order:
    """The lines of a route; those that it does not know, because settings have changed since, come last."""
    taken = turn(
        route,
        request.phase,
        iteration=request.iteration,
        escalation=request.escalation,
        prompt_tokens=estimate_request(request.messages),
    )
    lines = {line.label: line for line in roster.models}
    known = [lines[label] for label in taken.order if label in lines]
    told = {"first": taken.order[0], "why": f"{taken.why}; {route.why}", "explored": route.explored}
    return Order([*known, *(line for line in roster.models if line not in known)], told)
