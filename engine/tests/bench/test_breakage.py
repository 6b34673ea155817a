from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path

import pytest

from engine.bench.breakage import by_kind, faults, same, several
from engine.bench.corpus import Program, part_tests, programs

PROGRAMS = {program.name: program for program in programs()}
KINDS = {
    "operator", "comparison", "boundary", "constant", "off by one", "wrong variable", "arguments swapped",
    "argument missing", "condition negated", "condition missing", "clause missing", "guard deleted", "return removed",
    "return changed", "return lost", "initial value", "statement deleted", "statement moved", "statements swapped",
    "yield missing", "await missing", "call missing", "wrong method", "import deleted", "misspelt", "else lost",
}  # fmt: skip


def units(tests: str) -> int:
    """Count the tests in a text; each row of a parametrised test counts as one."""
    count = 0
    for node in ast.parse(tests).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            rows = node.decorator_list and node.decorator_list[0].args[1].elts  # type: ignore[attr-defined]
            count += len(rows) if rows else 1
    return count


def test_every_program_passes_its_tests(tmp_path: Path) -> None:
    for program in PROGRAMS.values():
        (tmp_path / program.path).write_text(program.text)
        (tmp_path / program.test_path).write_text(program.tests)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", str(tmp_path)]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert len(PROGRAMS) >= 40


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_given_and_hidden_tests_are_all_tests_and_share_none(program: Program) -> None:
    given, hidden = part_tests(program.tests, "7", 0.7)
    assert units(given) + units(hidden) == units(program.tests)
    assert 1 <= units(hidden) < units(given)
    assert part_tests(program.tests, "7", 0.7) == (given, hidden)


def test_every_kind_of_fault_occurs_in_the_programs() -> None:
    kinds = {kind for program in PROGRAMS.values() for kind in by_kind(program.text)}
    assert kinds == KINDS


@pytest.mark.parametrize("name", ["spans", "woven", "patient", "workdays", "recent"])
def test_faults_differ_from_the_program_and_from_each_other(name: str) -> None:
    text = PROGRAMS[name].text
    broken = [fault.text for fault in faults(text)]
    assert len(set(broken)) == len(broken) > 50
    assert not any(same(text, program) for program in broken)
    assert same(text, "# a comment\n" + text)


def test_docstrings_are_no_place_for_faults() -> None:
    text = 'def one():\n    """Three letters."""\n    return 1\n'
    assert all('"""Three letters."""' in fault.text for fault in faults(text))


def test_several_faults_are_of_different_kinds_and_the_same_by_the_same_chance() -> None:
    text = PROGRAMS["parcels"].text
    fault = several(text, 2, random.Random(3))
    assert fault
    assert len(set(fault.kind.split(" + "))) == 2
    assert fault == several(text, 2, random.Random(3))
    assert several("X = 1\n", 9, random.Random(1)) is None


def test_what_stands_nowhere_else_is_lost_and_what_has_a_like_is_not() -> None:
    text = (
        "def f(items, top):\n    if not items:\n        return []\n    best = []\n    for item in items:\n"
        "        if item.price * 2 > top - 3:\n            best.append(item)\n        top += 1\n    best.append(top)\n"
        "    return sorted(best, key=str)\n"
    )
    losses = {(fault.kind, fault.line): fault.lost for fault in faults(text)}
    assert losses["guard deleted", 2] is False
    assert losses["statement deleted", 7] is False, "line 9 has it with another name"
    assert losses["statement deleted", 8] is True
    assert losses["condition missing", 6] is True
    assert losses["return lost", 10] is True
    assert not any(lost for (kind, _), lost in losses.items() if kind in {"operator", "comparison", "constant"})
