"""A change passes where no arm solves fewer of the same items by more than chance, or than the owner will bear."""

from __future__ import annotations

from nightshift.report.benchmark.gate import gated
from tests.support.benchmarks import arm, items, results

ITEMS = items(40)
PLAIN, TOOLS = arm("plain"), arm("tools", tools=True)


def test_a_change_that_loses_much_is_stopped() -> None:
    (found,) = gated(results(PLAIN, ITEMS, range(30)), results(PLAIN, ITEMS, range(15)))
    assert found.is_worse
    assert not found.passes
    assert (found.pairs.first.part, found.pairs.second.part, found.pairs.count) == (30, 15, 40)


def test_what_chance_brings_passes_and_tells_what_may_be_overlooked() -> None:
    before, after = results(PLAIN, ITEMS, range(20)), results(PLAIN, ITEMS, [*range(18), 30])
    (found,) = gated(before, after)
    assert found.passes
    assert 0.02 < found.most_lost < 0.2
    assert not gated(before, after, margin=0.02)[0].passes, "a loss of two points is not excluded"
    assert gated(before, after, margin=0.2)[0].passes


def test_a_change_that_gains_passes_whatever_the_margin() -> None:
    (found,) = gated(results(PLAIN, ITEMS, range(10)), results(PLAIN, ITEMS, range(30)), margin=0.01)
    assert found.passes
    assert found.most_lost == 0


def test_only_arms_and_items_of_both_are_compared_and_several_arms_are_held_to_more() -> None:
    before = [*results(PLAIN, ITEMS[:10], range(10)), *results(TOOLS, ITEMS, range(10))]
    after = [*results(PLAIN, ITEMS[5:], range(40)), *results(arm("new"), ITEMS, range(3))]
    (found,) = gated(before, after)
    assert (found.arm, found.pairs.count) == ("plain", 5)
    alone = gated(results(PLAIN, ITEMS, range(20)), results(PLAIN, ITEMS, range(14)))[0].p_value
    both = gated(
        [*results(PLAIN, ITEMS, range(20)), *results(TOOLS, ITEMS, range(20))],
        [*results(PLAIN, ITEMS, range(14)), *results(TOOLS, ITEMS, range(14))],
    )
    assert all(one.p_value > alone for one in both)
