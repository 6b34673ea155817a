"""Self-written tests are measured by mutants of the change."""

from __future__ import annotations

import asyncio

import pytest

from core.verdicts import Label
from tests.support.sandboxes import Judge
from verdict.mutation import mutants
from verdict.mutation_score import Sharpness

CLAMP = {
    "clamp.py": "def clamp(x, low, high):\n    if x < low:\n        return low\n    return high if x > high else x\n"
}
HEAD = "from clamp import clamp\n\n\n"
SHARP = {
    "test_clamp.py": (
        f"{HEAD}def test_clamp():\n    assert [clamp(n, 2, 4) for n in (1, 2, 3, 4, 5)] == [2, 2, 3, 4, 4]\n"
    ),
}
BLUNT = {
    "test_clamp.py": (
        f"{HEAD}def test_clamp():\n    assert isinstance(clamp(3, 2, 4), int)\n    assert clamp(1, 0, 9) < 10\n"
    ),
}


async def test_tests_that_look_at_results_pass_and_the_evidence_says_how_sharp_they_are(judge: Judge) -> None:
    verdict = await judge(CLAMP, own=SHARP)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.notes == ("2 of 2 mutants killed",)
    assert verdict.evidence.label is Label.SELF_TESTED


async def test_tests_that_look_at_types_are_weak_and_the_survivors_are_told(judge: Judge) -> None:
    verdict = await judge(CLAMP, own=BLUNT)
    assert not verdict.passed
    assert verdict.weak == ("test_clamp.py::test_clamp",)
    assert verdict.reason.startswith("the self-written tests prove too little: they go on passing when `")
    assert "in clamp (clamp.py:" in verdict.reason
    assert " becomes " in verdict.reason
    assert not verdict.failing, "the code is not to blame"


async def test_only_own_tests_are_measured_and_those_proven_before_are_not(judge: Judge) -> None:
    given, proven = await asyncio.gather(judge(CLAMP, BLUNT), judge(CLAMP, own=BLUNT, own_proven=True))
    assert given.passed
    assert proven.passed
    assert given.evidence.notes == proven.evidence.notes == ()


async def test_a_change_without_functions_asks_for_no_mutants(judge: Judge) -> None:
    own = {"test_x.py": "from names import NAMES\n\n\ndef test_names():\n    assert NAMES == ['a']\n"}
    verdict = await judge({"names.py": "NAMES = ['a']\n"}, own=own)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.notes == ("no mutants: the change holds no Python function that could be broken",)


async def test_a_mutant_that_never_ends_is_noticed_soon(judge: Judge) -> None:
    code = {"count.py": "def count(n):\n    i = 0\n    while i != n:\n        i += 1\n    return [i][0:i]\n"}
    own = {"test_count.py": "from count import count\n\n\ndef test_count():\n    assert count(3) == [3]\n"}
    verdict = await judge(code, own=own, wall_s=60)
    assert verdict.passed, verdict.reason


async def test_only_what_the_change_wrote_is_broken(judge: Judge) -> None:
    old = "def old(x):\n    return x + 1\n\n\n"
    base = {"clamp.py": old + CLAMP["clamp.py"].replace("x < low", "x < 0")}
    verdict = await judge({"clamp.py": old + CLAMP["clamp.py"]}, own=SHARP, base=base)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.notes[0].endswith("mutants killed")


@pytest.mark.parametrize(
    ("tried", "standing", "needed", "enough"), [(0, 0, 0, True), (2, 0, 2, True), (3, 2, 2, False)]
)
def test_half_of_the_mutants_suffices(tried: int, standing: int, needed: int, enough: bool) -> None:
    (one, *_) = mutants({"a.py": "def f(x):\n    return x\n"}, lambda _: None)
    assert Sharpness(tried=tried, survivors=(one,) * standing, needed=needed).suffices is enough
