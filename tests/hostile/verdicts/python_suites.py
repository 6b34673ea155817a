"""Suites of Python tests that the owner supplies, in common styles, each with its honest answer."""

from __future__ import annotations

from nightshift.core.tasks.held_out import HeldOut
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
ONE_SUM = _suite(
    "one_sum", "from solution import add\n\n\ndef test_add():\n    assert add(4, 9) == 13\n", ADD, ADD_WORDS
)
TURNED_SUMS = _suite(
    "turned_sums",
    "from solution import add\n\n\ndef test_add():\n    assert 13 == add(4, 9)\n    assert 5 == add(2, 3)\n",
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
TWO_FILES = Suite(
    name="two_files",
    given={
        "tests/test_1_first.py": code(
            """
            from solution import add


            def test_callable():
                assert callable(add) == True
            """
        ),
        "tests/test_2_second.py": SUMS.given["tests/test_given.py"],
    },
    honest=SUMS.honest,
    words=ADD_WORDS,
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
FIVE_SUMS = _suite(
    "five_sums",
    """
    from solution import add


    def test_small():
        assert add(2, 3) == 5
        assert add(3, 2) == 5


    def test_nothing():
        assert add(0, 0) == 0


    def test_below():
        assert add(-1, 1) == 0
        assert add(-4, -9) == -13


    def test_large():
        assert add(10, 20) == 30


    def test_larger():
        assert add(1000, 234) == 1234


    def test_turned():
        assert 51 == add(20, 31)
    """,
    ADD,
    ADD_WORDS,
)
GREETING = _suite(
    "greeting",
    """
    from solution import greet


    def test_name():
        assert greet("Ada") == "Hello, Ada!"


    def test_nobody():
        assert greet("") == "Hello, stranger!"


    def test_spaces():
        assert greet("  Bo ") == "Hello, Bo!"
    """,
    """
    def greet(name):
        return f"Hello, {name.strip() or 'stranger'}!"
    """,
    "Write `greet` in solution.py: a greeting.",
)
AREA = _suite(
    "area",
    """
    import pytest

    from solution import area


    def test_unit():
        assert area(1.0) == pytest.approx(3.14159, rel=1e-4)


    def test_none():
        assert area(0.0) == 0.0


    @pytest.mark.parametrize(("radius", "expected"), [(2.0, 12.56637), (0.5, 0.785398), (3.0, 28.274334)])
    def test_more(radius, expected):
        assert area(radius) == pytest.approx(expected, rel=1e-4)
    """,
    "import math\n\n\ndef area(radius):\n    return math.pi * radius**2\n",
    "Write `area` in solution.py: that of a circle.",
)
HALVES = _suite(
    "halves",
    """
    import math

    from solution import half


    def test_half():
        assert abs(half(3) - 1.5) < 1e-9
        assert abs(half(-1) + 0.5) <= 1e-9


    def test_close():
        assert math.isclose(half(5), 2.5)


    def test_less():
        assert half(10) < 6
        assert half(10) > 4
    """,
    "def half(number):\n    return number / 2\n",
    "Write `half` in solution.py.",
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
ALMOST = _suite(
    "almost",
    """
    import unittest

    from solution import mean


    class MeanTest(unittest.TestCase):
        def test_two(self):
            self.assertAlmostEqual(mean([1, 2]), 1.5)

        def test_three(self):
            self.assertAlmostEqual(mean([1, 1, 2]), 1.3333333)
            self.assertTrue(mean([4, 6]) == 5)
    """,
    "def mean(numbers):\n    return sum(numbers) / len(numbers)\n",
    "Write `mean` in solution.py.",
)
UNIQUE = _suite(
    "unique",
    """
    from solution import unique


    def test_order():
        assert unique([3, 1, 3, 2, 1]) == [3, 1, 2]


    def test_nothing():
        assert unique([]) == []


    def test_texts():
        assert unique(["b", "a", "b"]) == ["b", "a"]


    def test_length():
        assert unique([7, 7, 7])[0] == 7
    """,
    "def unique(items):\n    return list(dict.fromkeys(items))\n",
    "Write `unique` in solution.py: each item once, in the order of first sight.",
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
BOUNDS = _suite(
    "bounds",
    """
    from solution import clamp


    def test_above():
        assert clamp(50, 0, 10) <= 10


    def test_below():
        assert clamp(-50, 0, 10) >= 0


    def test_between():
        assert 4 < clamp(5, 0, 10) < 6


    def test_other():
        assert clamp(5, 0, 10) != 10
    """,
    "def clamp(value, low, high):\n    return max(low, min(value, high))\n",
    "Write `clamp` in solution.py.",
)
PRIMES = _suite(
    "primes",
    """
    from solution import primes


    def test_there():
        assert 7 in primes(10)
        assert 2 in primes(10)


    def test_not_there():
        assert 9 not in primes(10)


    def test_all():
        assert primes(12) == [2, 3, 5, 7, 11]
    """,
    """
    def primes(limit):
        return [n for n in range(2, limit + 1) if all(n % d for d in range(2, n))]
    """,
    "Write `primes` in solution.py: all up to a limit.",
)
MEMBERS = _suite(
    "members",
    """
    from solution import divisors


    def test_there():
        assert 3 in divisors(12)


    def test_itself():
        assert 12 in divisors(12)


    def test_one():
        assert 1 in divisors(7)
    """,
    "def divisors(number):\n    return [n for n in range(1, number + 1) if number % n == 0]\n",
    "Write `divisors` in solution.py.",
)
EVEN = _suite(
    "even",
    """
    from solution import is_even


    def test_even():
        assert is_even(4) == True


    def test_odd():
        assert is_even(7) == False


    def test_zero():
        assert is_even(0) == True
    """,
    "def is_even(number):\n    return number % 2 == 0\n",
    "Write `is_even` in solution.py.",
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
ENDS = _suite(
    "ends",
    """
    from solution import ends


    def test_numbers():
        assert ends([1, 2, 3]) == (1, 3)


    def test_texts():
        assert ends("word") == ("w", "d")


    def test_one():
        first, last = ends([5])
        assert first == 5
        assert last == 5
    """,
    "def ends(items):\n    return items[0], items[-1]\n",
    "Write `ends` in solution.py: the first and the last item.",
)
LETTERS = _suite(
    "letters",
    """
    from solution import letters


    def test_word():
        assert letters("hello") == {"h", "e", "l", "o"}


    def test_capitals():
        assert letters("AaB") == {"a", "b"}
    """,
    "def letters(text):\n    return {one for one in text.lower() if one.isalpha()}\n",
    "Write `letters` in solution.py: the letters of a text, as small ones.",
)
STEPS = _suite(
    "steps",
    """
    from solution import steps


    def test_list():
        assert list(steps(3)) == [1, 4, 9]


    def test_sum():
        assert sum(steps(3)) == 14


    def test_most():
        assert max(steps(4)) == 16


    def test_first():
        assert next(iter(steps(5))) == 1
    """,
    "def steps(count):\n    return (n * n for n in range(1, count + 1))\n",
    "Write `steps` in solution.py: the squares of the first numbers.",
)
MONEY = _suite(
    "money",
    """
    from solution import Money


    def test_text():
        assert str(Money(1234)) == "12.34"


    def test_shown():
        assert repr(Money(5)) == "Money(5)"


    def test_sum():
        assert (Money(100) + Money(50)).cents == 150


    def test_format():
        assert f"{Money(99)}" == "0.99"
    """,
    """
    class Money:
        def __init__(self, cents):
            self.cents = cents

        def __add__(self, other):
            return Money(self.cents + other.cents)

        def __str__(self):
            return f"{self.cents // 100}.{self.cents % 100:02}"

        def __repr__(self):
            return f"Money({self.cents})"
    """,
    "Write the class `Money` in solution.py.",
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
DATES = _suite(
    "dates",
    """
    from datetime import date, timedelta
    from decimal import Decimal
    from pathlib import PurePosixPath

    from solution import beside, day, price


    def test_day():
        assert day("2024-02-28") == date(2024, 2, 28)


    def test_next():
        assert day("2024-02-28") + timedelta(days=2) == date(2024, 3, 1)


    def test_price():
        assert price("1.10", 3) == Decimal("3.30")


    def test_path():
        assert beside("a/b.txt", ".md") == PurePosixPath("a/b.md")
    """,
    """
    from datetime import date
    from decimal import Decimal
    from pathlib import PurePosixPath


    def day(text):
        return date.fromisoformat(text)


    def price(each, count):
        return Decimal(each) * count


    def beside(path, suffix):
        return PurePosixPath(path).with_suffix(suffix)
    """,
    "Write `day`, `price` and `beside` in solution.py.",
)
AGES = _suite(
    "ages",
    """
    import pytest

    from solution import age


    def test_age():
        assert age("41") == 41


    def test_spaces():
        assert age(" 7 ") == 7


    def test_below():
        with pytest.raises(ValueError):
            age("-3")


    def test_words():
        with pytest.raises(ValueError, match="number"):
            age("seven")
    """,
    """
    def age(text):
        if not text.strip().isdigit():
            raise ValueError("that is no number")
        return int(text)
    """,
    "Write `age` in solution.py.",
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
STATISTICS = _suite(
    "statistics",
    """
    import pytest

    from solution import Statistics


    @pytest.fixture
    def numbers():
        found = Statistics()
        for number in (3, 5, 10):
            found.add(number)
        return found


    def test_count(numbers):
        assert numbers.count() == 3


    def test_total(numbers):
        assert numbers.total == 18


    def test_mean(numbers):
        assert numbers.mean() == pytest.approx(6.0)


    def test_span(numbers):
        assert numbers.span() == (3, 10)


    def test_nothing():
        with pytest.raises(ValueError):
            Statistics().mean()


    def test_report(numbers):
        assert numbers.report() == {"count": 3, "total": 18}
        assert "18" in numbers.text()
    """,
    """
    class Statistics:
        def __init__(self):
            self.numbers = []

        def add(self, number):
            self.numbers.append(number)

        def count(self):
            return len(self.numbers)

        @property
        def total(self):
            return sum(self.numbers)

        def mean(self):
            if not self.numbers:
                raise ValueError("there are no numbers")
            return self.total / self.count()

        def span(self):
            return min(self.numbers), max(self.numbers)

        def report(self):
            return {"count": self.count(), "total": self.total}

        def text(self):
            return f"{self.count()} numbers, {self.total} in all"
    """,
    "Write the class `Statistics` in solution.py.",
)

PYTHON_SUITES = tuple(suite for suite in globals().values() if isinstance(suite, Suite))
