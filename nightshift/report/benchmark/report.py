"""The figures of a benchmark: what each arm solved at what price, and each two arms compared.

An arm is held against others on the items that both have worked on; what it did in all stands apart. Commits that a
model may have been trained on inflate its rate, so those after its cut-off are told apart where the owner has said when
that was; where he has not, the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from itertools import combinations
from statistics import fmean

from nightshift.core.shares import Interval, Share, wilson
from nightshift.report.benchmark.results import Arm, Item, Result
from nightshift.report.benchmark.statistics import LEVEL, Pairs, holm, pair_up


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """The figures of one arm.

    Attributes:
        arm: the arm.
        solved: of the items that it has worked on.
        interval: of its solve rate, 95 %.
        cutoff: when its model's training ended; None where nobody has said so.
        after_cutoff: what it solved of the commits since then; None without a cut-off.
        format_errors: attempts with a reply that could not be read.
        cost_usd: of all its attempts, as far as it is known.
        tokens: of an attempt, prompt and replies, on average; so are seconds and iterations.
        seconds: of an attempt.
        iterations: of an attempt.
        outcomes: whether it solved each item, by the item's key.
        last_at: when its last attempt ended; None where it has worked on nothing.
    """

    arm: Arm
    solved: Share
    interval: Interval
    cutoff: date | None
    after_cutoff: Share | None
    format_errors: Share
    cost_usd: float
    tokens: float
    seconds: float
    iterations: float
    outcomes: Mapping[str, bool]
    last_at: datetime | None

    @property
    def item_usd(self) -> float:
        """The average cost of an attempt, as far as it is known."""
        return self.cost_usd / max(1, self.solved.whole)

    @property
    def solved_usd(self) -> float | None:
        """The cost of a solved item, failures included; None where none was solved."""
        return self.cost_usd / self.solved.part if self.solved.part else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two arms on the items that both have worked on.

    Attributes:
        first: the name of the one that solved more; where memory is all that differs, of the one with memory.
        second: the name of the other one.
        pairs: what became of their items.
        difference: by how much more often the first one solves, with its 95 % interval.
        p_value: adjusted for the number of comparisons.
        is_uplift: whether memory is all that differs.
    """

    first: str
    second: str
    pairs: Pairs
    difference: Interval
    p_value: float
    is_uplift: bool

    @property
    def is_significant(self) -> bool:
        """Whether chance alone would seldom bring such a difference."""
        return self.p_value < LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFigures:
    """The newest run of several rounds, in each of which all items are tried.

    Attributes:
        rounds: what each arm did in each, those that have begun, the first one first.
        comparisons: uplift of memory in the last of them.
    """

    rounds: tuple[tuple[ArmFigures, ...], ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkReport:
    """All figures of a repository.

    Attributes:
        repo: the path of the repository.
        mode: what models were given of an item.
        items: how many there are, whether an arm has worked on them or not.
        arms: those that have worked on any, the best first.
        comparisons: of each two of them, uplift of memory first.
        learning: a run of several rounds; None where there is none.
    """

    repo: str
    mode: str
    items: int
    arms: tuple[ArmFigures, ...]
    comparisons: tuple[Comparison, ...]
    learning: RoundFigures | None = None


def fold(
    repo: str,
    items: Sequence[Item],
    arms: Sequence[Arm],
    results: Sequence[Result],
    *,
    mode: str = "",
    cutoffs: Mapping[str, date] | None = None,
    rounds: Sequence[Sequence[Result]] = (),
) -> BenchmarkReport:
    """The figures of a repository.

    Args:
        repo: its path.
        items: of the repository; results of others are left out.
        arms: all that are known.
        results: one for each item and arm.
        mode: what models were given of an item.
        cutoffs: when the training of models ended, by `backend=model` or `model`.
        rounds: the results of each round of a run of several.
    """
    items_by_key = {item.key: item for item in items}

    def rank_arms(of: Sequence[Result]) -> tuple[ArmFigures, ...]:
        all_figures = [
            _arm(arm, [result for result in of if result.arm == arm.name], items_by_key, cutoffs or {}) for arm in arms
        ]
        return tuple(sorted((figures for figures in all_figures if figures.solved.whole), key=_rank))

    ours, begun = rank_arms(results), [ranking for each in rounds if (ranking := rank_arms(each))]
    uplift = compare(begun[-1], uplift_alone=True) if begun else []
    learning = RoundFigures(rounds=tuple(begun), comparisons=tuple(uplift)) if begun else None
    return BenchmarkReport(
        repo=repo, mode=mode, items=len(items), arms=ours, comparisons=tuple(compare(ours)), learning=learning
    )


def compare(arms: Sequence[ArmFigures], *, uplift_alone: bool = False) -> list[Comparison]:
    """Each two arms that have worked on the same items, given the best first; or those that differ in memory alone."""
    comparisons = [_comparison(figures, other) for figures, other in combinations(arms, 2)]
    comparisons = [each for each in comparisons if each.pairs.count and (each.is_uplift or not uplift_alone)]
    adjusted = holm([each.p_value for each in comparisons])
    corrected_comparisons = [
        replace(each, p_value=p_value) for each, p_value in zip(comparisons, adjusted, strict=True)
    ]
    return sorted(corrected_comparisons, key=lambda each: not each.is_uplift)


def _comparison(figures: ArmFigures, other: ArmFigures) -> Comparison:
    is_uplift = replace(figures.arm, name="", memory=False) == replace(other.arm, name="", memory=False)
    first, second = (other, figures) if is_uplift and other.arm.memory else (figures, other)
    pairs = pair_up(first.outcomes, second.outcomes)
    if not is_uplift and pairs.only_second > pairs.only_first:  # of the items that both have worked on
        first, second = second, first
        pairs = pair_up(first.outcomes, second.outcomes)
    return Comparison(
        first=first.arm.name,
        second=second.arm.name,
        pairs=pairs,
        difference=pairs.difference,
        p_value=pairs.p_value,
        is_uplift=is_uplift,
    )


def _rank(figures: ArmFigures) -> tuple[float, float, str]:
    return -figures.solved.guess, figures.item_usd, figures.arm.name


def _arm(arm: Arm, results: Sequence[Result], items: Mapping[str, Item], cutoffs: Mapping[str, date]) -> ArmFigures:
    ours = [(items[result.item], result) for result in results if result.item in items]
    solved = _share_solved(result for _, result in ours)
    cutoff = cutoffs.get(arm.label, cutoffs.get(arm.model))
    since = datetime.combine(cutoff, time.max, UTC) if cutoff else None
    return ArmFigures(
        arm=arm,
        solved=solved,
        interval=wilson(solved),
        cutoff=cutoff,
        after_cutoff=_share_solved(result for item, result in ours if item.committed_at > since) if since else None,
        format_errors=Share(sum(result.format_errors > 0 for _, result in ours), len(ours)),
        cost_usd=sum(result.cost_usd for _, result in ours),
        tokens=_mean([result.tokens_in + result.tokens_out for _, result in ours]),
        seconds=_mean([result.seconds for _, result in ours]),
        iterations=_mean([result.iterations for _, result in ours]),
        outcomes={item.key: result.solved for item, result in ours},
        last_at=max((result.finished_at for _, result in ours), default=None),
    )


def _share_solved(results: Iterable[Result]) -> Share:
    outcomes = [result.solved for result in results]
    return Share(sum(outcomes), len(outcomes))


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
