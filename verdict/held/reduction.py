"""Takes checks out of a test file's text, so that what is left reads as if they had never been there.

A statement goes with its lines and with the comments right above it, a table's row with its comma, and a test that
would be left without a check goes as a whole, with its name and decorators. The result is parsed again; a text that
cannot be shortened cleanly is not shortened at all.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from core.parsing import parse
from languages.python.pytest_settings import PytestSettings
from sandbox.source import Edit, Source
from verdict.held.extract import Spot
from verdict.outline import outline


def without(source: Source, spots: Sequence[Spot]) -> str | None:
    """The text without these checks; None where it cannot be made, or would hold no test any more."""
    groups: dict[int, list[Spot]] = defaultdict(list)
    for spot in spots:
        groups[id(spot.holder)].append(spot)
    edits: list[Edit] = []
    for group in groups.values():
        found = _edits(source, group)
        if found is None:
            return None
        edits += found
    text = source.edited(edits)
    return text if _holds_tests(text) else None


def removes_holder(spots: Sequence[Spot]) -> bool:
    """Tell whether a function is left without a check when these of its checks are taken out."""
    first = spots[0]
    if first.table is not None and not first.loop:
        return len(spots) == len(first.table.elts)
    out = {id(spot.statement) for spot in spots if spot.table is None}
    return not any(id(one) not in out and not _is_idle(one) for one in first.holder.body)


def _is_idle(statement: ast.stmt) -> bool:
    """Tell whether a statement is no use without checks."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)


def _edits(source: Source, spots: list[Spot]) -> list[Edit] | None:
    first = spots[0]
    if removes_holder(spots):
        return None if first.helper else _of_lines(source, first.holder)
    rows: dict[int, list[Spot]] = defaultdict(list)
    for spot in spots:
        rows[id(spot.table) if spot.table is not None else 0].append(spot)
    found = [_of_lines(source, spot.statement) for spot in rows.pop(0, [])]
    found += [_shortened(source, group) for group in rows.values()]
    return None if None in found else [edit for edits in found if edits for edit in edits]


def _of_lines(source: Source, node: ast.stmt) -> list[Edit] | None:
    """The edit that takes out a statement's lines; None where another shares them."""
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


def _shortened(source: Source, spots: list[Spot]) -> list[Edit] | None:
    """The edit that writes a table again with the rows that stay, in the layout that it had."""
    table = spots[0].table
    if table is None or len(spots) == len(table.elts):
        return None
    gone, rows = {spot.row for spot in spots}, [source.span(row) for row in table.elts]
    start, end = source.span(table)
    gaps = [source.slice(one[1], other[0]) for one, other in pairwise(rows)]
    head, tail = source.slice(start, rows[0][0]), source.slice(rows[-1][1], end)
    if not all(re.fullmatch(r"\s*,(\s|#[^\n]*\n)*", gap) for gap in gaps):
        return None
    gap = re.sub(r"#[^\n]*", "", gaps[0]) if gaps else ", "
    gap = re.sub(r"[ \t]*\n[\s]*\n", "\n", gap)
    kept = [source.slice(*span) for number, span in enumerate(rows) if number not in gone]
    if len(kept) == 1 and isinstance(table, ast.Tuple):
        return None
    return [Edit(start, end, _plain(head) + gap.join(kept) + _plain(tail))]


def _plain(text: str) -> str:
    """What stands around a table's rows, without comments."""
    return re.sub(r"#[^\n]*", "", text)


def _holds_tests(text: str) -> bool:
    try:
        return bool(outline(parse(text), PytestSettings()).required)
    except (SyntaxError, ValueError):
        return False
