"""The figures on models: what they were asked, what that cost and took, and what the built-in engine spared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.core.built_in import BUILT_IN
from nightshift.core.events import Kind
from nightshift.report.stats import Spread, count_each, spread
from nightshift.storage.db.report_queries import CommitRow, LogRow, ModelCall

KINDS = (Kind.MODEL_FAILED, Kind.MODEL_FALLBACK, Kind.BUDGET_REACHED, Kind.MODEL_DOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of calls. `unpriced_tokens` belong to calls whose price is not known, which add nothing to `usd`."""

    usd: float = 0.0
    tokens: int = 0
    unpriced_tokens: int = 0

    @property
    def is_known(self) -> bool:
        """Tell whether `usd` says anything: there were no calls, or some had a price."""
        return not self.tokens or self.unpriced_tokens < self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """One model of one backend."""

    backend: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: Cost
    latency_s: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigures:
    """The built-in engine: it `saved` so many of all `replies`, and `solved` so many tasks without any model."""

    replies: int
    saved: int
    solved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """All models together. What failed is told by the log."""

    models: Sequence[ModelFigures]
    cost: Cost
    engine: EngineFigures
    failed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Backend and error → calls."""
    fallbacks: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """From and to → how often."""
    budgets: Mapping[str, int] = field(default_factory=dict)
    """Budget that was reached → how often."""

    @property
    def calls(self) -> int:
        """All that were answered."""
        return sum(model.calls for model in self.models)

    def failures(self) -> dict[str, int]:
        """Failed calls by backend."""
        counts = dict[str, int]()
        for (backend, _), count in self.failed.items():
            counts[backend] = counts.get(backend, 0) + count
        return counts


def fold(calls: Sequence[ModelCall], commits: Iterable[CommitRow], log: Sequence[LogRow]) -> Usage:
    """The figures of the calls of a span."""
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
