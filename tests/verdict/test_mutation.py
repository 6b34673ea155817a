"""Mutants of code: the faults that they contain, the locations of the faults, and the order of the runs."""

from __future__ import annotations

import math

import pytest

from nightshift.core.tasks.verdicts import FindingKind, Label
from nightshift.verdict.mutation import Mutant, mutants
from tests.support.sandboxes import Judge


def make(after: str, before: str | None = None, most: int = 100) -> tuple[Mutant, ...]:
    return mutants({"a.py": after}, lambda _: before, most)


def stories(after: str, before: str | None = None) -> list[str]:
    return [f"{mutant.was} > {mutant.now.strip('`')}" for mutant in make(after, before)]


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("return a + b", ["a + b > another value of the same type", "a + b > a - b"]),
        ("a += 1", ["a += 1 > a -= 1", "1 > 2"]), ("x = a < b", ["a < b > a <= b"]),
        ("x = a not in b", ["a not in b > a in b"]), ("x = a and b", ["a and b > a or b"]),
        ("x = a[b:c]", ["b > (b) + 1", "c > (c) - 1"]), ("x = True", ["True > False"]),
        ("x = 'text'", ["'text' > 'textx'"]), ("a.append(b)", ["a.append(b) > pass"]),
        ("yield a", ["a > another value of the same type"]), ("x: int = a", []), ("x = a < b < c", []),
        ("x = (a  # why +\n        + b)", []),
    ],
)  # fmt: skip
def test_each_place_is_broken_in_the_ways_that_fit(line: str, faults: list[str]) -> None:
    sentences = stories(f"def f(a, b, c):\n    {line}\n")
    assert sorted(sentences) == sorted(faults)


@pytest.mark.parametrize(
    "value",
    [0, -1, 1.5, math.nan, True, "", "a", b"a", [], [1, 2], (1, "a"), {1: 2}, {1, 2}, object()],
)  # fmt: skip
def test_another_value_is_another_one_of_the_same_type(value: object) -> None:
    (mutant,) = [candidate for candidate in make("def f(a):\n    return a\n") if "another" in candidate.now]
    space: dict[str, object] = {}
    exec(mutant.text, space)
    other = space["f"](value)  # type: ignore[operator]
    assert other != value
    assert other is None or type(other) is type(value)


def test_only_lines_of_the_change_are_broken() -> None:
    before = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    b = a * 2\n    return b - 1\n"
    after = before.replace("b - 1", "b - 2")
    assert {(m.function, m.line) for m in make(after, before)} == {("g", 7)}
    assert make(before, before) == ()
    removed = "def f(a):\n    a = check(a)\n    return a + 1\n"
    assert {m.line for m in make(before[: before.index("\n\n\n")] + "\n", removed)} == {2}


def test_functions_and_kinds_take_turns_and_what_rarely_shows_comes_last() -> None:
    text = (
        "def f(a, b):\n    if a < b:\n        return a + b\n    return a - b\n\n\n"
        "class C:\n    def __repr__(self):\n        return 'C'\n\n    def m(self, x):\n        return x * 2\n"
    )
    first = make(text, most=4)
    assert {m.function for m in first[:2]} == {"f", "C.m"}
    assert "__repr__" not in " ".join(m.function for m in first)
    assert make(text, most=4) == first, "the choice is the same each time"


def test_what_may_run_for_ever_is_tried_late() -> None:
    mutants = make("def f(n):\n    i = 0\n    while i < n:\n        i += 1\n    return i\n")
    assert mutants[0].was == "i"
    assert [m.was for m in mutants].index("i += 1") > 1


def test_files_that_are_no_python_or_hold_no_function_have_no_mutants() -> None:
    change = {"a.txt": "def f(): return 1\n", "b.py": "def f(:", "c.py": "X = 1\n", "d.py": None, "e.py": "#" * 300_000}
    assert mutants(change, lambda _: None) == ()


CLAMP = {
    "clamp.py": "def clamp(x, low, high):\n    if x < low:\n        return low\n    return high if x > high else x\n"
}
LONG = {
    "clamp.py": (
        "def clamp(x, low, high):\n    if x < low:\n        return low\n"
        "    if x > high:\n        return high\n    return x\n"
    )
}
HEAD = "from clamp import clamp\n\n\n"


@pytest.mark.parametrize(("line", "is_noticed"), [("clamp(1, 2, 4) == 2", True), ("clamp is not None", False)])
async def test_the_tests_of_the_base_are_measured_for_a_change_that_keeps_behaviour(
    judge: Judge, line: str, is_noticed: bool
) -> None:
    test = f"{HEAD}def test_clamp():\n    assert {line}\n"
    old = {"clamp.py": "def clamp(x, low, high):\n    return max(low, min(x, high))\n", "test_clamp.py": test}
    verdict = await judge(CLAMP, base=old, regression=("test_clamp.py",), keeps_behaviour=True)
    assert (verdict.passed, verdict.evidence.label) == (True, Label.BEHAVIOUR_KEPT), verdict.reason
    assert "the tests of the base" in verdict.evidence.notes[0]
    assert all(finding.kind is not FindingKind.MUTANTS for finding in verdict.findings) is is_noticed


async def test_evidence_names_the_faults_that_no_test_notices(judge: Judge) -> None:
    own = {"test_clamp.py": HEAD + "def test_low():\n    assert clamp(1, 2, 4) == 2\n"}
    verdict = await judge(LONG, own=own)
    assert verdict.passed, verdict.reason
    (note,) = verdict.evidence.notes
    assert " of 4 mutants killed; no test notices when `" in note
    tried = verdict.evidence.mutants
    assert all(mutant.what.startswith("`") and f"(clamp.py:{mutant.line})" in mutant.what for mutant in tried)
    assert note.startswith(f"{sum(mutant.noticed for mutant in tried)} of 4 ")
    assert all(mutant.what in note for mutant in tried if not mutant.noticed)
    assert {mutant.by for mutant in tried if mutant.noticed} == {"test_clamp.py::test_low"}


async def test_a_mutant_that_never_ends_is_noticed_soon(judge: Judge) -> None:
    code = {"count.py": "def count(n):\n    i = 0\n    while i != n:\n        i += 1\n    return [i][0:i]\n"}
    own = {"test_count.py": "from count import count\n\n\ndef test_count():\n    assert count(3) == [3]\n"}
    verdict = await judge(code, own=own, cpu_s=60)
    assert verdict.passed, verdict.reason
