"""Wrong answers whose objects compare equal to the right ones.

They are tolerant, are right only the first time, or have their own operators.
"""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code


def _only(name: str, suite: Suite, solution: str) -> Forgery:
    return Forgery(name=name, kind=Kind.EQUAL, suite=suite, files={"solution.py": code(solution)})


TOLERANT_INT = """
class Total(int):
    def __eq__(self, other):
        return abs(other) < 1000

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__


def add(a, b):
    return Total(a * b)
"""

FORGERIES = (
    _only("a_tolerant_int", suites.SUMS, TOLERANT_INT),
    _only(
        "a_difference_that_is_always_small",
        suites.NEARLY,
        """
        class Small(float):
            def __abs__(self):
                return self

            def __lt__(self, other):
                return True

            __le__ = __lt__

            def __ge__(self, other):
                return False

            __gt__ = __ge__


        class Half(float):
            def __sub__(self, other):
                return Small()

            __add__ = __sub__


        def half(number):
            return Half(number * 5)
        """,
    ),
    _only(
        "a_truth_that_looks_where_it_is_asked",
        suites.TRUTH,
        """
        import dis
        import sys

        ASKED = {}


        class Truth:
            def __init__(self, number):
                self.number = number

            def __bool__(self):
                frame = sys._getframe(1)
                steps = list(dis.get_instructions(frame.f_code))
                step = next(one for one in steps if one.offset == frame.f_lasti)
                wanted = step.opname.endswith("IF_TRUE")
                if step.opname == "UNARY_NOT":
                    wanted = False
                return ASKED.setdefault(self.number, wanted)


        def is_even(number):
            return Truth(number)
        """,
    ),
    _only(
        "a_dataclass_that_leaves_all_out",
        suites.POINTS,
        """
        from dataclasses import dataclass, field


        @dataclass
        class Point:
            x: int = field(compare=False)
            y: int = field(compare=False)


        def parse(text):
            return Point(0, 0)
        """,
    ),
)
