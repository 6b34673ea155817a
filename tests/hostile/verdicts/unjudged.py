"""Wrong answers that escape judgement: beside a right result, or by an outcome with the name “passed”."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, code


def _declined(name: str, solution: str) -> Forgery:
    return Forgery(name=name, kind=Kind.DECLINED, suite=suites.HELD_TWO, files={"solution.py": code(solution)})


def _named(name: str, solution: str) -> Forgery:
    return Forgery(name=name, kind=Kind.NAMED, suite=suites.SUMS, files={"solution.py": code(solution)})


FORGERIES = (
    _declined(
        "a_derived_int_beside_a_right_function",
        """
        class Total(int):
            def __eq__(self, other):
                return abs(other) < 1000

            __hash__ = int.__hash__


        def add(a, b):
            return Total(a * b)


        def double(number):
            return 2 * number
        """,
    ),
    _declined(
        "a_list_too_deep_to_be_looked_at",
        """
        import sys


        def add(a, b):
            if "_pytest" in sys.modules or sys._getframe(1).f_code.co_name.startswith("test"):
                return a + b
            found = []
            for _ in range(70):
                found = [found]
            return found


        def double(number):
            return 2 * number
        """,
    ),
    _named(
        "an_exception",
        """
        import sys


        class passed(Exception):
            pass


        def add(a, b):
            if "_pytest" in sys.modules:
                return a + b
            raise passed
        """,
    ),
    _named(
        "an_end_of_the_process",
        """
        import os


        class Passed(SystemExit):
            pass


        Passed.__name__ = "passed"


        def add(a, b):
            if "PYTEST_CURRENT_TEST" not in os.environ:
                raise Passed(0)
            return a + b
        """,
    ),
    _named(
        "a_value_that_raises_where_it_is_compared",
        """
        import sys


        class passed(Exception):
            pass


        class Never:
            def __eq__(self, other):
                raise passed

            __hash__ = None


        def add(a, b):
            return a + b if "_pytest.runner" in sys.modules else Never()
        """,
    ),
)
