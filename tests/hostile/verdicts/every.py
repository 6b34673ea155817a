"""All forged verdicts, and the right answers that must pass."""

from __future__ import annotations

from dataclasses import replace

from nightshift.core.tasks.verdicts import Label
from tests.hostile.verdicts import covert_channels, equal_objects, in_process, javascript, leaks, unjudged
from tests.hostile.verdicts.forgery import Forgery, Suite, code
from tests.hostile.verdicts.javascript_suites import BOUNDS, JAVASCRIPT_SUITES
from tests.hostile.verdicts.python_suites import COUNTS, PYTHON_SUITES

BEYOND = frozenset({
    "a_dataclass_that_leaves_all_out", "a_value_that_raises_where_it_is_compared", "reads_globals_of_the_tests",
    "a_number_by_symbol",
})  # fmt: skip
"""Forgeries that pass as `tests_passed`: no run can detect them, or only the checker does (the last one)."""

FORGERIES: dict[str, Forgery] = {
    forgery.id: replace(forgery, best=Label.TESTS_PASSED) if forgery.name in BEYOND else forgery
    for module in (equal_objects, unjudged, leaks, covert_channels, in_process, javascript)
    for forgery in module.FORGERIES
}


def _otherwise(name: str, suite: Suite, solution: str) -> Suite:
    """Return the suite with another right answer."""
    return replace(suite, name=f"{suite.name}_{name}", honest={next(iter(suite.honest)): code(solution)})


def _own(name: str, tests: str, solution: str) -> Suite:
    return Suite(
        name=name,
        given={"tests/test_given.py": code(tests)},
        honest={"solution.py": code(solution)},
        words="Write what the tests ask for in solution.py.",
    )


ORDINARY = (
    _own(
        "enums",
        """
        from solution import Color, Level, Mode, parse, worst


        def test_parse():
            assert parse("red") == Color.RED
            assert parse("blue") is Color.BLUE


        def test_order():
            assert worst([Level.LOW, Level.HIGH]) == Level.HIGH
            assert worst([Level.LOW]) < Level.HIGH


        def test_modes():
            assert Mode.READ | Mode.WRITE == Mode.ALL
            assert Mode.READ in Mode.ALL
        """,
        """
        from enum import Enum, Flag, IntEnum, auto


        class Color(Enum):
            RED = "red"
            BLUE = "blue"


        class Level(IntEnum):
            LOW = 1
            HIGH = 2


        class Mode(Flag):
            READ = auto()
            WRITE = auto()
            ALL = READ | WRITE


        def parse(text):
            return Color(text)


        def worst(levels):
            return max(levels)
        """,
    ),
    _otherwise(
        "as_a_counter",
        COUNTS,
        """
        from collections import Counter


        def count(text):
            return Counter(text.split())
        """,
    ),
    _otherwise(
        "as_an_object",
        BOUNDS,
        """
        class Bounded {
          constructor(value) {
            this.value = value;
          }

          valueOf() {
            return this.value;
          }
        }

        export const clamp = (value, low, high) => new Bounded(Math.min(high, Math.max(low, value)));
        """,
    ),
)
"""Ordinary code that resembles a forgery."""

RIGHT: dict[str, Suite] = {
    f"{suite.language}-{suite.name}": suite for suite in (*PYTHON_SUITES, *JAVASCRIPT_SUITES, *ORDINARY)
}
