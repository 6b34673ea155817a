"""Suites of tests that the owner supplies, with some checks held out, each with its honest answer."""

from __future__ import annotations

from nightshift.core.tasks.held_out import HeldOut, ValueCase
from nightshift.verdict.held.holding import of_tests
from tests.hostile.verdicts.forgery import Suite, code

PATH = "tests/test_given.py"


def _read_held(name: str, tests: str, honest: str, words: str, share: float = 0.25) -> Suite:
    given = {PATH: code(tests)}
    held = of_tests(given, words, share)
    return Suite(name=name, given=given, honest={"solution.py": code(honest)}, words=words, held=held)


HELD_SUMS = _read_held(
    "held_sums",
    """
    from solution import add


    def test_small():
        assert add(2, 3) == 5
        assert add(20, 31) == 51
        assert add(7, 8) == 15


    def test_large():
        assert add(1000, 234) == 1234
        assert add(5500, 17) == 5517


    def test_below():
        assert add(-4, -9) == -13
        assert add(-40, -2) == -42
    """,
    "def add(a, b):\n    return a + b\n",
    "Write `add` in solution.py: the sum of two integers.",
    0.4,
)
HELD_TABLE = _read_held(
    "held_table",
    """
    import pytest

    from solution import add


    @pytest.mark.parametrize(
        ("a", "b", "expected"),
        [(2, 3, 5), (20, 31, 51), (7, 8, 15), (1000, 234, 1234),
         (5500, 17, 5517), (61, 4, 65), (33, 44, 77), (9, 9, 18)],
    )
    def test_add(a, b, expected):
        assert add(a, b) == expected
    """,
    "def add(a, b):\n    return a + b\n",
    "Write `add` in solution.py: the sum of two integers.",
)
HELD_TWO = _read_held(
    "held_two",
    """
    from solution import add, double


    def test_add():
        assert add(2, 3) == 5
        assert add(20, 31) == 51
        assert add(7, 8) == 15
        assert add(70, 18) == 88
        assert add(5, 60) == 65


    def test_double():
        assert double(4) == 8
        assert double(21) == 42
        assert double(30) == 60
        assert double(16) == 32
        assert double(77) == 154
    """,
    """
    def add(a, b):
        return a + b


    def double(number):
        return 2 * number
    """,
    "Write `add` and `double` in solution.py.",
    0.4,
)
HELD_NAMES = _read_held(
    "held_names",
    """
    from solution import initials, shout


    def test_initials():
        assert initials("Ada Lovelace") == "AL"
        assert initials("Grace Brewster Hopper") == "GBH"
        assert initials("Alan Turing") == "AT"
        assert initials("Barbara Liskov") == "BL"
        assert initials("Donald Knuth") == "DK"


    def test_shout():
        assert shout("owl") == "OWL!"
        assert shout("badger") == "BADGER!"
        assert shout("fox") == "FOX!"
        assert shout("stoat") == "STOAT!"
        assert shout("lynx") == "LYNX!"
    """,
    """
    def initials(name):
        return "".join(word[0] for word in name.split())


    def shout(word):
        return word.upper() + "!"
    """,
    "Write `initials` and `shout` in solution.py.",
    0.4,
)
HELD_FLOATS = _read_held(
    "held_floats",
    """
    import math

    import pytest

    from solution import circle, mean


    def test_circle():
        assert circle(1.0) == pytest.approx(3.14159265, rel=1e-6)
        assert circle(2.0) == pytest.approx(12.5663706, rel=1e-6)
        assert circle(3.0) == pytest.approx(28.2743339, rel=1e-6)
        assert circle(4.0) == pytest.approx(50.2654825, rel=1e-6)
        assert circle(5.0) == pytest.approx(78.5398163, rel=1e-6)


    def test_mean():
        assert mean([1, 2]) == 1.5
        assert mean([4, 5]) == 4.5
        assert mean([10, 11]) == 10.5
        assert mean([7, 8]) == 7.5
        assert mean([3, 4]) == 3.5
    """,
    """
    import math


    def circle(radius):
        return math.pi * radius * radius


    def mean(numbers):
        return sum(numbers) / len(numbers)
    """,
    "Write `circle` and `mean` in solution.py.",
    0.4,
)
HELD_LISTS = _read_held(
    "held_lists",
    """
    from solution import count, unique


    def test_unique():
        assert unique([3, 1, 3]) == [3, 1]
        assert unique([4, 4, 8]) == [4, 8]
        assert unique([9, 2, 2]) == [9, 2]
        assert unique([5, 6, 5]) == [5, 6]
        assert unique([1, 7, 7]) == [1, 7]


    def test_count():
        assert count("a b a") == {"a": 2, "b": 1}
        assert count("x y x x") == {"x": 3, "y": 1}
        assert count("p q") == {"p": 1, "q": 1}
        assert count("k k m") == {"k": 2, "m": 1}
        assert count("t u u") == {"t": 1, "u": 2}
    """,
    """
    def unique(items):
        return list(dict.fromkeys(items))


    def count(text):
        return {word: text.split().count(word) for word in text.split()}
    """,
    "Write `unique` and `count` in solution.py.",
    0.4,
)
HELD_EVEN = _read_held(
    "held_even",
    """
    import unittest

    from solution import ends, is_even


    class Checks(unittest.TestCase):
        def test_even(self):
            self.assertEqual(is_even(4), True)
            self.assertEqual(is_even(18), True)
            self.assertEqual(is_even(226), True)
            self.assertEqual(is_even(340), True)
            self.assertEqual(is_even(712), True)

        def test_ends(self):
            self.assertEqual(ends([1, 2, 3]), (1, 3))
            self.assertEqual(ends([5, 8]), (5, 8))
            self.assertEqual(ends([6, 4, 2]), (6, 2))
            self.assertEqual(ends([9, 7]), (9, 7))
            self.assertEqual(ends([31, 32]), (31, 32))
    """,
    """
    def is_even(number):
        return number % 2 == 0


    def ends(items):
        return items[0], items[-1]
    """,
    "Write `is_even` and `ends` in solution.py.",
    0.4,
)
HELD_TRUTH = _read_held(
    "held_truth",
    """
    from solution import is_square, root


    def test_square():
        assert is_square(4)
        assert is_square(81)
        assert is_square(144)
        assert is_square(625)
        assert is_square(1024)
        assert not is_square(5)
        assert not is_square(82)
        assert not is_square(700)


    def test_root():
        assert root(36) == 6
        assert root(361) == 19
        assert root(169) == 13
        assert root(676) == 26
        assert root(961) == 31
    """,
    """
    def root(number):
        return round(number**0.5)


    def is_square(number):
        return root(number) ** 2 == number
    """,
    "Write `is_square` and `root` in solution.py.",
    0.4,
)
ONE_HELD = _read_held(
    "one_held",
    """
    from solution import grade


    def test_grade():
        assert grade("owl") == 3
        assert grade("badger") == 6
        assert grade("fox") == 3
        assert grade("hedgehog") == 8
    """,
    "def grade(word):\n    return len(word)\n",
    "Write `grade` in solution.py.",
)
CASES_BESIDE = Suite(
    name="cases_beside",
    given={PATH: code(
        """
        from solution import add


        def test_add():
            assert add(2, 3) == 5


        def test_below():
            assert add(-4, -9) == -13
        """
    )},
    honest={"solution.py": "def add(a, b):\n    return a + b\n"},
    words="Write `add` in solution.py: the sum of two integers.",
    held=HeldOut(
        cases=(
            ValueCase(call="solution:add", args="(7, 8)", expect="15", explicit=True),
            ValueCase(call="solution:add", args="(0, 0)", expect="0", explicit=True),
        ),
        sources=("cases",),
    ),
)  # fmt: skip

HELD_SUITES = tuple(suite for suite in globals().values() if isinstance(suite, Suite))
