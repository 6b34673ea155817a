"""Which models an attempt asks, decided from what each of them did with earlier tasks of the kind.

The cheapest begins of those that are rather surely not much worse than the best; what a solved task costs is the cost
of an attempt divided by the rate at which attempts succeed. Which one is the best is never known for sure, so in a
share of the attempts the same rule is used on rates that are drawn from what is known (Thompson sampling: W. Thompson,
Biometrika 25, 1933). The lot of an attempt follows from its number. What is not the best is asked less and less, but
never forgotten: old results stop to count (`db.model_results.OF_A_KIND`), and what is unknown is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from core.routing import ModelResult, Results, Route
from core.states import Phase
from models.worth import Candidate, Worth, usual_usage, worth_of

MARGIN = 0.15
"""So much less often may the cheaper one succeed: what it fails is done by the next stronger one, at little more."""
LEARN = 0.1
"""The share of attempts in which rates are drawn: where models are far apart that changes nothing, so it is cheap."""
MEET = 0.3
"""The share that an undecided model begins instead, so that a good one is found within some fifty attempts."""
HARDLY_KNOWN = 5
"""Before so many attempts a cheaper model is not given up: one that solves 9 of 10 fails the first in 10 % of cases."""
HOPELESS = 0.1
"""One that surely solves fewer is not asked in easy phases either: it will not follow the format of replies."""
TRIES_PER_RUNG = 2
"""After so many tries that failed the next stronger model is asked: the first mends what the feedback names, mostly."""
SMALL_PROMPT = 3_000
"""A task whose whole planning prompt has fewer tokens is small: its repository is a few files, or none."""
EASY = frozenset({Phase.CLARIFYING, Phase.REFLECTING, Phase.REVIEW})
"""Phases whose replies are short, follow a form, and are checked or only advise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All models of a route in the order a request asks them: stronger ones follow the first, then weaker ones."""

    order: tuple[str, ...]
    why: str


def decide(candidates: Sequence[Candidate], results: Results, kind: str, *, lot: str) -> Route:
    """Decide for an attempt.

    Args:
        candidates: all models in the owner's order; at least one.
        results: what they did.
        kind: of the task.
        lot: what the attempt's lot is drawn from; the same gives the same.
    """
    known = _worths(candidates, results, kind)
    there = [worth for worth in known if worth.there] or known
    first, explored = _first(there, Random(lot))  # noqa: S311 - no secret
    # Of equals the owner's first is the strongest: he said that it is his best.
    ladder = sorted(known, key=lambda worth: (worth.rate, -known.index(worth)))
    return Route(
        kind=kind,
        ladder=tuple(worth.label for worth in ladder),
        first=first.label,
        cheap=_cheap(there, first).label,
        explored=bool(explored),
        why=_why(first, there, kind, explored),
    )


def turn(route: Route, phase: Phase, *, iteration: int, escalation: int, prompt_tokens: int) -> Turn:
    """Whom a request asks.

    Args:
        route: of the attempt.
        phase: that asks.
        iteration: its try; those before it failed.
        escalation: how often the loop was stuck; the first time, a higher temperature is tried.
        prompt_tokens: how long the prompt is.
    """
    ladder, top = route.ladder, len(route.ladder) - 1
    if phase is Phase.AUDIT:
        return _turn(ladder, top, "the strongest, for an audit")
    easy = phase in EASY or (phase is Phase.PLANNING and prompt_tokens < SMALL_PROMPT)
    failed, stuck = max(0, iteration - 1), max(0, escalation - 1)
    begins = ladder.index(route.cheap if easy else route.first)
    wanted = begins + failed // TRIES_PER_RUNG + stuck
    # There is none above the strongest; when the loop is stuck with it, others may see what it does not.
    at = min(wanted, top) - min(stuck, max(0, wanted - top)) % len(ladder)
    why = "the cheap one, for an easy phase" if easy else "who begins"
    if at != begins:
        why = f"instead of {ladder[begins]}, after {failed} failed {'try' if failed == 1 else 'tries'}"
        why += ", stuck" if stuck else ""
    return _turn(ladder, at, why)


def _turn(ladder: Sequence[str], at: int, why: str) -> Turn:
    return Turn(order=(*ladder[at:], *reversed(ladder[:at])), why=why)


def _worths(candidates: Sequence[Candidate], results: Results, kind: str) -> list[Worth]:
    here = {each: results.get(kind, {}).get(each.label, ModelResult()) for each in candidates}
    usual = {local: usual_usage(here, local=local) for local in (True, False)}
    others = [of for other, of in results.items() if other != kind]
    return [
        worth_of(each, here[each], (of.get(each.label, ModelResult()) for of in others), usual[each.local])
        for each in candidates
    ]


def _first(known: Sequence[Worth], dice: Random) -> tuple[Worth, str]:
    """Who begins, and why another than the rule says where the lot says so."""
    share = dice.random()
    usual = _cheapest_good(known)
    if len(known) > 1 and share < LEARN:
        drawn = {worth.label: worth.drawn(dice) for worth in known}
        # Here and below: one of unknown price is not tried, for what that would cost nobody can say.
        priced = [worth for worth in known if worth is usual or worth.attempt_usd is not None]
        found = _cheapest_good(priced, lambda worth: drawn[worth.label])
        return found, "" if found is usual else "drawn by lot, to learn"
    undecided = [worth for worth in known if _undecided(worth, usual, max(each.rate for each in known))]
    if undecided and share < LEARN + MEET:
        return min(undecided, key=lambda worth: worth.count), "drawn by lot, for too little is known of it"
    return usual, ""


def _undecided(worth: Worth, usual: Worth, best: float) -> bool:
    """Whether more attempts with this model could change who usually begins, for less money or for more success."""
    if worth is usual or worth.attempt_usd is None:
        return False
    if worth.usd_for_one(worth.high) < usual.usd_for_one(usual.rate):
        return worth.began < HARDLY_KNOWN or worth.low < best - MARGIN <= worth.high
    return worth.high - MARGIN > usual.rate


def _cheapest_good(known: Sequence[Worth], drawn: Callable[[Worth], float] | None = None) -> Worth:
    """The cheapest of those that are not much worse than the best, by bounds or by rates that were drawn."""
    rate = drawn or (lambda worth: worth.rate)
    low = drawn or (lambda worth: worth.low)
    best = max(known, key=rate)
    good = [worth for worth in known if worth is best or low(worth) >= rate(best) - MARGIN]
    return min(good, key=lambda worth: worth.usd_for_one(rate(worth)))


def _cheap(known: Sequence[Worth], first: Worth) -> Worth:
    """Who is asked in easy phases: the cheapest that is not hopeless; `first` where no price is known."""
    priced = [worth for worth in known if worth.attempt_usd is not None and worth.high >= HOPELESS]
    return min(priced, key=lambda worth: worth.attempt_usd or 0.0, default=first)


def _why(first: Worth, known: Sequence[Worth], kind: str, explored: str) -> str:
    if len(known) == 1:
        return f"{first.label} is the only one"
    others = "; ".join(said(worth) for worth in known if worth is not first)
    reason = explored or "the cheapest of those not much worse than the best"
    return f"{kind}: {said(first)} ({reason}); beside {others}"


def said(worth: Worth) -> str:
    """A model's worth in words."""
    cost = (
        "of unknown price"
        if worth.attempt_usd is None
        else f"about USD {worth.usd_for_one(worth.rate):.3g} a solved task"
    )
    measured = f"solved {worth.really_solved} of {worth.began}" if worth.began else "not measured yet"
    return f"{worth.label} {measured}, {cost}"
