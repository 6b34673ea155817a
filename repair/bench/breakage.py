"""Puts faults into programs, one at a time: what people get wrong, by kind.

Written apart from the engine's edits, which it is to test: a fault here is what a slip does to a program, not the
inverse of an entry in a table there.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from repair.bench import breakage_in_expressions, breakage_in_statements
from repair.bench.lost import is_lost
from repair.tree import Place, at, places, replaced, spliced


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A program with a fault: its whole text, the kind, and the line of the original where it lies.

    `lost` tells that something is gone that stands nowhere else in the program (`repair.bench.lost`).
    """

    kind: str
    line: int
    text: str
    lost: bool = False


def faults(text: str) -> Iterator[Fault]:
    """Every fault that is known for a program, in the order of the text; each text once."""
    tree = ast.parse(text)
    seen = {ast.unparse(tree)}
    for kind, line, made in _trees(tree):
        broken = ast.unparse(ast.fix_missing_locations(made))
        if broken not in seen and _compiles(broken):
            seen.add(broken)
            yield Fault(kind=kind, line=line, text=broken + "\n", lost=is_lost(kind, tree, made))


def by_kind(text: str) -> dict[str, list[Fault]]:
    """The faults of a program, kind to faults."""
    found = defaultdict[str, list[Fault]](list)
    for fault in faults(text):
        found[fault.kind].append(fault)
    return dict(found)


def several(text: str, number: int, chance: random.Random) -> Fault | None:
    """A program with faults of different kinds in different places; None where chance finds no such thing."""
    kinds, line, lost = list[str](), 0, False
    for _ in range(number):
        known = by_kind(text)
        left = sorted(set(known) - set(kinds))
        if not left:
            return None
        fault = chance.choice(known[kind := chance.choice(left)])
        text, line = fault.text, line or fault.line
        kinds.append(kind)
        lost = lost or fault.lost
    return Fault(kind=" + ".join(kinds), line=line, text=text, lost=lost)


def same(one: str, other: str) -> bool:
    """Tell whether two programs are the same but for comments and layout."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _trees(tree: ast.Module) -> Iterator[tuple[str, int, ast.Module]]:
    docstrings = set(_docstrings(tree))
    for place, node in places(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.expr) and not _within(tree, place, docstrings):
            for kind, new in breakage_in_expressions.broken(node, _names(tree, place)):
                yield kind, line, replaced(tree, place, new)
        if isinstance(node, ast.stmt) and id(node) not in docstrings:
            for kind, count, body in breakage_in_statements.broken(tree, place):
                yield kind, line, spliced(tree, place, count, body)


def _docstrings(tree: ast.Module) -> Iterator[int]:
    held = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, held) and ast.get_docstring(node) is not None:
            yield id(node.body[0])


def _within(tree: ast.Module, place: Place, holders: set[int]) -> bool:
    return any(id(at(tree, place[:end])) in holders for end in range(1, len(place) + 1))


def _names(tree: ast.Module, place: Place) -> tuple[str, ...]:
    """Variables of the innermost function around a place, in the order of the text."""
    for end in range(len(place) - 1, -1, -1):
        holder = at(tree, place[:end])
        if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
            bound = [node.arg for node in ast.walk(holder) if isinstance(node, ast.arg)]
            bound += [n.id for n in ast.walk(holder) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            return tuple(dict.fromkeys(name for name in bound if name not in {"self", "_"}))
    return ()


def _compiles(text: str) -> bool:
    try:
        compile(text, "program", "exec")
    except SyntaxError:
        return False
    return True
