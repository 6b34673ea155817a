"""Tells whether a change of the agent, such as of its prompts, made an arm worse: the same items before and after it.

A change passes where no arm solves fewer items by more than chance (McNemar's test, adjusted for the number of arms).
With few items that is easily passed, so what could have been overlooked is told, and an owner who wants more gives a
margin: then the 95 % interval of the difference must exclude a loss as large as that (non-inferiority).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nightshift.report.benchmark.results import Result
from nightshift.report.benchmark.statistics import LEVEL, Pairs, holm, paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """An arm before a change and after it.

    Attributes:
        arm: its name.
        pairs: its items; `first` is what it solved before.
        p_value: adjusted for the number of arms.
        passes: whether the change may stay, as far as this arm tells.
    """

    arm: str
    pairs: Pairs
    p_value: float
    passes: bool

    @property
    def is_worse(self) -> bool:
        """Whether it solves fewer by more than chance."""
        return self.p_value < LEVEL and self.pairs.only_first > self.pairs.only_second

    @property
    def most_lost(self) -> float:
        """The largest loss that the 95 % interval allows, as a share of the items."""
        return max(0.0, self.pairs.difference.high)


def gated(before: Sequence[Result], after: Sequence[Result], margin: float | None = None) -> tuple[Gated, ...]:
    """Each arm that has results on the same items before a change and after it.

    Args:
        before: results of the earlier version of the agent.
        after: results of the later one.
        margin: a loss that must be excluded, as a share of the items; None asks only that none is shown.
    """
    arms = sorted({one.arm for one in before} & {one.arm for one in after})
    found = {arm: paired(_solved(before, arm), _solved(after, arm)) for arm in arms}
    found = {arm: pairs for arm, pairs in found.items() if pairs.count}
    told = [
        Gated(arm=arm, pairs=pairs, p_value=p_value, passes=True)
        for (arm, pairs), p_value in zip(found.items(), holm([each.p_value for each in found.values()]), strict=True)
    ]
    return tuple(replace(one, passes=not one.is_worse and (margin is None or one.most_lost < margin)) for one in told)


def _solved(results: Sequence[Result], arm: str) -> Mapping[str, bool]:
    return {one.item: one.solved for one in results if one.arm == arm}
