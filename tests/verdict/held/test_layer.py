"""The layer of held-out cases in the sandbox: explicit cases, an oracle, and cases that cannot be judged."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.verdicts import Label, Verdict
from nightshift.verdict.held.holding import hold, of_tests
from tests.support.sandboxes import Judge

TESTS = {"tests/test_given.py": "from solution import mean\n\n\ndef test_a():\n    assert mean([1, 3]) == 2\n"}
RIGHT = "def mean(values):\n    return sum(values) / len(values)\n"
ORACLE = (
    "def mean(values):\n    total = 0.0\n    for value in values:\n        total += value / len(values)\n"
    "    return total\n"
)


def read_held(*cases: dict[str, Any], tests: dict[str, str] | None = None, **more: Any) -> HeldOut:
    return hold(parse_spec({"description": "x", "tests": tests or {}, "cases": list(cases), **more}), {}, 0.25)


async def judge_change(
    judge: Judge, solution: str, out: HeldOut, tests: dict[str, str] | None = None, **more: Any
) -> Verdict:
    return await judge({"solution.py": solution}, tests or {}, held=out, **more)


async def test_explicit_cases_beside_tests_make_a_pass_verified(judge: Judge) -> None:
    cases = read_held({"call": "solution.mean", "args": [[2, 4]], "expect": 3.0}, tests=TESTS)
    verdict = await judge_change(judge, RIGHT, cases, TESTS)
    assert verdict.passed, verdict.reason
    assert (verdict.evidence.label, verdict.evidence.held_from) == (Label.VERIFIED, ("cases",))
    assert verdict.reason == "1 test passed and 1 held-out case"


@pytest.mark.parametrize(
    ("solution", "way"),
    [
        ("def mean(values):\n    return 2.0\n", "gives a wrong value"),
        ("def mean(values):\n    return [][len(values)] if 4 in values else 2\n", "raises an exception"),
        ("def mean(values):\n    print(values)\n    import os; os._exit(0)\n", "end the process"),
        ("def mean(values):\n    while 4 in values:\n        pass\n    return 2\n", "do not end in time"),
        ("class mean:\n    def __init__(self, values): ...\n    def __eq__(self, other): return True\n", "wrong type"),
    ],
)  # fmt: skip
async def test_a_wrong_answer_to_an_explicit_case_is_told_by_its_way_alone(
    judge: Judge, solution: str, way: str
) -> None:
    out = read_held({"call": "solution.mean", "args": [[2, 4]], "expect": 3.0})
    verdict = await judge_change(judge, solution, out, cpu_s=3)
    assert not verdict.passed
    assert way in verdict.reason
    assert "[2, 4]" not in repr((verdict.reason, verdict.failures))
    assert [failure.kind for failure in verdict.failures] == ["HeldOut"]


async def test_cases_alone_judge_a_task_without_tests(judge: Judge) -> None:
    out = read_held(
        {"call": "solution:mean", "args": [[2, 4]], "expect": 3.0},
        {"call": "solution:mean", "kwargs": {"values": []}, "raises": "ZeroDivisionError"},
        {"call": "solution:mean", "args": [[0.1, 0.2, 0.3]], "expect": 0.2, "tolerance": 1e-9},
    )
    right, wrong, missing = (
        await judge_change(judge, RIGHT, out),
        await judge_change(judge, RIGHT.replace("len", "1 + len"), out),
        await judge({"other.py": RIGHT}, {}, held=out),
    )
    assert (right.passed, right.evidence.label, right.evidence.held_out) == (True, Label.VERIFIED, 3)
    assert not wrong.passed
    assert not missing.passed
    assert "cannot be called" in missing.reason


async def test_an_oracle_knows_the_answers_to_given_inputs(judge: Judge) -> None:
    out = read_held({"call": "solution.mean", "args": [[2, 4]]}, {"call": "solution.mean", "args": [[]]}, oracle=ORACLE)
    right = await judge_change(judge, RIGHT.replace("return", "return 0.0 if not values else"), out)
    assert right.passed, right.unseen
    assert right.evidence.label is Label.VERIFIED
    assert right.evidence.held_from == ("oracle",)
    assert right.evidence.held_out == 2
    wrong = await judge_change(judge, "def mean(values):\n    return 2.0\n", out)
    assert not wrong.passed


async def test_an_oracle_that_gives_nothing_lets_nothing_pass(judge: Judge) -> None:
    out = read_held({"call": "solution.mean", "args": [[2, 4]]}, oracle="import os\nos._exit(0)\n")
    verdict = await judge_change(judge, RIGHT, out)
    assert not verdict.passed
    assert "the oracle answered nothing" in verdict.reason


async def test_the_tested_code_and_the_oracle_never_meet(judge: Judge) -> None:
    peeping = (
        "import pathlib\n\ndef mean(values):\n"
        "    seen = [p for p in pathlib.Path('.').rglob('*') if p.is_file() and 'total ' '+=' in p.read_text()]\n"
        "    return 3.0 if seen else -1.0\n"
    )
    verdict = await judge_change(judge, peeping, read_held({"call": "solution.mean", "args": [[2, 4]]}, oracle=ORACLE))
    assert not verdict.passed


async def test_calls_see_no_test_of_the_task(judge: Judge) -> None:
    tests = {"tests/test_given.py": TESTS["tests/test_given.py"], "tests/data.txt": "7"}
    looking = (
        "import pathlib\n\ndef mean(values):\n    found = sorted(p.name for p in pathlib.Path('tests').rglob('*'))\n"
    )
    looking += "    return 2 if values == [1, 3] else found\n"
    out = read_held({"call": "solution.mean", "args": [[5]], "expect": ["data.txt"]}, tests=tests)
    for base in ({}, tests):  # the second base already contains the tests
        verdict = await judge_change(judge, looking, out, tests, base=base)
        assert verdict.passed, verdict.unseen


async def test_after_two_tries_that_failed_on_held_out_cases_no_more_is_claimed(judge: Judge) -> None:
    tests = {"test_cart.py": "from cart import filled\n\n\ndef test_filled():\n" + "".join(
        f"    assert filled({n}) == {n}\n" for n in range(10, 16)
    )}  # fmt: skip
    cart = {"cart.py": "def filled(count):\n    return count\n"}
    held = of_tests(tests, "", 0.25)
    first, third = [await judge(cart, tests, held=held, held_tries=tries) for tries in (1, 2)]
    assert first.evidence.label is Label.VERIFIED
    assert third.evidence.label is Label.TESTS_PASSED
    assert any("2 tries failed on held-out cases" in note for note in third.evidence.notes)


async def test_a_module_that_only_the_tests_can_find_is_left_to_them(judge: Judge) -> None:
    tests = {
        "tests/helper.py": "from solution import mean as average\n",
        "tests/test_given.py": "from helper import average\n\n\ndef test_a():\n"
        + "".join(f"    assert average([{n}, {n + 2}]) == {n + 1}\n" for n in range(10, 16)),
    }
    out = of_tests(tests, "", 0.25)
    assert out.cases
    verdict = await judge_change(judge, RIGHT, out, tests)
    assert verdict.passed, (verdict.reason, verdict.unseen)
    assert verdict.evidence.label is Label.TESTS_PASSED
