"""Reads the small programs in `engine/bench/programs/` and splits the tests of each into given and hidden ones.

A file of the corpus holds several programs: a line `=== name`, the text of `name.py`, a line `--- tests`, the text of
`test_name.py`. All programs are our own.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
FEWEST = 3
"""Minimum number of rows of a `parametrize` whose rows are divided between the given and the hidden tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A correct program with its tests."""

    name: str
    text: str
    tests: str

    @property
    def path(self) -> str:
        """The path of the program."""
        return f"{self.name}.py"

    @property
    def test_path(self) -> str:
        """The path of the program's tests."""
        return f"test_{self.name}.py"


def programs(folder: Path = PROGRAMS) -> tuple[Program, ...]:
    """Read all programs, sorted by name."""
    all_programs = (program for path in folder.glob("*.txt") for program in _programs(path.read_text(encoding="utf-8")))
    return tuple(sorted(all_programs, key=lambda program: program.name))


def _programs(text: str) -> Iterator[Program]:
    for part in ("\n" + text).split("\n=== ")[1:]:
        name, _, rest = part.partition("\n")
        program, _, tests = rest.partition("--- tests\n")
        yield Program(name=name, text=program.rstrip() + "\n", tests=tests.rstrip() + "\n")


def part_tests(tests: str, seed: str, share: float) -> tuple[str, str]:
    """Split tests into given and hidden ones, with at least one test on each side.

    `share` is the fraction of the tests that are given. Each row of a parametrised test function counts as a test.
    """
    tree = ast.parse(tests)
    chance = random.Random(seed)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    rows = {node.name: _rows(node) for node in functions}
    units = [(node.name, at) for node in functions for at in (range(len(rows[node.name])) or [None])]
    chance.shuffle(units)
    cut = min(max(round(len(units) * share), 1), len(units) - 1)
    return _only(tests, set(units[:cut])), _only(tests, set(units[cut:]))


def _rows(function: ast.FunctionDef) -> Sequence[ast.expr]:
    """Return the rows of a single `parametrize` with a list of at least `FEWEST` items; else an empty list."""
    if len(function.decorator_list) == 1 and isinstance(call := function.decorator_list[0], ast.Call):
        listed = call.args[1] if ast.unparse(call.func).endswith("parametrize") and len(call.args) > 1 else None
        if isinstance(listed, ast.List) and len(listed.elts) >= FEWEST:
            return listed.elts
    return []


def _only(tests: str, units: set[tuple[str, int | None]]) -> str:
    """Return the test file with only the tests in `units`.

    A unit is a pair: the name of a test function, and the number of a row of its `parametrize` list. The number is None
    if the function has no such rows and is kept or dropped as a whole.
    """
    tree = ast.parse(tests)
    body = list[ast.stmt]()
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
            body.append(node)
        elif (rows := _rows(node)) and (
            chosen_rows := [row for at, row in enumerate(rows) if (node.name, at) in units]
        ):
            node.decorator_list[0].args[1].elts = chosen_rows  # type: ignore[attr-defined] # a call with a list, see _rows
            body.append(node)
        elif (node.name, None) in units:
            body.append(node)
    tree.body = body
    return ast.unparse(tree) + "\n"
