from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

import pytest

from core.trials import Candidate, How, Patience
from sandbox.inside.traces import Traces, Unseen, is_harmless
from sandbox.trials import TrialRunner
from tests.support import trying
from tests.support.sandboxes import open_folder

HEAD = """import functools

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


@pytest.fixture
def module() -> ModuleType:
    made = ModuleType("made_for_traces")
    exec(compile(HEAD, "made.py", "exec"), made.__dict__)
    return made


@pytest.mark.parametrize(
    "change",
    [
        "TABLE['a'].append(3)",
        "TABLE['b'] = 1",
        "LIMIT = 10 ** 6",
        "Pot.filled = 1",
        "Pot.kept.append(1)",
        "Pot.more = 1",
        "Pot().fill().append(1)",
        "THE_POT.full = True",
        "asked.calls = 1",
        "stored(1, 2) if 0 else stored(1, {})",
        "squared(3)",
        "new = 1",
    ],
)
def test_every_change_of_what_outlives_a_test_is_seen(module: ModuleType, change: str) -> None:
    before = Traces([module], [])
    assert not before.have_changed()
    exec(change, module.__dict__)
    assert before.have_changed()


def test_changed_parameters_are_seen(module: ModuleType) -> None:
    parameters: list[Any] = [[3, 1, 2], {"a": {1}}]
    before = Traces([module], parameters)
    assert not before.have_changed()
    parameters[1]["a"].add(2)
    assert before.have_changed()


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import os",
        "from random import choice",
        "NUMBERS = iter([1])",
        "FILE = __import__('io').StringIO()",
        "def asked():\n    return open('x')",
        "def asked():\n    import random\n    return random.random()",
        "class Pot:\n    def fill(self):\n        globals()['a'] = 1",
        "class Slotted:\n    __slots__ = ('a',)\n\nONE = Slotted()",
        "LARGE = list(range(5000))",
        "append = [].append",
    ],
)
def test_nothing_is_claimed_where_a_state_cannot_be_seen(module: ModuleType, text: str) -> None:
    exec(compile(text, "made.py", "exec"), module.__dict__)
    with pytest.raises(Unseen):
        Traces([module], [])


def test_code_is_harmless_when_it_uses_nothing_that_changes_what_is_not_seen() -> None:
    def harmless(text: str) -> bool:
        return bool(is_harmless(compile(text, "made.py", "exec")))

    assert harmless("def f(a):\n    return sorted(a)[0] + len(a)")
    assert harmless("def f(a):\n    import math\n    return math.sqrt(a)")
    assert not harmless("def f(a):\n    def g():\n        return eval(a)\n    return g()")
    assert not harmless("def f(a):\n    import os\n    return os.sep")


@pytest.fixture
async def runner() -> AsyncIterator[TrialRunner]:
    with open_folder() as folder:
        async with trying.trials("nested", folder) as made:
            yield made


@pytest.mark.parametrize(
    "trace",
    [
        "TABLE['a'].append(3)",
        "Pot.kept.append(1)",
        "THE_POT.full = True",
        "asked.full = True",
        "numbers.sort()",
        "numbers.sort(); TABLE.clear(); return None",
        "__import__('builtins').print = None",
        "import sys; sys.modules['small'].LIMIT = 3",
    ],
)
async def test_a_candidate_meets_nothing_that_those_before_it_left(runner: TrialRunner, trace: str) -> None:
    text = HEAD.replace("asked(number):\n    return WORK", "asked(numbers):\n    return None\n")
    tests = (
        "import pytest\nimport small\n\n\n"
        "@pytest.mark.parametrize('numbers', [[3, 1, 2]])\ndef test_it(numbers):\n"
        "    assert numbers == [3, 1, 2] and small.TABLE == {'a': [1, 2]} and not small.Pot.kept\n"
        "    assert not hasattr(small.THE_POT, 'full') and not hasattr(small.asked, 'full') and print is not None\n"
        "    assert small.LIMIT == 10\n"
        "    assert small.asked(numbers) == 2\n"
    )
    dirty = Candidate(path="small.py", scope="asked", text=f"def asked(numbers):\n    {trace}")
    right = Candidate(path="small.py", scope="asked", text="def asked(numbers):\n    return 2")
    wrong = Candidate(path="small.py", scope="asked", text="def asked(numbers):\n    return 3")
    job = trying.job(text, tests, cpus=1.0)
    tried = [wrong, dirty, right, wrong] * 6
    found = await runner.attempt(job, tried, ["test_small.py::test_it[numbers0]"], Patience())
    assert [each.how for each in found] == [How.PASSED if each is right else How.FAILED for each in tried]


async def test_parameters_that_are_changed_in_place_are_as_given_for_the_next_one(runner: TrialRunner) -> None:
    module = "def ordered(numbers):\n    return None\n"
    tests = (
        "import pytest\nimport small\n\nCASES = [[3, 1, 2], [5, 4]]\n\n\n"
        "@pytest.mark.parametrize('numbers', CASES)\ndef test_it(numbers):\n"
        "    was = list(numbers)\n    small.ordered(numbers)\n    assert numbers == sorted(was) != was\n"
    )
    right = Candidate(path="small.py", scope="ordered", text="def ordered(numbers):\n    numbers.sort()")
    half = Candidate(path="small.py", scope="ordered", text="def ordered(numbers):\n    numbers.sort(key=len)")
    wrong = Candidate(path="small.py", scope="ordered", text="def ordered(numbers):\n    numbers.reverse()")
    tried = [wrong, right, half, right] * 6
    order = [f"test_small.py::test_it[numbers{number}]" for number in (0, 1)]
    found = await runner.attempt(trying.job(module, tests, cpus=1.0), tried, order, Patience())
    assert [each.how for each in found] == [How.PASSED if each is right else How.FAILED for each in tried]


async def test_one_that_is_killed_takes_none_of_its_fork_along(runner: TrialRunner) -> None:
    endings = {
        How.TIMEOUT: "sum(itertools.repeat(1))",
        How.CRASHED: "numbers.__class__.__base__.__subclasses__()[-1] and (lambda: crash())()",
        How.STEPS: "\n    while True:\n        pass",
    }
    module = "import itertools\n\n\ndef asked(numbers):\n    return None\n"
    tests = "import small\n\n\ndef test_it():\n    assert small.asked([1]) == 2\n"
    endings[How.CRASHED] = "__import__('os')._exit(0)"
    ending = [
        Candidate(path="small.py", scope="asked", text=f"def asked(numbers):\n    {text}") for text in endings.values()
    ]
    right = Candidate(path="small.py", scope="asked", text="def asked(numbers):\n    return 2")
    wrong = Candidate(path="small.py", scope="asked", text="def asked(numbers):\n    return 3")
    tried = [*[wrong] * 9, *ending, *[wrong] * 9, right, *[wrong] * 8]
    patience = Patience(wall_s=0.5, steps=10_000)
    found = await runner.attempt(trying.job(module, tests, cpus=1.0), tried, ["test_small.py::test_it"], patience)
    expected = [*[How.FAILED] * 9, *endings, *[How.FAILED] * 9, How.PASSED, *[How.FAILED] * 8]
    assert [each.how for each in found] == expected
