"""How far each line of a function is from what the function gives back, by the flow of data, without running it.

A line that computes what is returned or yielded is nearer than one whose value goes there through others; a line that
nothing depends on is not reached at all. Conditions count as used by the lines that they guard. Names stand for
values: this is a cheap, flow-insensitive slice (M. Weiser, “Program Slicing”, ICSE 1981), good enough to break ties.
"""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Iterator


def distances(function: ast.AST) -> dict[int, int]:
    """Line to the number of steps from there to a result: 0 for a line that returns, yields, raises or asserts."""
    facts = list(_facts(function, ()))
    makers = defaultdict[str, list[int]](list)
    for number, fact in enumerate(facts):
        for name in fact.made:
            makers[name].append(number)
    found, waiting = dict[int, int](), deque((n, 0) for n, fact in enumerate(facts) if fact.is_result)
    while waiting:
        number, distance = waiting.popleft()
        if number in found:
            continue
        found[number] = distance
        waiting += [(maker, distance + 1) for name in sorted(facts[number].used) for maker in makers[name]]
        waiting += [(guard, distance + 1) for guard in facts[number].guards]
    lines = dict[int, int]()
    for number, distance in found.items():
        for line in facts[number].lines:
            lines[line] = min(distance, lines.get(line, distance))
    return lines


class _Fact:
    """One statement, or the head of one: the names that it uses and makes, and the heads that guard it."""

    def __init__(self, statement: ast.stmt, guards: tuple[int, ...]) -> None:
        parts = list(_parts(statement))
        names = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)]
        self.used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        self.made = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | _changed(parts)
        if isinstance(statement, ast.AugAssign):
            self.used |= {n.id for n in ast.walk(statement.target) if isinstance(n, ast.Name)}
        results = ast.Yield | ast.YieldFrom
        self.is_result = isinstance(statement, ast.Return | ast.Raise | ast.Assert) or any(
            isinstance(node, results) for part in parts for node in ast.walk(part)
        )
        self.guards = guards
        lasts = [getattr(part, "end_lineno", None) or statement.lineno for part in parts]
        self.lines = range(statement.lineno, max(lasts, default=statement.lineno) + 1)


def _changed(parts: list[ast.AST]) -> set[str]:
    """Names whose objects are changed in place: `x[i] = …`, `x.a = …`, `x.append(…)`."""
    found = set[str]()
    for node in (node for part in parts for node in ast.walk(part)):
        target = node.func if isinstance(node, ast.Call) else node
        is_store = isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load)
        if is_store or (isinstance(node, ast.Call) and isinstance(target, ast.Attribute)):
            while isinstance(target, ast.Subscript | ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name):
                found.add(target.id)
    return found


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement itself, or the head of a compound one."""
    if not hasattr(statement, "body"):
        yield statement
        return
    for name, value in ast.iter_fields(statement):
        if name not in {"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"}:
            yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.AST))


def _facts(holder: ast.AST, guards: tuple[int, ...]) -> Iterator[_Fact]:
    """The facts of all statements below, numbered in the order in which they come."""
    made = list[_Fact]()
    _collect(holder, guards, made)
    return iter(made)


def _collect(holder: ast.AST, guards: tuple[int, ...], made: list[_Fact]) -> None:
    for _, block in ast.iter_fields(holder):
        for node in block if isinstance(block, list) else ():
            if isinstance(node, ast.stmt):
                made.append(_Fact(node, guards))
                _collect(node, (*guards, len(made) - 1), made)
            elif isinstance(node, ast.excepthandler | ast.match_case):
                _collect(node, guards, made)
