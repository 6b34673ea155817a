from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.tests.support import trying
from engine.tests.support.trying import STATEFUL
from nightshift_engine.evaluation import Candidate, EvaluationLimits, RunStatus
from nightshift_engine.evaluator import SandboxEvaluator
from tests.support.sandboxes import open_folder

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[SandboxEvaluator]:
    with open_folder() as folder:
        async with trying.evaluator("nested", folder) as evaluator:
            yield evaluator


@pytest.mark.parametrize(
    "trace",
    [
        "TABLE['a'].append(3)",
        "THE_POT.full = True",
        "numbers.sort(); TABLE.clear(); return None",
        "__import__('builtins').print = None",
    ],
)
async def test_a_candidate_meets_nothing_that_those_before_it_left(runner: SandboxEvaluator, trace: str) -> None:
    text = STATEFUL.replace("asked(number):\n    return WORK", "asked(numbers):\n    return None\n")
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
    outcomes = await runner.evaluate(job, tried, ["test_small.py::test_it[numbers0]"], EvaluationLimits())
    assert [each.how for each in outcomes] == [
        RunStatus.PASSED if each is right else RunStatus.FAILED for each in tried
    ]


async def test_parameters_that_are_changed_in_place_are_as_given_for_the_next_one(runner: SandboxEvaluator) -> None:
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
    outcomes = await runner.evaluate(trying.job(module, tests, cpus=1.0), tried, order, EvaluationLimits())
    assert [each.how for each in outcomes] == [
        RunStatus.PASSED if each is right else RunStatus.FAILED for each in tried
    ]


async def test_one_that_is_killed_takes_none_of_its_fork_along(runner: SandboxEvaluator) -> None:
    endings = {
        RunStatus.TIMEOUT: "sum(itertools.repeat(1))",
        RunStatus.CRASHED: "numbers.__class__.__base__.__subclasses__()[-1] and (lambda: crash())()",
        RunStatus.STEPS: "\n    while True:\n        pass",
    }
    module = "import itertools\n\n\ndef asked(numbers):\n    return None\n"
    tests = "import small\n\n\ndef test_it():\n    assert small.asked([1]) == 2\n"
    endings[RunStatus.CRASHED] = "__import__('os')._exit(0)"
    ending = [
        Candidate(path="small.py", scope="asked", text=f"def asked(numbers):\n    {text}") for text in endings.values()
    ]
    right = Candidate(path="small.py", scope="asked", text="def asked(numbers):\n    return 2")
    wrong = Candidate(path="small.py", scope="asked", text="def asked(numbers):\n    return 3")
    tried = [*[wrong] * 9, *ending, *[wrong] * 9, right, *[wrong] * 8]
    limits = EvaluationLimits(wall_s=0.5, steps=10_000)
    outcomes = await runner.evaluate(trying.job(module, tests, cpus=1.0), tried, ["test_small.py::test_it"], limits)
    expected = [*[RunStatus.FAILED] * 9, *endings, *[RunStatus.FAILED] * 9, RunStatus.PASSED, *[RunStatus.FAILED] * 8]
    assert [each.how for each in outcomes] == expected
