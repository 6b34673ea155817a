"""Edits of ways to leave a block or function: `return`, `yield`, `await`, `break`, `continue`, `raise`, `except`."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator

from nightshift_engine.edit import Edit
from nightshift_engine.edits import build
from nightshift_engine.edits.build import Piece, calculate, constant, name, refuse
from nightshift_engine.edits.conditions import occurring, questions
from nightshift_engine.edits.statement_edits import (
    StatementExpression,
    change,
    choices,
    insert,
    replacement,
    statement_expressions,
    statement_operator,
)
from nightshift_engine.edits.statement_view import Block, Site, StatementView
from nightshift_engine.tree import Function, at, places, replace, splice

_NOT_RAISED = re.compile(r"DID NOT RAISE <class '([\w.]+)'>|^(\w+) not raised")
_MOST_AWAITED = 4
_EMPTIES = {"list": "list", "dict": "dict", "str": "str", "tuple": "tuple", "set": "set"}
_USUAL = ((None, 0.3), (0, 0.25), (1, 0.12), (-1, 0.15), (True, 0.2), (False, 0.25), ("", 0.12))
_OF_KIND = {"int": (0, 1, -1), "float": (0, 1, -1), "bool": (False, True), "str": ("",), "NoneType": (None,)}


def outcomes(view: StatementView, block: Block) -> Iterator[tuple[ast.stmt, str, float]]:
    """Yield statements that leave the block early: (statement, its text, weight factor)."""
    if not block.open:
        return
    if block.loops:
        yield ast.Continue(), "continue", 0.8
        yield ast.Break(), "break", 0.5
    function = block.function
    if function is None:
        return
    nodes = view.nodes_of(function)
    if view.is_generator(function):
        yield build.return_value(None), "return", 0.9
    else:
        scale = 0.6 if block.loops else 1.0
        for value, share in results(view, block, nodes):
            yield build.return_value(value), f"return {value.text}", share * scale
    raised = [node for node in nodes if isinstance(node, ast.Raise)]
    yield from ((node, ast.unparse(node), 0.3) for node in raised)
    for kind, words, share in _list_wanted(view):
        new = build.call(kind, constant(words or "invalid argument"))
        yield ast.Raise(exc=new.node, cause=None), f"raise {new.text}", share


def _list_wanted(view: StatementView) -> Iterator[tuple[str, str, float]]:
    """Yield the exceptions that tests expect: (kind, message, weight factor).

    An exception weighs most if a failing test expected it and it was not raised.
    """
    missed = set[str]()
    for _, message in view.context.errors:
        match = _NOT_RAISED.search(message)
        missed.add((match.group(1) or match.group(2)).rpartition(".")[2] if match else "")
    expected = {kind for kind, _ in view.awaited}
    for kind in sorted(missed - expected):
        if kind in view.globals or kind in dir(builtins):
            yield kind, "", 1.0
    for kind, words in view.awaited[:_MOST_AWAITED]:
        yield kind, words, 1.0 if kind in missed else 0.4


def results(view: StatementView, block: Block, nodes: list[ast.AST]) -> Iterator[tuple[Piece, float]]:
    """List expressions that the function may return, each text once and with a weight factor.

    Values that the function returns elsewhere weigh most.
    """
    best: dict[str, tuple[Piece, float]] = {}
    for value, share in _results(view, block, nodes):
        if share > best.get(value.text, (value, 0.0))[1]:
            best[value.text] = (value, share)
    return iter(best.values())


def _results(view: StatementView, block: Block, nodes: list[ast.AST]) -> Iterator[tuple[Piece, float]]:
    values = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    kinds = frozenset().union(*map(view.kind_of, values))
    visible = {*view.names(block), *view.globals}
    for value in values:
        short = len(list(ast.walk(value))) <= 8
        if short and not any(isinstance(part, ast.Await) for part in ast.walk(value)):
            loose = not set(view.list_read_names(value)) <= visible
            yield build.piece(value), 0.1 if loose else 0.6
    for usual, share in _USUAL:
        fits = any(usual in _OF_KIND.get(kind, ()) for kind in kinds)
        yield constant(usual), share * (1.0 if fits or not kinds or usual is None else 0.35)
    for kind in _EMPTIES:
        if kind != "str":
            yield build.empty(kind), 0.5 if kind in kinds else 0.15 if kind in {"list", "dict"} else 0.05
    if not kinds or "list" in kinds:
        nested = ast.List(elts=[build.empty("list").node], ctx=ast.Load())
        yield Piece(nested, "[[]]"), 0.12
    for text in view.names(block)[:6]:
        yield name(text), 0.2


_MOST_RETURNS = 700
_WRAPPERS = (
    "list",
    "sorted",
    "set",
    "len",
    "sum",
    "str",
    "int",
    "tuple",
    "max",
    "min",
    "any",
    "all",
    "bool",
    "abs",
    "round",
)
_IDLE = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.Name | ast.Attribute | ast.UnaryOp | ast.BoolOp


@statement_operator(_MOST_RETURNS)
def returns(view: StatementView) -> Iterable[Edit]:
    """Change, insert and wrap returned values, and move returns across the edges of loops."""
    edits = [edit for site in view.sites for edit in _returns_at(view, site)]
    edits += [edit for gap in view.gaps for edit in _missing_return(view, gap)]
    return edits


def _returns_at(view: StatementView, site: Site) -> Iterator[Edit]:
    block, node = site.block, site.node
    if block.function is None:
        return
    nodes = view.nodes_of(block.function)
    if isinstance(node, ast.Return):
        for spot in statement_expressions(site):
            if spot.parent is node:
                yield from choices("returned", spot, _values(view, spot, nodes))
        if node.value is None and not view.is_generator(block.function):
            for value, share in results(view, block, nodes):
                yield change("returned", site, [build.return_value(value)], share * 0.5, f"`return {value.text}`")
            for text in (*view.list_reassigned(block), *view.chains):
                yield change("returned", site, [build.return_value(name(text))], 0.4, f"`return {text}`")
        yield from _out_of_loop(site, node)
    elif isinstance(node, ast.Expr) and not view.is_generator(block.function) and block.open:
        yield from _of_expression(site, node.value)
    elif isinstance(node, ast.For | ast.While):
        yield from _into_loop(site)


def _values(view: StatementView, spot: StatementExpression, nodes: list[ast.AST]) -> Iterator[tuple[Piece, float]]:
    """Yield other values in place of a returned value, and expressions built from the returned value."""
    old, block = spot.piece, spot.site.block
    for value, share in results(view, block, nodes):
        yield value, share * 0.3
    for text in (*view.names(block), *view.chains):
        if text not in {"self", "cls"}:
            yield name(text), 0.15
            yield from _extend(old, name(text))
    if isinstance(old.node, ast.Constant) and isinstance(old.node.value, bool):
        yield constant(not old.node.value), 0.5
        yield from _list_conditions(view, block)
    yield refuse(old), 0.1
    yield Piece(ast.List(elts=[old.node], ctx=ast.Load()), f"[{old.text}]"), 0.12
    for step in (ast.Add, ast.Sub):
        yield calculate(old, step, constant(1)), 0.12
    yield Piece(ast.UnaryOp(op=ast.USub(), operand=old.node), f"-{old.text}"), 0.06
    yield from ((build.call(wrapper, old), 0.05) for wrapper in _WRAPPERS)
    for part in _list_parts(view, old):
        yield calculate(old, ast.Add, part), 0.08
        yield calculate(part, ast.Add, old), 0.08


def _list_conditions(view: StatementView, block: Block) -> Iterator[tuple[Piece, float]]:
    """Yield conditions in place of True or False: common ones on variables, and conditions of the file."""
    for text in view.names(block):
        if text not in {"self", "cls"}:
            yield from ((question, 0.08) for question in questions(name(text)))
    for part, weight in occurring(view, block):
        yield part, weight * 0.6
        yield view.negate(part), weight * 0.4


def _extend(old: Piece, other: Piece) -> Iterator[tuple[Piece, float]]:
    if isinstance(old.node, ast.Constant):
        return
    for left, right in ((old, other), (other, old)):
        yield calculate(left, ast.Add, right), 0.05
    yield calculate(old, ast.Sub, other), 0.03
    yield calculate(old, ast.Mult, other), 0.02
    yield build.join_with(ast.Or, old, other), 0.03
    yield build.join_with(ast.And, old, other), 0.02
    for choice in ("max", "min"):
        yield build.call(choice, old, other), 0.03


def _list_parts(view: StatementView, old: Piece) -> Iterator[Piece]:
    """Yield slices, items and one-element lists of the scope; a result is often composed of such parts."""
    parts: dict[str, ast.expr] = {}
    for node in ast.walk(view.node):
        fits = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        if fits or (isinstance(node, ast.List) and len(node.elts) == 1):
            parts.setdefault(ast.unparse(node), node)  # type: ignore[arg-type] # both are expressions
    for text, part in list(parts.items())[:8]:
        if text not in old.text:
            yield Piece(part, text)
            if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Slice):
                rest = ast.Subscript(value=part.value, slice=ast.Slice(lower=part.slice), ctx=ast.Load())
                yield build.piece(rest)


def _of_expression(site: Site, value: ast.expr) -> Iterator[Edit]:
    """Replace an expression statement by a `return` of its value; likeliest for a statement without any effect."""
    if isinstance(value, ast.Constant) and value.value is ...:
        return
    last = site.index == len(site.block.statements) - 1
    idle = isinstance(value, _IDLE) and not (isinstance(value, ast.Constant) and isinstance(value.value, str))
    weight = 0.9 if idle and last else 0.5 if idle or last else 0.15
    yield change("return", site, [ast.Return(value=value)], weight, f"`return {ast.unparse(value)}`")


def _missing_return(view: StatementView, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """Insert a `return` at the end of a function, of a branch, or of a loop's body."""
    block, index, _ = gap
    function = block.function
    if function is None or not block.open or index < len(block.statements) or block.loops > 1:
        return
    nodes = view.nodes_of(function)
    if view.is_generator(function):
        return
    is_function_body = block.owner is function
    scale = 0.5 if is_function_body else 0.12
    last = block.statements[-1]
    assigned = {part.id for part in ast.walk(last) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for value, share in results(view, block, nodes):
        weight = max(share, 0.8) if value.text in assigned else share
        note = f"`return {value.text}` is put in"
        yield insert("return", gap, build.return_value(value), weight * scale, note)
    for text in view.names(block)[6:]:
        yield insert("return", gap, build.return_value(name(text)), 0.15 * scale, f"`return {text}` is put in")


def _out_of_loop(site: Site, node: ast.Return) -> Iterator[Edit]:
    """Move the `return` to after the block that contains it, or to after one of the blocks around that block."""
    block = site.block
    weight = 0.4
    while block.above is not None and not isinstance(block.owner, Function | ast.ClassDef):
        outer, index = block.above
        holder = outer.statements[index]
        depth = len(outer.position(index))
        left = splice(holder, site.position[depth:], 1, ())
        note = f"`{ast.unparse(node)}` is moved out of the block"
        position = outer.position(index)
        line = site.line
        yield Edit(
            kind="moved_return", position=position, new=(left, node), count=1, weight=weight, line=line, note=note
        )
        block, weight = outer, weight * 0.6


def _into_loop(site: Site) -> Iterator[Edit]:
    """Move the `return` after the loop to the end of the loop's body."""
    rest = site.block.statements[site.index + 1 :]
    body: list[ast.stmt] = site.node.body  # type: ignore[attr-defined] # a loop, see the caller
    if rest and isinstance(rest[0], ast.Return):
        grown = replace(site.node, (("body", len(body) - 1),), body[-1])
        grown.body = [*body, rest[0]]
        note = f"`{ast.unparse(rest[0])}` is moved into the loop"
        yield change("moved_return", site, [grown], 0.08, note, count=2)


_MOST_YIELDS = 300


@statement_operator(_MOST_YIELDS)
def yields(view: StatementView) -> Iterable[Edit]:
    """Change the way in which values are returned, yielded or awaited, and insert missing yields."""
    edits = [edit for site in view.sites for edit in _yields_at(view, site)]
    edits += list(_missing_yield(view))
    return edits


def _yields_at(view: StatementView, site: Site) -> Iterator[Edit]:
    function = site.block.function
    if function is None:
        return
    generator = view.is_generator(function)
    value = _read_value(site.node)
    if value is not None:
        yield from _ways(view, site, function, value, generator)
    if isinstance(function, ast.AsyncFunctionDef):
        yield from _awaits(site)


def _read_value(node: ast.stmt) -> ast.expr | None:
    """Return the value that a statement returns, yields, awaits or drops."""
    if isinstance(node, ast.Return):
        return node.value
    if isinstance(node, ast.Expr):
        inner = node.value
        return inner.value if isinstance(inner, ast.Yield | ast.YieldFrom | ast.Await) else inner
    return None


def _ways(view: StatementView, site: Site, function: Function, value: ast.expr, generator: bool) -> Iterator[Edit]:
    text = ast.unparse(value)
    recursive = isinstance(value, ast.Call) and function.name in view.list_read_names(value)
    old = site.node.value if isinstance(site.node, ast.Expr) else site.node
    scale = 1.0 if generator else 0.15
    options: list[tuple[ast.stmt, str, float]] = [
        (ast.Expr(value=ast.Yield(value=value)), f"yield {text}", 0.4 * scale),
        (ast.Expr(value=value), text, 0.03),
    ]
    if isinstance(function, ast.FunctionDef):
        weight = (0.9 if recursive else 0.4) * scale
        options.append((ast.Expr(value=ast.YieldFrom(value=value)), f"yield from {text}", weight))
    if site.block.open:
        options.append((ast.Return(value=value), f"return {text}", 0.1 if isinstance(old, ast.Yield) else 0.05))
    for new, says, weight in options:
        if not build.same(new, site.node):
            yield change("yield", site, [new], weight, f"`{ast.unparse(site.node)}` becomes `{says}`")


def _awaits(site: Site) -> Iterator[Edit]:
    for spot in statement_expressions(site):
        if isinstance(spot.node, ast.Call) and not isinstance(spot.parent, ast.Await):
            awaited = build.Piece(ast.Await(value=spot.node), f"await {spot.piece.text}")
            yield replacement("await", spot, awaited, 0.3)
        elif isinstance(spot.node, ast.Await):
            yield replacement("await", spot, build.piece(spot.node.value), 0.05)


def _missing_yield(view: StatementView) -> Iterator[Edit]:
    """Insert a `yield` of a visible variable between the statements of a generator."""
    for gap in view.gaps:
        block, index, _ = gap
        function = block.function
        if function is None or not view.is_generator(function):
            continue
        ending = index == len(block.statements)
        for text in view.names(block):
            new = ast.Expr(value=ast.Yield(value=name(text).node))
            yield insert("yield", gap, new, 0.12 if ending else 0.05, f"`yield {text}` is put in")
            if view.has_length(text) and isinstance(function, ast.FunctionDef):
                new = ast.Expr(value=ast.YieldFrom(value=name(text).node))
                yield insert("yield", gap, new, 0.05, f"`yield from {text}` is put in")


_MOST_JUMPS = 300
_ANY = "Exception"


@statement_operator(_MOST_JUMPS)
def flow(view: StatementView) -> Iterable[Edit]:
    """Change or insert jumps, and catch further exceptions."""
    edits = [edit for site in view.sites for edit in _jumps_at(view, site)]
    edits += [edit for gap in view.gaps for edit in _jumps(gap)]
    return edits


def _jumps_at(view: StatementView, site: Site) -> Iterator[Edit]:
    if isinstance(site.node, ast.Break | ast.Continue | ast.Return | ast.Raise):
        here = ast.unparse(site.node)
        loose = isinstance(site.node, ast.Break | ast.Continue)
        for new, text, share in outcomes(view, site.block):
            jump = isinstance(new, ast.Break | ast.Continue)
            if text != here and (loose or jump):
                weight = 0.4 if loose and jump else 0.25 * share
                yield change("jump", site, [new], weight, f"`{here}` becomes `{text}`")
    elif isinstance(site.node, ast.Pass):
        for new, text, share in outcomes(view, site.block):
            yield change("jump", site, [new], 0.5 * share, f"`pass` becomes `{text}`")
    elif isinstance(site.node, ast.Try):
        yield from _widen(view, site, site.node)


def _jumps(gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """Insert a jump at the end of a branch or of a loop's body."""
    block, index, _ = gap
    if not block.loops or not block.open or index < len(block.statements):
        return
    weight = 0.12 if isinstance(block.owner, ast.If) else 0.04
    yield insert("jump", gap, ast.Break(), weight, "`break` is put in")
    if isinstance(block.owner, ast.If):
        yield insert("jump", gap, ast.Continue(), weight, "`continue` is put in")


def _widen(view: StatementView, site: Site, node: ast.Try) -> Iterator[Edit]:
    """Extend handlers to the exceptions that ended the failing tests."""
    seen = list(dict.fromkeys(kind for kind, _ in view.context.errors if kind.isidentifier()))
    for index, handler in enumerate(node.handlers):
        old = handler.type
        if old is None:
            continue
        present = list(old.elts) if isinstance(old, ast.Tuple) else [old]
        options = [(name(kind).node, 0.25) for kind in seen] + [(name(_ANY).node, 0.08)]
        options = [(new, weight) for new, weight in options if not any(build.same(new, part) for part in present)]
        present_texts = {ast.unparse(part) for part in present}
        more = [name(kind).node for kind in seen if kind not in present_texts]
        options += [(ast.Tuple(elts=[*present, new], ctx=ast.Load()), 0.5) for new in more]
        for new, weight in options:
            new_handler = ast.ExceptHandler(type=new, name=handler.name, body=handler.body)
            position = (*site.position, ("handlers", index))
            note = f"`except {ast.unparse(old)}` becomes `except {ast.unparse(new)}`"
            yield Edit(kind="except", position=position, new=(new_handler,), weight=weight, line=site.line, note=note)


@statement_operator()
def declarations(view: StatementView) -> Iterable[Edit]:
    """Insert `global` and `nonlocal` for variables that a function assigns and that an outer scope also has."""
    return [
        edit
        for position, node in places(view.context.tree, view.context.scope)
        for edit in _declare(view, position, node)
    ]


def _declare(view: StatementView, position: tuple[tuple[str, int | None], ...], node: ast.AST) -> Iterator[Edit]:
    lines = [line for line in view.context.lines if _covers(node, line)]
    if not isinstance(node, Function) or not lines or not view.context.scope:
        return
    line = max(lines, key=lambda each: view.context.lines[each])
    own = view.bound.get(id(node), {})
    outer = {text for text in _enclosing(view, position) if text in own}
    for text in own:
        if any(argument.arg == text for argument in ast.walk(node.args) if isinstance(argument, ast.arg)):
            continue
        loud = any(kind == "UnboundLocalError" and f"'{text}'" in message for kind, message in view.context.errors)
        for word, fits, maker in (
            ("nonlocal", text in outer, ast.Nonlocal), ("global", text in view.globals, ast.Global),
        ):  # fmt: skip
            if fits:
                new: ast.stmt = maker(names=[text])
                yield Edit(
                    kind=word, position=(*position, ("body", 0)), new=(new,), count=0, weight=1.0 if loud else 0.08,
                    line=line, note=f"`{word} {text}` is put in",
                )  # fmt: skip


def _covers(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or 0)


def _enclosing(view: StatementView, position: tuple[tuple[str, int | None], ...]) -> Iterator[str]:
    """Yield the variables of the functions around a place of the scope."""
    for end in range(len(view.context.scope), len(position)):
        node = at(view.context.tree, position[:end])
        if isinstance(node, Function):
            yield from view.bound.get(id(node), ())
