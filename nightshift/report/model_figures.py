"""The report's figures about models: calls, cost and duration, and the calls that the built-in engine saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.core.built_in import BUILT_IN
from nightshift.core.events import Kind
from nightshift.report.stats import Spread, count_each, spread
from nightshift.storage.db.report_queries import CommitRow, LogRow, ModelCall

KINDS = (Kind.MODEL_FAILED, Kind.MODEL_FALLBACK, Kind.BUDGET_REACHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of calls. `unpriced_tokens` are tokens of calls without a known price; they add nothing to `usd`."""

    usd: float = 0.0
    tokens: int = 0
    unpriced_tokens: int = 0

    @property
    def is_known(self) -> bool:
        """True if `usd` is meaningful: there were no calls, or some had a price."""
        return not self.tokens or self.unpriced_tokens < self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """The figures of one model of one backend."""

    backend: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: Cost
    latency_s: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigures:
    """The built-in engine's part of the work.

    Attributes:
        replies: number of answered calls.
        saved: number of model calls that the engine made unnecessary.
        solved: number of tasks that the engine solved without a model.
    """

    replies: int
    saved: int
    solved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The figures of all models. Figures about failures and budgets come from the log."""

    models: Sequence[ModelFigures]
    cost: Cost
    engine: EngineFigures
    failed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Number of failed calls, by backend and error."""
    fallbacks: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Number of fallbacks, by the model that was asked first and the model that answered."""
    budgets: Mapping[str, int] = field(default_factory=dict)
    """Number of times that a budget was reached, by the name of the budget."""

    @property
    def calls(self) -> int:
        """Number of answered calls."""
        return sum(model.calls for model in self.models)

    def failures(self) -> dict[str, int]:
        """Return the number of failed calls by backend."""
        counts = dict[str, int]()
        for (backend, _), count in self.failed.items():
            counts[backend] = counts.get(backend, 0) + count
        return counts


def fold(calls: Sequence[ModelCall], commits: Iterable[CommitRow], log: Sequence[LogRow]) -> Usage:
    """Compute the figures of the calls of a span."""
    groups: dict[tuple[str, str], list[ModelCall]] = {}
    for call in calls:
        groups.setdefault((call.backend, call.model), []).append(call)
    return Usage(
        models=[_model(*name, groups[name]) for name in sorted(groups)],
        cost=cost_of(calls),
        engine=EngineFigures(
            replies=len(calls),
            saved=sum(bool(call.saved) for call in calls),
            solved=len({commit.task_id for commit in commits if commit.model == BUILT_IN}),
        ),
        failed=count_each((_text(r, "backend"), _text(r, "error")) for r in log if r.kind == Kind.MODEL_FAILED),
        fallbacks=count_each((_text(r, "from"), _text(r, "to")) for r in log if r.kind == Kind.MODEL_FALLBACK),
        budgets=count_each(_text(r, "budget") for r in log if r.kind == Kind.BUDGET_REACHED),
    )


def cost_of(calls: Iterable[ModelCall]) -> Cost:
    """Sum the cost of calls."""
    listed = list(calls)
    return Cost(
        usd=sum(call.cost_usd or 0.0 for call in listed),
        tokens=sum(call.tokens for call in listed),
        unpriced_tokens=sum(call.tokens for call in listed if call.cost_usd is None),
    )


def _model(backend: str, model: str, calls: Sequence[ModelCall]) -> ModelFigures:
    return ModelFigures(
        backend=backend,
        model=model,
        calls=len(calls),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        cost=cost_of(calls),
        latency_s=spread(call.latency_s for call in calls),
    )


def _text(row: LogRow, name: str) -> str:
    return str(row.data.get(name) or "unknown")
