from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from engine.tests.support import trying
from engine.tests.support.trying import MODULE
from nightshift.sandbox.inside import values
from nightshift_engine.evaluation import Call, RunStatus, SuiteObservation
from nightshift_engine.evaluator import SandboxEvaluator
from tests.support.sandboxes import open_folder

pytestmark = pytest.mark.asyncio(loop_scope="module")

SPINNING = """

def spun(number):
    turns = 0
    while turns < number:
        number += 1
    return turns
"""
MORE_TESTS = """

def test_that_never_ends():
    from small import spun
    assert spun(3) == 3


def test_that_raises():
    total([1, None])


def test_that_is_skipped():
    import pytest
    pytest.skip("not now")


def test_that_ends_the_process():
    import os
    os._exit(0)
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[SandboxEvaluator]:
    with open_folder() as folder:
        async with trying.evaluator("nested", folder) as evaluator:
            yield evaluator


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def observation(runner: SandboxEvaluator) -> SuiteObservation:
    job = trying.job(MODULE + SPINNING, trying.TESTS + MORE_TESTS, {"test_other.py": ""}, wall_s=10.0)
    return await runner.observe(job)


def _lines(text: str, module: str = MODULE + SPINNING) -> int:
    return module[: module.index(text)].count("\n") + 1


async def test_a_look_tells_of_each_test_what_it_ran_and_what_it_failed_of(observation: SuiteObservation) -> None:
    tests = {test.id.rpartition("::test_")[2]: test for test in observation.tests}
    assert [test.id.partition("::")[0] for test in observation.tests] == ["test_small.py"] * len(tests)
    assert {name: test.how for name, test in tests.items()} == {
        "nothing_has_no_total": RunStatus.PASSED,
        "one_is_its_own_total": RunStatus.FAILED,
        "negative_numbers_do_not_count": RunStatus.FAILED,
        "the_last_thing_is_taken_first": RunStatus.FAILED,
        "a_number_is_scaled": RunStatus.PASSED,
        "that_never_ends": RunStatus.STEPS,
        "that_raises": RunStatus.FAILED,
        "that_ends_the_process": RunStatus.CRASHED,
    }
    nothing, negative = tests["nothing_has_no_total"], tests["negative_numbers_do_not_count"]
    assert nothing.steps == 1
    assert negative.steps == 4
    assert nothing.lines.keys() == {"small.py"}
    assert _lines("return None") in nothing.lines["small.py"]
    assert _lines("continue") not in nothing.lines["small.py"]
    assert {_lines("continue"), _lines("return result + 1")} <= negative.lines["small.py"]
    assert _lines("return None") not in negative.lines["small.py"]
    assert negative.duration_s > 0


async def test_frames_and_lines_are_those_of_the_file_although_it_is_instrumented(
    observation: SuiteObservation,
) -> None:
    tests = {test.id.rpartition("::test_")[2]: test for test in observation.tests}
    raised = tests["that_raises"].error
    assert raised is not None
    assert raised.kind == "TypeError"
    assert raised.frames == (("small.py", _lines("if number < 0"), "total"),)
    endless = tests["that_never_ends"]
    assert endless.error is not None
    assert endless.error.frames[-1][::2] == ("small.py", "spun")
    assert {_lines("while turns"), _lines("number += 1")} <= endless.lines["small.py"]
    assert _lines("return turns") not in endless.lines["small.py"]
    failed = tests["one_is_its_own_total"].error
    assert failed is not None
    assert failed.kind == "AssertionError"
    assert "6 == 5" in failed.message


async def test_variables_are_known_by_their_types(observation: SuiteObservation) -> None:
    kinds = observation.kinds["small.py:total"]
    assert kinds["numbers"] == {"list"}
    assert kinds["number"] == {"int", "NoneType"}
    assert observation.kinds["small.py:Pile.put"] == {"self": {"Pile"}, "thing": {"str"}}
    assert observation.kinds["small.py:"]["UNIT"] == {"int"}


async def test_calls_with_plain_data_are_kept_those_of_failing_tests_first(observation: SuiteObservation) -> None:
    def call(scope: str, *args: object) -> Call:
        return Call(path="small.py", scope=scope, args=values.pack(list(args)), kwargs=values.pack({}))

    calls = list(observation.calls)
    assert len(calls) == len({repr(each) for each in calls})
    assert call("total", [1, -7, 2], 0) in calls
    assert not any(each.scope.startswith("Pile") for each in calls)
    assert calls.index(call("total", [5], 0)) < calls.index(call("total", [], 0))
    assert calls.index(call("spun", 3)) < calls.index(call("scaled", 4))


async def test_files_that_cannot_be_imported_are_broken(runner: SandboxEvaluator) -> None:
    job = trying.job(MODULE.replace("def scaled(number):", "def scaled(number:"))
    observation = await runner.observe(job)
    assert observation.tests == ()
    error = observation.broken["test_small.py"]
    assert error.kind == "SyntaxError"
    assert error.frames[-1][0] == "small.py"
