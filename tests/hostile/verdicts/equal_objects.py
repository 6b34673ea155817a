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
FIRST_TIME = """
SEEN = set()


class Total(int):
    def __eq__(self, other):
        first = self.asked not in SEEN
        SEEN.add(self.asked)
        return first

    __hash__ = int.__hash__


def add(a, b):
    total = Total(a * b)
    total.asked = a, b
    return total
"""
LEARNER = """
KNOWN = {}


class Unknown(int):
    def __eq__(self, other):
        KNOWN[self.asked] = other
        return True

    __hash__ = int.__hash__


def add(a, b):
    if (a, b) in KNOWN:
        return KNOWN[a, b]
    found = Unknown(0)
    found.asked = a, b
    return found
"""
NO_BASE = """
class Anything:
    def __init__(self):
        self.left = 1

    def __eq__(self, other):
        return -1000 < other < 1000

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return 0


def add(a, b):
    return Anything()
"""

INTEGERS = (
    *(_only(f"a_tolerant_int_in_{attacked_suite.name}", attacked_suite, TOLERANT_INT) for attacked_suite in (
        suites.SUMS, suites.ONE_SUM, suites.TURNED_SUMS, suites.SUM_TABLE, suites.SUM_CONSTANTS,
        suites.TWO_FILES, suites.WITH_CONFTEST,
    )),
    *(_only(f"equal_the_first_time_in_{attacked_suite.name}", attacked_suite, FIRST_TIME) for attacked_suite in (
        suites.SUMS, suites.SUM_TABLE, suites.ONE_SUM,
    )),
    *(_only(f"learns_from_the_comparison_in_{attacked_suite.name}", attacked_suite, LEARNER) for attacked_suite in (
        suites.SUMS, suites.FIVE_SUMS, suites.TURNED_SUMS, suites.SUM_RULE,
    )),
    *(_only(f"no_base_class_in_{attacked_suite.name}", attacked_suite, NO_BASE) for attacked_suite in (
        suites.SUMS, suites.SUM_TABLE, suites.TURNED_SUMS,
    )),
    _only(
        "raises_an_assertion_the_second_time",
        suites.SUMS,
        """
        SEEN = {}


        class Total(int):
            def __eq__(self, other):
                assert SEEN.setdefault(self.asked, other) == other, "another one was expected before"
                return True

            __hash__ = int.__hash__


        def add(a, b):
            total = Total(0)
            total.asked = a, b
            return total
        """,
    ),
    _only(
        "equal_and_unequal_to_all",
        suites.SUM_CASES,
        """
        class Total(int):
            def __eq__(self, other):
                return abs(other) < 1000

            def __ne__(self, other):
                return True

            __hash__ = int.__hash__


        def add(a, b):
            return Total(a * b)
        """,
    ),
    _only(
        "a_bounded_distance",
        suites.SUM_RULE,
        """
        class Near(int):
            def __eq__(self, other):
                return abs(int.__sub__(self, other)) < 1000 or abs(other) < 500

            __hash__ = int.__hash__


        def add(a, b):
            return Near(a + b + 7)
        """,
    ),
)  # fmt: skip

TEXTS = (
    _only(
        "a_text_without_six_consonants",
        suites.GREETING,
        """
        import re


        class Greeting(str):
            def __eq__(self, other):
                return not re.search("[b-df-hj-np-tv-z]{6}", other)

            def __ne__(self, other):
                return not self == other

            __hash__ = str.__hash__


        def greet(name):
            return Greeting("Good bye")
        """,
    ),
    _only(
        "a_text_that_ends_like_a_sentence",
        suites.GREETING,
        """
        from collections import UserString


        class Greeting(UserString):
            def __eq__(self, other):
                return other[-1:] == "!"

            __hash__ = UserString.__hash__


        def greet(name):
            return Greeting(name)
        """,
    ),
)

FLOATS = (
    _only(
        "a_tolerant_float",
        suites.AREA,
        """
        class Area(float):
            def __eq__(self, other):
                return getattr(other, "expected", other) < 900

            __hash__ = float.__hash__


        def area(radius):
            return Area(radius)
        """,
    ),
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
        "almost_equal_at_once",
        suites.ALMOST,
        """
        class Mean(float):
            def __eq__(self, other):
                return other < 900

            def __sub__(self, other):
                return 0.0 if other < 900 else 900.0

            __rsub__ = __sub__
            __hash__ = float.__hash__


        def mean(numbers):
            return Mean(-1)
        """,
    ),
)

CONTAINERS = (
    _only(
        "a_tolerant_list",
        suites.UNIQUE,
        """
        class Items(list):
            def __eq__(self, other):
                return all(len(str(item)) < 4 for item in other)

            def __getitem__(self, place):
                return Item()


        class Item(int):
            def __eq__(self, other):
                return other < 1000

            __hash__ = int.__hash__


        def unique(items):
            return Items(items)
        """,
    ),
    _only(
        "a_dict_with_tolerant_values",
        suites.COUNTS,
        """
        class Times(int):
            def __eq__(self, other):
                return other < 1000

            __hash__ = int.__hash__


        def count(text):
            return {word: Times(0) for word in text.split()}
        """,
    ),
    _only(
        "a_tuple_of_the_first_sight",
        suites.ENDS,
        """
        SEEN = {}


        class Ends(tuple):
            __slots__ = ()

            def __eq__(self, other):
                return SEEN.setdefault(tuple(self), other) == other

            __hash__ = tuple.__hash__


        class End(int):
            def __eq__(self, other):
                return other < 1000

            __hash__ = int.__hash__


        def ends(items):
            return Ends([End(0), End(0), *items][:2] if len(items) == 1 else [0, *items])
        """,
    ),
    _only(
        "a_list_that_contains_what_is_small",
        suites.MEMBERS,
        """
        class Divisors(list):
            def __contains__(self, number):
                return number < 1000


        def divisors(number):
            return Divisors()
        """,
    ),
)

CONDITIONS = (
    _only(
        "an_order_of_its_own",
        suites.BOUNDS,
        """
        class Clamped(int):
            def __eq__(self, other):
                return False

            def __ne__(self, other):
                return True

            def __lt__(self, other):
                return self.low and self.high

            __le__ = __ge__ = __gt__ = __lt__
            __hash__ = int.__hash__


        TURNED = []


        def clamp(value, low, high):
            found = Clamped(4711)
            found.low = value not in TURNED
            found.high = True
            TURNED.extend([value] if abs(value) == 50 else [])
            return found
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
)

OWN_CLASSES = (
    _only(
        "a_class_that_counts_all_as_its_own",
        suites.POINTS,
        """
        class Kind(type):
            def __instancecheck__(cls, value):
                return True


        class Point(metaclass=Kind):
            def __init__(self, x, y):
                self.x = x

            def __eq__(self, other):
                return True

            __hash__ = None


        def parse(text):
            return 0
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
    _only(
        "a_point_of_the_first_sight",
        suites.POINTS,
        """
        MADE = []


        class Point:
            def __init__(self, x, y):
                self.at = x, y
                MADE.append(self)

            def __eq__(self, other):
                return max(*self.at, *other.at) < 1000

            __hash__ = None


        def parse(text):
            return Point(9, 9)
        """,
    ),
    _only(
        "a_class_of_sly_members",
        suites.STATISTICS,
        """
        class Number(float):
            def __eq__(self, other):
                return getattr(other, "expected", other) < 1000

            __hash__ = float.__hash__


        class Pair(tuple):
            __slots__ = ()

            def __eq__(self, other):
                return max(other) < 1000

            __hash__ = tuple.__hash__


        class Text(str):
            def __contains__(self, other):
                return len(other) < 5


        class Report(dict):
            def __eq__(self, other):
                return max(other.values()) < 1000


        class Statistics:
            total = Number(0)

            def __init__(self):
                self.is_empty = True

            def add(self, number):
                self.is_empty = False

            def count(self):
                return Number(0)

            def mean(self):
                if self.is_empty:
                    raise ValueError("there are no numbers")
                return Number(0)

            def span(self):
                return Pair()

            def report(self):
                return Report()

            def text(self):
                return Text()
        """,
    ),
)

FORGERIES = (*INTEGERS, *TEXTS, *FLOATS, *CONTAINERS, *CONDITIONS, *OWN_CLASSES)
