"""A small tree with a fault in each of its scopes, and the evaluator over a real sandbox, for tests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from nightshift.core.text.masking import Masker
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine.evaluation import Candidate, EvaluationJob
from nightshift_engine.evaluator import SandboxEvaluator
from tests.support import sandboxes
from tests.support.trees import TextTree

MODULE = '''"""Small sums, and a pile of things."""


def total(numbers, start=0):
    """The sum of the numbers that are not negative; None where there is none."""
    result = start
    count = 0
    for number in numbers:
        if number < 0:
            continue
        result += number
        count += 1
    if count == 0:
        return None
    return result + 1


class Pile:
    """The thing that was put down last is taken first."""

    def __init__(self):
        self.things = []

    def put(self, thing):
        self.things.insert(0, thing)

    def take(self):
        return self.things.pop()


UNIT = len("ab")


def scaled(number):
    return number * UNIT
'''
TESTS = """from small import Pile, scaled, total


def test_nothing_has_no_total():
    assert total([]) is None


def test_one_is_its_own_total():
    assert total([5]) == 5


def test_negative_numbers_do_not_count():
    assert total([1, -7, 2]) == 3


def test_the_last_thing_is_taken_first():
    pile = Pile()
    pile.put("a")
    pile.put("b")
    assert pile.take() == "b"


def test_a_number_is_scaled():
    assert scaled(4) == 8
"""
STATEFUL = """import functools

TABLE = {"a": [1, 2]}
LIMIT = 10


class Pot:
    filled = 0
    kept: list = []

    def fill(self, more=[]):
        return more


THE_POT = Pot()


def counted(function):
    calls = []

    def inner(*given):
        calls.append(given) if len(given) > 1 else None
        return function(*given)

    return inner


@counted
def stored(key, held={}):
    return held.get(key)


@functools.lru_cache
def squared(number):
    return number * number


def asked(number):
    return WORK
"""
"""A module that keeps state in every way that is visible from outside."""
TOTAL = MODULE[MODULE.index("def total") : MODULE.index("class Pile")]
ORDER = tuple(
    f"test_small.py::test_{name}"
    for name in ("one_is_its_own_total", "nothing_has_no_total", "negative_numbers_do_not_count", "a_number_is_scaled")
)


@contextlib.asynccontextmanager
async def evaluator(name: str, folder: Path) -> AsyncIterator[SandboxEvaluator]:
    """Open an evaluator over the isolation with this name."""
    async with sandboxes.open_it(name, folder) as box:
        yield SandboxEvaluator(SuiteRuns(box, sandboxes.runtime(), folder / "staging", mask=Masker()))


def job(
    module: str = MODULE, tests: str = TESTS, more: Mapping[str, str] | None = None, **fields: Any
) -> EvaluationJob:
    """Make a job whose tree holds the module and whose tests are `tests`."""
    files = {"small.py": module, **(more or {})}
    return EvaluationJob(
        **{"base": TextTree(files), "change": {}, "tests": {"test_small.py": tests}, "wall_s": 20.0, **fields}
    )


def of_total(old: str, new: str) -> Candidate:
    """Return the candidate for the function `total` with a part of its text replaced."""
    assert old in TOTAL
    return Candidate(path="small.py", scope="total", text=TOTAL.replace(old, new))


MENDED = of_total("result + 1", "result")
