"""Suites of Python tests that the owner supplies, in common styles, each with its honest answer."""

from __future__ import annotations

from nightshift.core.tasks.held_out import HeldOut, ValueCase
from nightshift.verdict.held.holding import of_tests
from tests.hostile.verdicts.forgery import Suite, code


def _suite(name: str, tests: str, honest: str, words: str, *, share: float = 0.0) -> Suite:
    given = {"tests/test_given.py": code(tests)}
    held = of_tests(given, words, share) if share else HeldOut()
    return Suite(name=name, given=given, honest={"solution.py": code(honest)}, words=words, held=held)


ADD = "def add(a, b):\n    return a + b\n"
ADD_WORDS = "Write `add` in solution.py: the sum of two integers."
SUMS = _suite(
    "sums",
    """
    from solution import add


    def test_small():
        assert add(2, 3) == 5


    def test_below():
        assert add(-1, 1) == 0


    def test_large():
        assert add(10, 20) == 30
    """,
    ADD,
    ADD_WORDS,
)
SUM_TABLE = _suite(
    "sum_table",
    """
    import pytest

    from solution import add


    @pytest.mark.parametrize("a, b, expected", [(2, 3, 5), (-1, 1, 0), (10, 20, 30), (7, 0, 7), (100, 23, 123)])
    def test_add(a, b, expected):
        assert add(a, b) == expected
    """,
    ADD,
    ADD_WORDS,
)
SUM_CASES = _suite(
    "sum_cases",
    """
    import unittest

    from solution import add


    class AddTest(unittest.TestCase):
        def test_small(self):
            self.assertEqual(add(2, 3), 5)

        def test_below(self):
            self.assertEqual(add(-4, 1), -3)

        def test_large(self):
            self.assertEqual(add(10, 20), 30)
            self.assertNotEqual(add(10, 20), 31)


    if __name__ == "__main__":
        unittest.main()
    """,
    ADD,
    ADD_WORDS,
)
SUM_RULE = _suite(
    "sum_rule",
    """
    from hypothesis import given
    from hypothesis import strategies as st

    from solution import add


    @given(st.integers(), st.integers())
    def test_sum(a, b):
        assert add(a, b) == a + b


    @given(st.integers())
    def test_nothing_added(a):
        assert add(a, 0) == a
    """,
    ADD,
    ADD_WORDS,
)
SUM_CONSTANTS = _suite(
    "sum_constants",
    """
    from solution import add

    PAIRS = [(2, 3), (-1, 1), (10, 20)]
    EXPECTED = [5, 0, 30]


    def test_all():
        assert [add(a, b) for a, b in PAIRS] == EXPECTED


    def test_each():
        for (a, b), wanted in zip(PAIRS, EXPECTED):
            assert add(a, b) == wanted, f"{a} + {b}"
    """,
    ADD,
    ADD_WORDS,
)
WITH_CONFTEST = Suite(
    name="with_conftest",
    given=SUMS.given,
    honest=SUMS.honest,
    words=ADD_WORDS,
    base={
        "solution.py": "def add(a, b):\n    raise NotImplementedError\n",
        "tests/conftest.py": "import pytest\n\nimport solution\n\n\n"
        "@pytest.fixture\ndef adding():\n    return solution.add\n",
    },
)
NEARLY = _suite(
    "nearly",
    """
    from solution import half


    def test_half():
        assert abs(half(3) - 1.5) < 1e-9


    def test_below():
        assert abs(half(-1) + 0.5) <= 1e-9
    """,
    "def half(number):\n    return number / 2\n",
    "Write `half` in solution.py.",
)
COUNTS = _suite(
    "counts",
    """
    from solution import count


    def test_words():
        assert count("a b a") == {"a": 2, "b": 1}


    def test_one():
        assert count("word") == {"word": 1}


    def test_value():
        assert count("x y x x")["x"] == 3
    """,
    """
    def count(text):
        return {word: text.split().count(word) for word in text.split()}
    """,
    "Write `count` in solution.py: how often each word is there.",
)
TRUTH = _suite(
    "truth",
    """
    from solution import is_even


    def test_even():
        assert is_even(4)


    def test_odd():
        assert not is_even(7)


    def test_zero():
        assert is_even(0)
    """,
    "def is_even(number):\n    return number % 2 == 0\n",
    "Write `is_even` in solution.py.",
)
POINTS = _suite(
    "points",
    """
    from solution import Point, parse


    def test_parse():
        assert parse("1,2") == Point(1, 2)


    def test_spaces():
        assert parse(" 3 , 4 ") == Point(3, 4)


    def test_kind():
        assert isinstance(parse("5,6"), Point)
    """,
    """
    from dataclasses import dataclass


    @dataclass
    class Point:
        x: int
        y: int


    def parse(text):
        return Point(*map(int, text.split(",")))
    """,
    "Write `Point` and `parse` in solution.py.",
)
PRINTED = _suite(
    "printed",
    """
    from solution import show, tell


    def test_show(capsys):
        show([1, 2])
        assert capsys.readouterr().out == "1\\n2\\n"


    def test_nothing(capsys):
        show([])
        assert capsys.readouterr().out == ""


    def test_tell(tmp_path):
        tell(tmp_path / "told.txt", "owl")
        assert (tmp_path / "told.txt").read_text() == "owl!"
    """,
    """
    def show(items):
        for item in items:
            print(item)


    def tell(path, text):
        path.write_text(f"{text}!")
    """,
    "Write `show` and `tell` in solution.py.",
)
AWAITED = _suite(
    "awaited",
    """
    from solution import double, fetch


    async def test_small():
        assert await fetch(2) == 4


    async def test_large():
        assert await fetch(30) == 60


    def test_double():
        assert double(7) == 14
    """,
    """
    def double(number):
        return 2 * number


    async def fetch(number):
        return double(number)
    """,
    "Write `double` and the coroutine `fetch` in solution.py.",
)
HELD_SUMS = _suite(
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
    share=0.4,
)
HELD_TWO = _suite(
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
    share=0.4,
)
ONE_HELD = _suite(
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
    share=0.25,
)
CASES_BESIDE = Suite(
    name="cases_beside",
    given={"tests/test_given.py": code(
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

PYTHON_SUITES = tuple(suite for suite in globals().values() if isinstance(suite, Suite))
