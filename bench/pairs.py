"""A dozen small tasks of our own with right and wrong answers, of kinds that are hard for a careful judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from nightshift.core.tasks.task import Files, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task with right and wrong answers.

    Attributes:
        path: the file that the tests judge.
        right: the text of this file that must be accepted.
        wrong: complete texts of this file, each of which must be refused.
        also: further files of the answer.
        beside: further files that come with the tests.
        base: the files of the commit that the task starts from.
        packages: distributions that the answer may import.
        words: the task's description, or None. The right answer must do what the description says.
    """

    name: str
    path: str
    test_path: str
    tests: str
    right: str
    wrong: tuple[str, ...]
    also: Files = field(default_factory=dict)
    beside: Files = field(default_factory=dict)
    base: Files = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    words: str | None = None

    @property
    def module(self) -> str:
        """Name of the answer's module."""
        return PurePosixPath(self.path).stem

    @property
    def given(self) -> Files:
        """The test file and the further files that come with it."""
        return {self.test_path: self.tests, **self.beside}

    @property
    def language(self) -> Language:
        """The language of the answer."""
        return Language.PYTHON if self.path.endswith(".py") else Language.JAVASCRIPT

    @property
    def answers(self) -> tuple[str, ...]:
        """The right answer and then the wrong ones."""
        return self.right, *self.wrong

    def change(self, text: str) -> Files:
        """Return the files of an answer whose main file has this text."""
        return {self.path: text, **self.also}


_TASKS = r"""
=== floats by approx: mean
import pytest
from mean import mean

def test_mean():
    assert mean([0.1, 0.2, 0.3]) == pytest.approx(0.2)
    assert mean([1]) == pytest.approx(1.0, abs=1e-9)
--- right
def mean(v):
    return sum(v) / len(v)
--- wrong
def mean(v):
    return sum(v) / (len(v) + 1)

=== exceptions: root
import pytest
from root import root

def test_root():
    assert root(9) == 3

def test_below_zero():
    with pytest.raises(ValueError, match="negative"):
        root(-1)
--- right
def root(n):
    if n < 0:
        raise ValueError('negative number')
    return int(n ** 0.5)
--- wrong
def root(n):
    return int(abs(n) ** 0.5)

=== parametrised: roman
import pytest
from roman import roman

@pytest.mark.parametrize("number, text", [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (1994, "MCMXCIV")])
def test_roman(number, text):
    assert roman(number) == text
--- right
TABLE = list(zip([1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1],
                 'M CM D CD C XC L XL X IX V IV I'.split()))


def roman(n):
    out = ''
    for value, text in TABLE:
        out += text * (n // value)
        n %= value
    return out
--- wrong
def roman(n):
    return {1: 'I', 4: 'IV', 9: 'IX', 14: 'XIV'}.get(n, '')

=== a generator: windows
from windows import windows

def test_windows():
    found = windows([1, 2, 3, 4], 2)
    assert next(found) == (1, 2)
    assert list(found) == [(2, 3), (3, 4)]

def test_none():
    assert list(windows([], 3)) == []
--- right
def windows(v, n):
    for i in range(len(v) - n + 1):
        yield tuple(v[i:i + n])
--- wrong
def windows(v, n):
    for i in range(len(v) - n):
        yield tuple(v[i:i + n])

=== a class in a unittest: stack
import unittest
from stack import Stack

class TestStack(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_last_in_first_out(self):
        self.stack.push(1)
        self.stack.push(2)
        self.assertEqual(self.stack.pop(), 2)
        self.assertEqual(len(self.stack), 1)

    def test_empty(self):
        with self.assertRaises(IndexError):
            self.stack.pop()
--- right
class Stack:
    def __init__(self):
        self._v = []

    def push(self, x):
        self._v.append(x)

    def pop(self):
        return self._v.pop()

    def __len__(self):
        return len(self._v)
--- wrong
class Stack:
    def __init__(self):
        self._v = []

    def push(self, x):
        self._v.append(x)

    def pop(self):
        return self._v.pop(0)

    def __len__(self):
        return len(self._v)

=== truth values and None: find
from find import find

def test_find():
    assert find([3, 1], 1)
    assert not find([], 1)
    assert find([1], 2) is False
    assert find(None, 2) is None
--- right
def find(v, x):
    return None if v is None else x in v
--- wrong
def find(v, x):
    return None if v is None else bool(v)

=== order that is stable: rank
from rank import rank

def test_rank():
    people = [("b", 2), ("a", 1), ("c", 2)]
    assert rank(people) == ["a", "b", "c"]
    assert rank(people[::-1]) == ["a", "c", "b"]
--- right
def rank(people):
    return [name for name, _ in sorted(people, key=lambda p: p[1])]
--- wrong
def rank(people):
    return sorted(name for name, _ in people)

=== a coroutine: gather
import asyncio
from gather import total

async def three():
    await asyncio.sleep(0)
    return 3

def test_total():
    assert asyncio.run(total([three(), three()])) == 6
--- right
import asyncio


async def total(jobs):
    return sum(await asyncio.gather(*jobs))
--- wrong
import asyncio


async def total(jobs):
    return len(await asyncio.gather(*jobs)) + 3

=== files and fixtures: count
import pytest
from count import words

@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("one two\ntwo\n")
    return path

def test_words(book):
    assert words(book) == {"one": 1, "two": 2}

def test_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        words(tmp_path / "none.txt")
--- right
from collections import Counter


def words(path):
    return Counter(path.read_text().split())
--- wrong
def words(path):
    return dict.fromkeys(path.read_text().split(), 1)

=== what is printed: hello
from hello import hello

def test_hello(capsys):
    hello("Ada")
    assert capsys.readouterr().out == "Hello, Ada!\n"
--- right
def hello(name):
    print(f'Hello, {name}!')
--- wrong
def hello(name):
    print(f'Hello {name}!')

=== a property over many inputs: dedent
from hypothesis import given, strategies as st
from dedent import squeeze

@given(st.text(alphabet="ab ", max_size=20))
def test_squeeze(text):
    found = squeeze(text)
    assert "  " not in found
    assert found.split() == text.split()
--- right
import re


def squeeze(text):
    return re.sub(' +', ' ', text)
--- wrong
def squeeze(text):
    return text.replace('  ', ' ')

=== large numbers and recursion: fib
from fib import fib

def test_small():
    assert [fib(n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]

def test_large():
    assert fib(300) == 222232244629420445529739893461909967206666939096499764990979600
--- right
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
--- wrong
def fib(n):
    return round(((1 + 5 ** 0.5) / 2) ** n / 5 ** 0.5)
"""


def _pair(text: str) -> Pair:
    head, _, rest = text.partition("\n")
    name, _, module = head.partition(": ")
    tests, right, wrong = (
        part.strip() + "\n" for part in rest.replace("--- wrong\n", "--- right\n").split("--- right\n")
    )
    return Pair(name=name, path=f"{module}.py", test_path=f"test_{module}.py", tests=tests, right=right, wrong=(wrong,))


PAIRS = tuple(map(_pair, _TASKS.split("\n=== ")[1:]))
