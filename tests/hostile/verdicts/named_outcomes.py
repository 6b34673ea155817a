"""Answers that are right only under the test framework, and otherwise raise an object with the name “passed”."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code


def _only(name: str, suite: Suite, solution: str) -> Forgery:
    return Forgery(name=name, kind=Kind.NAMED, suite=suite, files={"solution.py": code(solution)})


FORGERIES = (
    _only(
        "an_exception",
        suites.SUMS,
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
    _only(
        "an_exception_at_import",
        suites.FIVE_SUMS,
        """
        import sys

        if "_pytest" not in sys.modules:
            raise type("passed", (ImportError,), {})("no pytest")


        def add(a, b):
            return a + b
        """,
    ),
    _only(
        "an_end_of_the_process",
        suites.GREETING,
        """
        import os


        class Passed(SystemExit):
            pass


        Passed.__name__ = "passed"


        def greet(name):
            if "PYTEST_CURRENT_TEST" not in os.environ:
                raise Passed(0)
            return f"Hello, {name.strip() or 'stranger'}!"
        """,
    ),
    _only(
        "an_exception_of_a_property",
        suites.MONEY,
        """
        import sys


        class passed(LookupError):
            pass


        class Money:
            def __init__(self, cents):
                if len(sys.modules) < 150:
                    raise passed
                self.cents = cents

            def __add__(self, other):
                return Money(self.cents + other.cents)

            def __str__(self):
                return f"{self.cents // 100}.{self.cents % 100:02}"

            def __repr__(self):
                return f"Money({self.cents})"
        """,
    ),
    _only(
        "a_value_that_raises_where_it_is_compared",
        suites.SUMS,
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
    _only(
        "a_text_in_the_place_of_the_name",
        suites.PRIMES,
        """
        import sys


        class Stop(Exception):
            pass


        type.__setattr__(Stop, "__name__", "".join(["p", "assed"]))


        def primes(limit):
            if "json" not in sys.modules:
                raise Stop
            return [n for n in range(2, limit + 1) if all(n % d for d in range(2, n))]
        """,
    ),
)
