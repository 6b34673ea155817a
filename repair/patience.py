"""Which tests a candidate has to pass, in which order, and how long it may take."""

from __future__ import annotations

from repair.evaluation import How, Observed, Patience, Sight

MOST_PASSING = 60
"""So many of the passing tests are run with each candidate, the fastest; all are run with what is chosen."""
MISSES = 3
"""So many failing tests are run with each candidate, where there are so many: a mend may help any of them."""
LEAST_STEPS, LEAST_S, MOST_S = 10_000, 0.5, 10.0
STEPS_FACTOR, WALL_FACTOR = 30, 8
"""So many times what the slowest passing test takes."""


def order_of(sight: Sight) -> list[str]:
    """The ids of the tests in the order of trying: failing ones first, fast ones first, not too many."""
    failing = sorted(sight.failing, key=_cost)
    passing = sorted((test for test in sight.tests if test.passed), key=_cost)
    return [test.id for test in (*failing, *passing[:MOST_PASSING])]


def patience_for(sight: Sight) -> Patience:
    """How long a candidate may take with one test, from what the passing tests took."""
    passing = [test for test in sight.tests if test.passed]
    steps = max((test.steps for test in passing), default=0)
    wall_s = max((test.duration_s for test in passing), default=0.0)
    misses = min(MISSES, max(1, len(sight.failing)))
    return Patience(
        steps=max(LEAST_STEPS, STEPS_FACTOR * steps),
        wall_s=min(MOST_S, max(LEAST_S, WALL_FACTOR * wall_s)),
        misses=misses,
    )


def _cost(test: Observed) -> tuple[bool, float]:
    return test.how in {How.TIMEOUT, How.STEPS}, test.duration_s
