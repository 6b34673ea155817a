"""Chooses which checks of the owner's tests are held out: hidden from the model, with results compared by value.

The layers of a verdict work together as follows. The shown tests run first (layers 1 to 3), and their failures are
reported as always. If they pass, the held-out cases run (layer 4): only their inputs enter the sandbox, and the results
are compared outside. Then the owner's complete tests run, with their must-fail copies. The model learns only whether
the complete tests passed, because code in that run can read every check and print it. If the held-out cases fail, or
only the complete tests fail, the report contains the name of a function and the kind of failure. So each attempt
reveals a few bits about the hidden checks, and never an input or a result. Failures, reflections, memory and later runs
are derived from that verdict and contain nothing more. The cases themselves are stored separately, for the owner only.

The choice depends only on the text of the tests, so every attempt, resumption and repetition holds out the same checks.
A check is held out only if a similar check stays visible, so that the shown tests still say everything that the
complete tests say. Similar checks call the same function, with arguments and a result of the same types, signs and
emptiness. In addition, the inputs of a held-out check must not be mentioned anywhere else in the tests or in the task's
text.

The rest of a test file reads as if the held-out checks had never been there. A statement is removed with the comments
directly above it. A row of a table is removed with its comma. A test without a remaining check is removed with its
decorators. A text that cannot be shortened cleanly is left unchanged.
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
"""Minimum number of checks. If the tests have fewer, no check is held out."""
MOST, CANDIDATES = 12, 100
"""`MOST`: maximum number of held-out checks, because more prove nothing further.

`CANDIDATES`: size of the random sample from which the held-out checks are chosen.
"""

_SHORT = 5
_Shape = tuple[Any, ...]


def hold(spec: TaskSpec, paths: Collection[str], share: float) -> HeldOut:
    """Return a task's held-out cases: all cases that the owner wrote, and a share of the checks in the owner's tests.

    Args:
        spec: the task.
        paths: the paths of the tree; if a conftest applies to the tests, no check is held out, because the tests may
            depend on more than their text shows.
        share: the share of suitable checks to hold out; 0 holds out none.
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
    """Check whether a conftest in the tree or among the tests applies to any of the tests."""
    folders = {""} | {path[: at + 1] for path in tests for at, char in enumerate(path) if char == "/"}
    return any(f"{folder}conftest.py" in paths or f"{folder}conftest.py" in tests for folder in folders)


def of_tests(tests: Files, description: str, share: float) -> HeldOut:
    """Hold out checks of the owner's tests.

    At least one check is chosen if one is suitable. Tests with fewer than `ENOUGH` checks keep all of them.
    """
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
    """Counts how often an input occurs in the tests and in the task's text, ignoring white space."""

    def __init__(self, tests: Files, description: str) -> None:
        self._tests = _squeeze_text("\n".join(tests.values()))
        self._words = _squeeze_text(description)

    def unseen(self, inputs: str, *, in_table: bool) -> bool:
        """Check whether the inputs of a call, as written, occur once in the tests and never in the task's text."""
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
        """Choose up to `count` checks, and return them in the order of the tests."""
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
                break  # use rough similarity only if close similarity gave no check
        return [spot for spot in self._spots if spot in chosen]

    def _unseen(self, spot: Spot) -> bool:
        inputs = _inputs(self._sources[spot.path], spot)
        return self._mentions.unseen(inputs, in_table=spot.table is not None)

    def shown(self, chosen: Sequence[Spot]) -> Files:
        """Remove the chosen checks from the test files that contain them; return the new texts by path."""
        groups: dict[str, list[Spot]] = defaultdict(list)
        for spot in chosen:
            groups[spot.path].append(spot)
        return {path: without(self._sources[path], group) or "" for path, group in groups.items()}

    def _fits(self, spot: Spot, chosen: list[Spot], alike: Counter[_Shape], shape: Callable[[Spot], _Shape]) -> bool:
        """Check whether one more check can be held out: a similar check stays, and the file can be shortened."""
        if spot in chosen or sum(shape(other) == shape(spot) for other in chosen) + 1 >= alike[shape(spot)]:
            return False
        mates = [other for other in (*chosen, spot) if other.holder is spot.holder]
        if spot.helper and removes_holder(mates):
            return False
        group = [other for other in (*chosen, spot) if other.path == spot.path]
        return without(self._sources[spot.path], group) is not None


def _inputs(source: Source, spot: Spot) -> str:
    """Return the inputs of a check's call as they are written in the test; empty if the call is not found."""
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
    """Check whether a case has exactly these positional and keyword arguments."""
    try:
        written = literals.write(tuple(map(literals.value_of, parts)))
        return written == case.args and len(named) == len(literals.read(case.kwargs))
    except ValueError:
        return False


def _shape(spot: Spot) -> _Shape:
    """Return traits that similar checks share: function, comparison, and types, signs and emptiness of the values."""
    return (*_about(spot.case), *(_kind(value) for value in _values(spot.case)))


def _types(spot: Spot) -> _Shape:
    """Return what roughly similar checks share: the function, the comparison, and the types of the values."""
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
    """Return the text of a test file without these checks; None if they cannot be removed or no test would remain."""
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
    """Check whether removing these checks, which belong to one function, leaves the function without a check."""
    first = spots[0]
    if first.table is not None and not first.loop:
        return len(spots) == len(first.table.elts)
    out = {id(spot.statement) for spot in spots if spot.table is None}
    return not any(id(statement) not in out and not _is_idle(statement) for statement in first.holder.body)


def _is_idle(statement: ast.stmt) -> bool:
    """Check whether a statement serves no purpose in a test without checks, such as an import or an assignment."""
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
    """Return the edit that removes a whole statement; None if another statement shares one of its lines."""
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
    """Return the edit that removes rows from a table and keeps its layout; None if that is impossible."""
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
    """Return the text before or after a table's rows without its comments."""
    return re.sub(r"#[^\n]*", "", text)


def _holds_tests(text: str) -> bool:
    try:
        return bool(outline(parse(text), PytestSettings()).required)
    except (SyntaxError, ValueError):
        return False
