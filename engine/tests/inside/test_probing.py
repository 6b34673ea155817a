from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.tests.support import trying
from engine.tests.support.trying import MENDED, MODULE, of_total
from nightshift.sandbox.inside import values
from nightshift_engine.evaluation import Call, CallResult, Candidate, EvaluationLimits, RunStatus
from nightshift_engine.evaluator import SandboxEvaluator
from tests.support.sandboxes import open_folder

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = EvaluationLimits(wall_s=0.5, steps=20_000)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[SandboxEvaluator]:
    with open_folder() as folder:
        async with trying.evaluator("nested", folder) as evaluator:
            yield evaluator


def _call(*args: object, scope: str = "total", **named: object) -> Call:
    return Call(path="small.py", scope=scope, args=values.pack(list(args)), kwargs=values.pack(named))


def _value(value: object) -> CallResult:
    return CallResult(how=RunStatus.PASSED, value=values.pack(value))


async def test_variants_are_told_apart_by_their_answers(runner: SandboxEvaluator) -> None:
    variants = [MENDED, of_total("+ 1", "+ 2"), Candidate(path="small.py", scope="", text=MODULE)]
    calls = [_call([1, 2]), _call([]), _call([3], start=4), _call(5, scope="scaled"), _call([None])]
    table = await runner.probe(trying.job(), variants, calls, PATIENCE)
    raised = CallResult(how=RunStatus.FAILED, raised=("TypeError", "Exception", "BaseException"))
    assert [list(answers) for answers in table] == [
        [_value(3), _value(None), _value(7), _value(10), raised],
        [_value(5), _value(None), _value(9), _value(10), raised],
        [_value(4), _value(None), _value(8), _value(10), raised],
    ]


async def test_a_call_that_has_to_be_ended_costs_only_its_own_answer(runner: SandboxEvaluator) -> None:
    hanging = of_total(
        "count = 0",
        "if numbers == [1]:\n        while True: pass\n"
        "    if numbers == [2]:\n        __import__('time').sleep(9)\n"
        "    if numbers == [3]:\n        __import__('os')._exit(0)\n"
        "    if numbers == [4]:\n        sum(__import__('itertools').repeat(1))\n    count = 0",
    )
    calls = [_call([number]) for number in range(6)]
    (answers,) = await runner.probe(trying.job(), [hanging], calls, PATIENCE)
    assert [answer.how for answer in answers] == [
        RunStatus.PASSED, RunStatus.STEPS, RunStatus.TIMEOUT, RunStatus.CRASHED, RunStatus.TIMEOUT, RunStatus.PASSED,
    ]  # fmt: skip


async def test_a_function_that_changes_its_arguments_is_told_by_them(runner: SandboxEvaluator) -> None:
    module = "def ordered(numbers, names):\n    numbers.sort()\n\n\ndef left(numbers):\n    return None\n"
    other = Candidate(path="small.py", scope="", text=module.replace("sort()", "sort(key=abs)"))
    same = Candidate(path="small.py", scope="", text=module)
    calls = [_call([3, -4], {"b", "a"}, scope="ordered"), _call([3, -4], scope="left")]
    first, second = await runner.probe(trying.job(module), [same, other], calls, PATIENCE)
    assert values.unpack(first[0].value) == (None, [[-4, 3], {"a", "b"}])
    assert second[0] == first[1] == second[1] == _value(None), (
        "what is as it was before, in whatever order, was not changed"
    )


async def test_generators_stand_for_what_they_yield_and_long_values_for_their_digest(runner: SandboxEvaluator) -> None:
    module = "def down(number):\n    while number > 0:\n        yield number\n        number -= 1\n"
    same = Candidate(path="pack/small.py", scope="", text=module)
    other = Candidate(path="pack/small.py", scope="", text=module.replace("> 0", ">= 0"))
    calls = [Call(path="pack/small.py", scope="down", args=["l", ["i", hex(n)]], kwargs=["d"]) for n in (2, 900)]
    job = trying.job(more={"pack/__init__.py": "", "pack/small.py": module})
    first, second, third = await runner.probe(job, [same, same, other], calls, PATIENCE)
    assert first[0] == _value([2, 1])
    assert third[0] == _value([2, 1, 0])
    assert first[1] == second[1] != third[1]
    assert first[1].how is RunStatus.PASSED
