"""Chooses the checks to hold out of given tests: the model does not see them, and their results are compared by value.

Layers 1 to 4 of a verdict work together as follows. The shown tests run first, and their failures are reported as
always. If they pass, the held-out cases run: calls with inputs only, compared outside. Then the whole given tests run,
with their copies; a model learns only whether they passed, because code in that run can read every check and print it.
A failure that shows only in the held-out cases, or only in the whole tests, is reported as the name of a function and
the kind of failure. So each try reveals a few bits about the unseen checks, and never an input or a result. Failures,
reflections, memory and later runs are all derived from that verdict and need to know nothing of this; the cases
themselves are stored beside it, for the owner only.

The choice follows from the tests' own text, so every attempt, resumption and repetition holds out the same checks. A
check is held out only if a similar one stays, so that the shown tests still say everything that the whole ones do: the
same function, with arguments and result of the same types, signs and emptiness. And its inputs must be mentioned
nowhere else, neither in the tests nor in the task's text.

The rest of a test file reads as if the checks had never been there: a statement goes with its lines and the comments
directly above it, a table's row with its comma, and a test without a remaining check as a whole, with its name and
decorators. A text that cannot be shortened cleanly is not shortened at all.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from nightshift.core.code import literals
from nightshift.core.code.parsing import parse
from nightshift.core.tasks.held_out import HeldOut, ValueCase, digest
from nightshift.core.tasks.task import Files, Language, TaskSpec
from nightshift.sandbox.source import Edit, Source
from nightshift.verdict.held.extract import Spot, spots
from nightshift.verdict.languages.python.outline import outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.suite import suite_paths

ENOUGH = 4
"""Tests with fewer checks than this are shown whole."""
MOST, CANDIDATES = 12, 100
"""More than `MOST` held-out checks prove no more. `CANDIDATES` is the size of the random sample that they come from."""

_SHORT = 5
_Shape = tuple[Any, ...]


def hold(spec: TaskSpec, paths: Collection[str], share: float) -> HeldOut:
    """Hold out cases of a task: all of its explicit cases, and a share of the checks in its tests.

    Args:
        spec: the task.
        paths: the paths of the tree; below a conftest, tests may depend on more than their text shows.
        share: the share of eligible checks to hold out; 0 holds out none.
    """
    own = HeldOut(cases=spec.cases, oracle=spec.oracle, sources=("cases",) if spec.cases else ())
    if spec.language is not Language.PYTHON or not spec.tests or share <= 0:
        return own
    if _is_under_conftest(spec.tests, paths):
        return own
    held_out = of_tests(spec.tests, spec.description, share)
    return replace(
        held_out, cases=(*held_out.cases, *own.cases), oracle=own.oracle, sources=(*held_out.sources, *own.sources)
    )


def _is_under_conftest(tests: Files, paths: Collection[str]) -> bool:
    """Check whether a conftest applies to the tests."""
    folders = {""} | {path[: at + 1] for path in tests for at, char in enumerate(path) if char == "/"}
    return any(f"{folder}conftest.py" in paths or f"{folder}conftest.py" in tests for folder in folders)


def of_tests(tests: Files, description: str, share: float) -> HeldOut:
    """Hold out checks of given tests: at least one if there are enough checks, otherwise none."""
    sources, all_spots = dict[str, Source](), list[Spot]()
    for path in suite_paths(tests, PytestSettings()):
        try:
            sources[path] = Source(tests[path])
        except SyntaxError:
            return HeldOut()
        all_spots += spots(path, sources[path])
    if len(all_spots) < ENOUGH:
        return HeldOut()
    chooser = _Chooser(all_spots, sources, _Mentions(tests, description), random.Random(digest(tests)))  # noqa: S311 (repeatable, no secret)
    chosen = chooser.choose(min(MOST, max(1, round(share * len(all_spots)))))
    if not chosen:
        return HeldOut()
    cases = tuple(replace(spot.case, shown=spot not in chosen) for spot in all_spots)
    return HeldOut(shown=chooser.shown(chosen), cases=cases, sources=("tests",))


class _Mentions:
    """Counts mentions of inputs in the tests and in the task's text, whatever their spacing."""

    def __init__(self, tests: Files, description: str) -> None:
        self._tests = _squeeze_text("\n".join(tests.values()))
        self._words = _squeeze_text(description)

    def unseen(self, inputs: str, *, in_table: bool) -> bool:
        """Check whether a call's inputs, as written, occur once in the tests and nowhere else."""
        text = re.escape(_squeeze_text(inputs))
        bare = rf"(?<![\w.]){text}(?![\w.])"
        called = bare if len(inputs) > _SHORT else rf"\({text}\)"  # a short text occurs everywhere by chance
        places = re.findall(bare if in_table else called, self._tests)
        return bool(inputs) and len(places) == 1 and not re.search(called, self._words)


class _Chooser:
    def __init__(
        self, spots: Sequence[Spot], sources: dict[str, Source], mentions: _Mentions, chance: random.Random
    ) -> None:
        self._spots, self._sources, self._mentions, self._chance = spots, sources, mentions, chance

    def choose(self, count: int) -> list[Spot]:
        """Choose up to `count` checks; the result is in the order of the tests."""
        candidates = list(self._spots)
        self._chance.shuffle(candidates)
        candidates = [spot for spot in candidates[:CANDIDATES] if self._unseen(spot)]
        chosen: list[Spot] = []
        for shape in (_shape, _types):
            alike = Counter(shape(spot) for spot in self._spots)
            for spot in candidates:
                if len(chosen) < count and self._fits(spot, chosen, alike, shape):
                    chosen.append(spot)
            if chosen:
                break  # roughly similar checks only count if there are no better ones
        return [spot for spot in self._spots if spot in chosen]

    def _unseen(self, spot: Spot) -> bool:
        inputs = _inputs(self._sources[spot.path], spot)
        return self._mentions.unseen(inputs, in_table=spot.table is not None)

    def shown(self, chosen: Sequence[Spot]) -> Files:
        """Return the shortened test files."""
        groups: dict[str, list[Spot]] = defaultdict(list)
        for spot in chosen:
            groups[spot.path].append(spot)
        return {path: without(self._sources[path], group) or "" for path, group in groups.items()}

    def _fits(self, spot: Spot, chosen: list[Spot], alike: Counter[_Shape], shape: Callable[[Spot], _Shape]) -> bool:
        """Check whether a further check can be held out: a similar one stays, and the file can be shortened."""
        if spot in chosen or sum(shape(other) == shape(spot) for other in chosen) + 1 >= alike[shape(spot)]:
            return False
        mates = [other for other in (*chosen, spot) if other.holder is spot.holder]
        if spot.helper and removes_holder(mates):
            return False
        group = [other for other in (*chosen, spot) if other.path == spot.path]
        return without(self._sources[spot.path], group) is not None


def _inputs(source: Source, spot: Spot) -> str:
    """Return the inputs of a check's call as written in the text; empty if they cannot be found."""
    for node in ast.walk(spot.statement):
        if isinstance(node, ast.Call) and (node.args or node.keywords):
            parts = [
                spot.values.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                for argument in node.args
            ]
            named = [(word.arg or "", word.value) for word in node.keywords]
            if _are(spot.case, parts, named):
                words = [f"{name}={source.segment(value)}" for name, value in named]
                return ",".join([*(source.segment(part) for part in parts), *words])
    return ""


def _are(case: ValueCase, parts: list[ast.expr], named: list[tuple[str, ast.expr]]) -> bool:
    """Check whether these expressions are a case's arguments."""
    try:
        written = literals.write(tuple(map(literals.value_of, parts)))
        return written == case.args and len(named) == len(literals.read(case.kwargs))
    except ValueError:
        return False


def _shape(spot: Spot) -> _Shape:
    """Return the shape of a check: function, comparison, and types, signs and emptiness of inputs and result."""
    return (*_about(spot.case), *(_kind(value) for value in _values(spot.case)))


def _types(spot: Spot) -> _Shape:
    """Return a rougher shape of a check, with types alone."""
    return (*_about(spot.case), *(type(value).__name__ for value in _values(spot.case)))


def _about(case: ValueCase) -> _Shape:
    return case.call, case.compare, case.raises


def _values(case: ValueCase) -> list[Any]:
    arguments, named = literals.read(case.args), literals.read(case.kwargs)
    return [*arguments, *named.values(), *([] if case.expect is None else [literals.read(case.expect)])]


def _kind(value: Any) -> _Shape:
    name = type(value).__name__
    if isinstance(value, bool):
        return name, value
    if isinstance(value, int | float):
        return name, (value > 0) - (value < 0)
    return name, bool(value)


def _squeeze_text(text: str) -> str:
    return "".join(text.split())


def without(source: Source, spots: Sequence[Spot]) -> str | None:
    """Return the text without these checks; None if that is impossible, or would leave no test."""
    groups: dict[int, list[Spot]] = defaultdict(list)
    for spot in spots:
        groups[id(spot.holder)].append(spot)
    edits: list[Edit] = []
    for group in groups.values():
        group_edits = _edits(source, group)
        if group_edits is None:
            return None
        edits += group_edits
    text = source.edit(edits)
    return text if _holds_tests(text) else None


def removes_holder(spots: Sequence[Spot]) -> bool:
    """Check whether a function has no check left when these of its checks are removed."""
    first = spots[0]
    if first.table is not None and not first.loop:
        return len(spots) == len(first.table.elts)
    out = {id(spot.statement) for spot in spots if spot.table is None}
    return not any(id(statement) not in out and not _is_idle(statement) for statement in first.holder.body)


def _is_idle(statement: ast.stmt) -> bool:
    """Check whether a statement is useless without checks."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)


def _edits(source: Source, spots: list[Spot]) -> list[Edit] | None:
    first = spots[0]
    if removes_holder(spots):
        return None if first.helper else _of_lines(source, first.holder)
    rows: dict[int, list[Spot]] = defaultdict(list)
    for spot in spots:
        rows[id(spot.table) if spot.table is not None else 0].append(spot)
    edit_lists = [_of_lines(source, spot.statement) for spot in rows.pop(0, [])]
    edit_lists += [_shorten_table(source, group) for group in rows.values()]
    return None if None in edit_lists else [edit for edits in edit_lists if edits for edit in edits]


def _of_lines(source: Source, node: ast.stmt) -> list[Edit] | None:
    """Return the edit that removes a statement's lines; None if another statement shares them."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    lines = source.text.split("\n")
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    last = node.end_lineno or node.lineno
    start, end = source.span(node)
    before = source.slice(source.line_start(node.lineno), start)
    after = source.slice(end, source.line_start(last + 1) - 1)
    if before.strip() or (after.strip() and not after.strip().startswith("#")):
        return None
    while first > 1 and lines[first - 2].strip().startswith("#"):
        first -= 1
    if decorators or isinstance(node, ast.FunctionDef):
        while last < len(lines) - 1 and not lines[last].strip():
            last += 1
    stop = min(source.line_start(last + 1), source.size)
    return [Edit(source.line_start(first), stop, "")]


def _shorten_table(source: Source, spots: list[Spot]) -> list[Edit] | None:
    """Return the edit that rewrites a table with the remaining rows, in its original layout."""
    table = spots[0].table
    if table is None or len(spots) == len(table.elts):
        return None
    gone, rows = {spot.row for spot in spots}, [source.span(row) for row in table.elts]
    start, end = source.span(table)
    gaps = [source.slice(previous[1], other[0]) for previous, other in pairwise(rows)]
    head, tail = source.slice(start, rows[0][0]), source.slice(rows[-1][1], end)
    if not all(re.fullmatch(r"\s*,(\s|#[^\n]*\n)*", gap) for gap in gaps):
        return None
    gap = re.sub(r"#[^\n]*", "", gaps[0]) if gaps else ", "
    gap = re.sub(r"[ \t]*\n[\s]*\n", "\n", gap)
    remaining = [source.slice(*span) for number, span in enumerate(rows) if number not in gone]
    if len(remaining) == 1 and isinstance(table, ast.Tuple):
        return None
    return [Edit(start, end, _strip_comments(head) + gap.join(remaining) + _strip_comments(tail))]


def _strip_comments(text: str) -> str:
    """Return the text around a table's rows without comments."""
    return re.sub(r"#[^\n]*", "", text)


def _holds_tests(text: str) -> bool:
    try:
        return bool(outline(parse(text), PytestSettings()).required)
    except (SyntaxError, ValueError):
        return False
