"""The figures of a benchmark: what each arm solved at what price, and a comparison of each pair of arms.

Two arms are compared on the items that both have worked on; an arm's total is shown separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from statistics import fmean

from nightshift.core.shares import Interval, Share, wilson
from nightshift.core.tasks.benchmark_results import Arm, Item, Result
from nightshift.report.benchmark.statistics import Pairs, holm, pair_up


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """The figures of one arm. Averages are per attempt.

    Attributes:
        arm: the arm.
        solved: the share of solved items among those that it has worked on.
        interval: the 95 % interval of its solve rate.
        format_errors: the share of attempts with an unreadable reply.
        cost_usd: the known cost of all its attempts.
        tokens: average tokens, prompts and replies together.
        seconds: average duration.
        iterations: average number of iterations.
        outcomes: maps each item's key to whether the arm solved it.
        last_at: the end of its last attempt; None if it has worked on nothing.
    """

    arm: Arm
    solved: Share
    interval: Interval
    format_errors: Share
    cost_usd: float
    tokens: float
    seconds: float
    iterations: float
    outcomes: Mapping[str, bool]
    last_at: datetime | None

    @property
    def item_usd(self) -> float:
        """The average known cost of an attempt, in USD."""
        return self.cost_usd / max(1, self.solved.whole)

    @property
    def solved_usd(self) -> float | None:
        """The cost of a solved item in USD, including failed attempts; None if none was solved."""
        return self.cost_usd / self.solved.part if self.solved.part else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two arms on the items that both have worked on.

    Attributes:
        first: name of the arm that solved more.
        second: name of the other arm.
        pairs: the arms' results on their common items.
        difference: the share that the first arm solves minus that of the second, with its 95 % interval.
        p_value: adjusted for the number of comparisons.
    """

    first: str
    second: str
    pairs: Pairs
    difference: Interval
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkReport:
    """All figures of a repository.

    Attributes:
        repo: the path of the repository.
        mode: the part of an item that models were given.
        items: number of items, whether or not an arm has worked on them.
        arms: the arms that have worked on any item, best first.
        comparisons: a comparison of each pair of these arms.
    """

    repo: str
    mode: str
    items: int
    arms: tuple[ArmFigures, ...]
    comparisons: tuple[Comparison, ...]


def fold(
    repo: str,
    items: Sequence[Item],
    arms: Sequence[Arm],
    results: Sequence[Result],
    *,
    mode: str = "",
) -> BenchmarkReport:
    """Compute the figures of a repository.

    Args:
        repo: the path of the repository.
        items: the repository's items; results of other items are ignored.
        arms: all known arms.
        results: one result per item and arm.
        mode: the part of an item that models were given.
    """
    items_by_key = {item.key: item for item in items}

    all_figures = [_arm(arm, [result for result in results if result.arm == arm.name], items_by_key) for arm in arms]
    ours = tuple(sorted((figures for figures in all_figures if figures.solved.whole), key=_rank))
    return BenchmarkReport(repo=repo, mode=mode, items=len(items), arms=ours, comparisons=tuple(compare(ours)))


def compare(arms: Sequence[ArmFigures]) -> list[Comparison]:
    """Compare each pair of arms that have common items; the arms are given best first."""
    comparisons = [_comparison(figures, other) for figures, other in combinations(arms, 2)]
    comparisons = [each for each in comparisons if each.pairs.count]
    adjusted = holm([each.p_value for each in comparisons])
    return [replace(each, p_value=p_value) for each, p_value in zip(comparisons, adjusted, strict=True)]


def _comparison(first: ArmFigures, second: ArmFigures) -> Comparison:
    pairs = pair_up(first.outcomes, second.outcomes)
    if pairs.only_second > pairs.only_first:  # `first` must be the arm that solved more
        first, second = second, first
        pairs = pair_up(first.outcomes, second.outcomes)
    return Comparison(
        first=first.arm.name,
        second=second.arm.name,
        pairs=pairs,
        difference=pairs.difference,
        p_value=pairs.p_value,
    )


def _rank(figures: ArmFigures) -> tuple[float, float, str]:
    return -figures.solved.guess, figures.item_usd, figures.arm.name


def _arm(arm: Arm, results: Sequence[Result], items: Mapping[str, Item]) -> ArmFigures:
    ours = [(items[result.item], result) for result in results if result.item in items]
    solved = Share(sum(result.solved for _, result in ours), len(ours))
    return ArmFigures(
        arm=arm,
        solved=solved,
        interval=wilson(solved),
        format_errors=Share(sum(result.format_errors > 0 for _, result in ours), len(ours)),
        cost_usd=sum(result.cost_usd for _, result in ours),
        tokens=_mean([result.tokens_in + result.tokens_out for _, result in ours]),
        seconds=_mean([result.seconds for _, result in ours]),
        iterations=_mean([result.iterations for _, result in ours]),
        outcomes={item.key: result.solved for item, result in ours},
        last_at=max((result.finished_at for _, result in ours), default=None),
    )


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
