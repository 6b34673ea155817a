"""Edits of assignments: other targets, other initial values, and missing assignments of values that a loop tests.

A traversal that tests `place in seen` and never adds to `seen` does not end, or does its work twice.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nightshift_engine.edit import Edit
from nightshift_engine.edits import build
from nightshift_engine.edits.build import Piece, as_target, call, constant, item, method, name, piece, statement
from nightshift_engine.edits.conditions import BUILTINS
from nightshift_engine.edits.statement_edits import (
    change,
    choices,
    insert,
    statement_expressions,
    statement_operator,
)
from nightshift_engine.edits.statement_view import JUMPS, Block, Site, StatementView, chain
from nightshift_engine.kinds import BOOL, MAPPING, SIZED, is_number
from nightshift_engine.tree import Function

_MOST_ASSIGNMENTS = 300


@statement_operator(_MOST_ASSIGNMENTS)
def assignments(view: StatementView) -> Iterable[Edit]:
    """Change existing assignments: another target, another order, or `+=` for `=` and the reverse."""
    return (edit for site in view.sites for edit in _assignments_at(view, site))


def _assignments_at(view: StatementView, site: Site) -> Iterator[Edit]:
    node = site.node
    if isinstance(node, ast.Expr):
        yield from _assign_expression(view, site, node.value)
    elif isinstance(node, ast.AugAssign):
        yield _change(site, [_make_assignment(node.target, node.value)], 0.2)
        yield from _other_targets(view, site, node.target, node)
        grown = ast.BinOp(left=node.value, op=node.op, right=build.as_value(node.target))
        if isinstance(node.op, ast.Add):
            yield _change(site, [_make_assignment(node.target, grown)], 0.08)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from _simultaneous(site, target, node.value)
        elif isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            for step, weight in ((ast.Add(), 0.15), (ast.Sub(), 0.05), (ast.Mult(), 0.03)):
                yield _change(site, [ast.AugAssign(target=target, op=step, value=node.value)], weight)
            yield from _other_targets(view, site, target, node)
        if isinstance(target, ast.Tuple):
            yield from _reorder(site, target, node.value)
        yield from _together(site)


def _assign_expression(view: StatementView, site: Site, value: ast.expr) -> Iterator[Edit]:
    """Assign the value of a bare expression to the variable that it was computed from, or to another variable."""
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name | ast.Attribute | ast.Subscript):
        target = as_target(value.left)
        yield _change(site, [ast.AugAssign(target=target, op=value.op, value=value.right)], 0.9)  # type: ignore[arg-type] # one of the three, see above
    if isinstance(value, ast.Compare) and isinstance(value.left, ast.Name | ast.Attribute | ast.Subscript):
        yield _change(site, [_make_assignment(as_target(value.left), value.comparators[0])], 0.9)
    if isinstance(value, ast.BinOp | ast.Call | ast.UnaryOp | ast.Subscript | ast.ListComp):
        used = set(view.list_read_names(value))
        for text in (*view.names(site.block), *view.chains):
            if text not in {"self", "cls"}:
                weight = (0.3 if text in used else 0.06) * (1.0 if isinstance(value, ast.Call) else 2.0)
                yield _change(site, [_make_assignment(as_target(name(text).node), value)], weight)


def _change(site: Site, new: list[ast.stmt], weight: float, count: int = 1) -> Edit:
    old = "; ".join(ast.unparse(node) for node in site.block.statements[site.index : site.index + count])
    text = "; ".join(ast.unparse(node) for node in new)
    return change("assignment", site, new, weight, f"`{old}` becomes `{text}`", count=count)


def _make_assignment(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[target], value=value, lineno=0)


def _other_targets(
    view: StatementView, site: Site, target: ast.expr, node: ast.Assign | ast.AugAssign
) -> Iterator[Edit]:
    """Assign the value to another variable or attribute; a target of the same kind is likelier."""
    old = ast.unparse(target)
    for text in (*view.names(site.block), *view.chains):
        if text in {old, "self", "cls"}:
            continue
        alike = view.kinds(text) & view.kinds(old) or not (view.kinds(text) and view.kinds(old))
        weight = 0.12 if alike else 0.03
        new = as_target(name(text).node)
        if isinstance(node, ast.Assign):
            yield _change(site, [_make_assignment(new, node.value)], weight)
        elif isinstance(new, ast.Name | ast.Attribute | ast.Subscript):
            yield _change(site, [ast.AugAssign(target=new, op=node.op, value=node.value)], weight)


def _simultaneous(site: Site, target: ast.Tuple, value: ast.Tuple) -> Iterator[Edit]:
    """Permute the values of `a, b = x, y`, or replace it by two consecutive assignments."""
    parts = (*target.elts, *value.elts)
    if len(target.elts) != len(value.elts) or any(isinstance(part, ast.Starred) for part in parts):
        return
    pairs = [_make_assignment(left, right) for left, right in zip(target.elts, value.elts, strict=True)]
    yield _change(site, pairs, 0.1)
    yield _change(site, pairs[::-1], 0.08)
    yield from _reorder(site, value, target)


def _reorder(site: Site, parts: ast.Tuple, other: ast.expr) -> Iterator[Edit]:
    """Permute one side of a tuple assignment."""
    value_side = isinstance(parts.ctx, ast.Load)
    for order in itertools.islice(itertools.permutations(parts.elts), 1, 6):
        turned = ast.Tuple(elts=list(order), ctx=parts.ctx)
        new = _make_assignment(other, turned) if value_side else _make_assignment(turned, other)
        yield _change(site, [new], 0.3 if len(parts.elts) == 2 else 0.15)


def _together(site: Site) -> Iterator[Edit]:
    """Join two or three consecutive assignments into a simultaneous one."""
    for count in (2, 3):
        group = site.block.statements[site.index : site.index + count]
        if len(group) < count:
            return
        targets, values = [], []
        for part in group:
            if not isinstance(part, ast.Assign) or len(part.targets) > 1 or isinstance(part.targets[0], ast.Tuple):
                return
            targets.append(part.targets[0])
            values.append(part.value)
        left, right = ast.Tuple(elts=targets, ctx=ast.Store()), ast.Tuple(elts=values, ctx=ast.Load())
        read = {name for value in values[1:] for name in _names(value)}
        weight = 0.3 if read & {name for target in targets[:-1] for name in _names(target)} else 0.02
        yield _change(site, [_make_assignment(left, right)], weight, count=count)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


_MOST_INITIAL = 500
_NUMBERS = (0, 1, -1, 2)
_COPIES = ("list", "set", "dict")
_UNBOUND = ("UnboundLocalError", "NameError")


@statement_operator(_MOST_INITIAL)
def initial_values(view: StatementView) -> Iterable[Edit]:
    """Replace initial values of variables, and insert or move initial values."""
    edits = [edit for site in view.sites for edit in _initial_at(view, site)]
    edits += [edit for gap in view.gaps for edit in (*_missing(view, gap), *_bind_lost_names(view, gap))]
    return edits


def _initial_at(view: StatementView, site: Site) -> Iterator[Edit]:
    node = site.node
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for spot in statement_expressions(site):
            tuple_of = isinstance(node.value, ast.Tuple) and spot.parent is node.value
            if (spot.node is node.value or tuple_of) and is_initial(spot.node):
                yield from choices("initial", spot, _values(view, site, spot.node))
    if isinstance(node, ast.For | ast.While):
        yield from _into_loop(site, node)
        yield from _out_of_loop(site, node)


def is_initial(node: ast.expr) -> bool:
    """Check whether a value can initialise a variable: a constant, name, attribute, item, small container or call."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return len(node.elts) <= 1
    if isinstance(node, ast.Call):
        return len(node.args) <= 1 and not any(isinstance(part, ast.Call) for part in node.args)
    return isinstance(node, ast.Constant | ast.Name | ast.Subscript | ast.Dict | ast.Attribute)


def _values(view: StatementView, site: Site, old: ast.expr) -> Iterator[tuple[Piece, float]]:
    block = site.block
    kind = view.kind_of(old)
    number = is_number(kind)
    for value in _NUMBERS:
        yield constant(value), 0.4 if number else 0.06
    for text in ("inf", "-inf"):
        yield infinite(text), 0.2 if number else 0.04
    yield constant(None), 0.15
    for value in (True, False):
        yield constant(value), 0.6 if kind == BOOL else 0.05
    for empty in ("list", "dict", "str", "set", "tuple"):
        yield build.empty(empty), 0.1 if kind & SIZED else 0.05
    yield from _from_visible(view, block, old)
    yield Piece(ast.List(elts=[old], ctx=ast.Load()), f"[{ast.unparse(old)}]"), 0.1


def infinite(text: str) -> Piece:
    """Return `float("inf")`, or `float("-inf")` for "-inf"."""
    return call("float", constant(text))


def _from_visible(view: StatementView, block: Block, old: ast.expr) -> Iterator[tuple[Piece, float]]:
    line = getattr(old, "lineno", 0)
    for text in view.names(block):
        if text in {"self", "cls"}:
            continue
        part = name(text)
        weight = 0.1 if view.find_binding(block, text) < line else 0.02
        yield part, weight
        if view.number(text):
            yield from ((build.calculate(part, step, constant(1)), weight) for step in (ast.Add, ast.Sub))
        if view.has_length(text) or not view.has_kind(text):
            length = call("len", part)
            yield item(part, constant(0)), weight * 2
            yield length, weight * 1.5
            yield build.calculate(length, ast.Sub, constant(1)), weight
            yield call("list", part), weight * 0.5
        yield Piece(ast.List(elts=[part.node], ctx=ast.Load()), f"[{text}]"), weight * 0.6
    yield from ((name(text), 0.05) for text in view.chains)


def _into_loop(site: Site, loop: ast.For | ast.While) -> Iterator[Edit]:
    """Move an initial value from before a loop to the head of its body."""
    used = {part.id for part in ast.walk(loop) if isinstance(part, ast.Name)}
    for back in range(1, min(site.index - site.block.first, 4) + 1):
        before = site.block.statements[site.index - back]
        if not isinstance(before, ast.Assign) or not _initial_targets(before) & used:
            continue
        grown = _with_body(loop, [before, *loop.body])
        statements = list(site.block.statements[site.index - back + 1 : site.index])
        position = site.block.position(site.index - back)
        note = f"`{ast.unparse(before)}` is moved into the loop"
        new = (*statements, grown)
        yield Edit(
            kind="moved_initial", position=position, new=new, count=back + 1, weight=0.25, line=site.line, note=note
        )  # fmt: skip


def _out_of_loop(site: Site, loop: ast.For | ast.While) -> Iterator[Edit]:
    """Move an initial value from a loop's body to before the loop."""
    for index, inside in enumerate(loop.body[:4]):
        if isinstance(inside, ast.Assign) and is_initial(inside.value) and len(loop.body) > 1:
            rest = _with_body(loop, [*loop.body[:index], *loop.body[index + 1 :]])
            note = f"`{ast.unparse(inside)}` is moved before the loop"
            yield change("moved_initial", site, [inside, rest], 0.25, note)


def _with_body(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.For | ast.While:
    if isinstance(loop, ast.While):
        return ast.While(test=loop.test, body=body, orelse=loop.orelse)
    return ast.For(target=loop.target, iter=loop.iter, body=body, orelse=loop.orelse, lineno=loop.lineno)


def _initial_targets(node: ast.Assign) -> set[str]:
    return {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def _missing(view: StatementView, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """Set a variable before a loop, at the start of a block, or before a use that raised an unbound-name error."""
    block, index, _ = gap
    if index >= len(block.statements):
        return
    following = block.statements[index]
    head = index == block.first
    loops = isinstance(following, ast.For | ast.While)
    for text in view.names(block):
        unbound = any(kind in _UNBOUND and f"'{text}'" in message for kind, message in view.context.errors)
        if not (head or loops or unbound) or text not in _list_stored(following, block):
            continue
        for value, weight in _firsts(view, text):
            worth = weight * (4.0 if unbound else 1.0)
            note = f"`{text} = {value.text}` is put in"
            yield insert("initial", gap, build.assign(text, value), worth, note)


def _bind_lost_names(view: StatementView, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """Initialise a name that nothing binds, before its first use in a block."""
    block, index, _ = gap
    if index >= len(block.statements):
        return
    head = isinstance(block.owner, Function) and index == block.first
    before_loop = isinstance(block.statements[index], ast.For | ast.While)
    in_loop = block.loops > 0 and index == block.first
    for text in view.lost if head or before_loop or in_loop else ():
        if text not in set(view.list_read_names(block.statements[index])) and not head:
            continue
        scale = 1.0 if head or before_loop else 0.7
        for value, weight in _first_of(view, block, text):
            new = build.assign(text, value)
            yield insert("initial", gap, new, weight * scale, f"`{text} = {value.text}` is put in")


def _first_of(view: StatementView, block: Block, text: str) -> Iterator[tuple[Piece, float]]:
    """Yield initial values for a name that is used but never bound.

    The values may use parameters and variables of outer functions.
    """
    kinds = view.kinds(text)
    for kind in ("list", "dict", "str", "set"):
        yield build.empty(kind), 0.9 if kind in kinds or (kind == "dict" and "list" in kinds) else 0.3
    for value in (0, 1, None, False):
        yield constant(value), 0.3 if kinds & SIZED else 0.7 if value in {0, None} else 0.5
    for other in view.names(block):
        if view.find_binding(block, other) <= getattr(block.function, "lineno", 0):
            yield name(other), 0.2
            if view.has_length(other) or not view.has_kind(other):
                yield from ((call(kind, name(other)), 0.6 if kind in kinds else 0.25) for kind in _COPIES)
            yield Piece(ast.List(elts=[name(other).node], ctx=ast.Load()), f"[{other}]"), 0.3
            yield call("len", name(other)), 0.1


def _list_stored(following: ast.stmt, block: Block) -> set[str]:
    nodes = [following, *block.statements] if block.loops else [following]
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _firsts(view: StatementView, text: str) -> Iterator[tuple[Piece, float]]:
    kinds = view.kinds(text)
    for kind in ("list", "dict", "set", "str"):
        if kind in kinds:
            yield build.empty(kind), 0.12
    if view.number(text) or not view.has_kind(text):
        yield from ((constant(value), 0.1) for value in (0, 1))
    if not view.has_kind(text) or "NoneType" in kinds:
        yield constant(None), 0.08
    if not view.has_kind(text):
        yield build.empty("list"), 0.05
    if "bool" in kinds:
        yield from ((constant(value), 0.12) for value in (True, False))


_MOST_RUNNING = 150
_LARGEST_RUNNING = 10  # maximum number of nodes of a value that a loop compares with the best one
_RunningGap = tuple[Block, int, int]
_Pair = tuple[str, Piece, ast.Compare]


@statement_operator(_MOST_RUNNING)
def running_best(view: StatementView) -> Iterable[Edit]:
    """Insert `best = value` or `best, place = value, here` if a loop tests `value > best` and never sets `best`."""
    compared = list(_list_comparisons(view.node))
    return (edit for gap in view.gaps if gap[0].loops for edit in _running_at(view, gap, compared))


def _list_comparisons(node: ast.AST) -> Iterator[_Pair]:
    """Yield each comparison of a name with an expression: (name, expression, comparison)."""
    for part in ast.walk(node):
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and not isinstance(part.ops[0], ast.In | ast.NotIn):
            sides = part.left, part.comparators[0]
            for side, other in (sides, sides[::-1]):
                small = sum(1 for _ in ast.walk(other)) <= _LARGEST_RUNNING
                if isinstance(side, ast.Name) and small and not isinstance(other, ast.Constant):
                    yield side.id, piece(other), part


def _running_at(view: StatementView, gap: _RunningGap, compared: list[_Pair]) -> Iterator[Edit]:
    block, index, _ = gap
    stale = view.stale(block) & frozenset(view.list_reassigned(block))
    for target, value, test in compared:
        if target in stale and view.names_in(value) <= view.visible(block) | BUILTINS:
            share = _share_of_running(block, index, test)
            new = build.assign(target, value)
            yield insert("running", gap, new, 0.35 * share, f"`{ast.unparse(new)}` is put in")
            for beside in _list_untouched(view, block, target):
                yield from _both(view, gap, target, value, beside, share)


def _list_untouched(view: StatementView, block: Block, target: str) -> list[str]:
    """Return up to three other variables that have an initial value and are not set in the loop around a block."""
    ancestor: Block | None = block
    while ancestor is not None and not isinstance(ancestor.owner, ast.For | ast.While):
        ancestor = ancestor.above[0] if ancestor.above else None
    nodes = ast.walk(ancestor.owner) if ancestor else ()
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return [text for text in view.list_reassigned(block) if text not in stored | {target}][:3]


def _both(
    view: StatementView, gap: _RunningGap, target: str, value: Piece, beside: str, share: float
) -> Iterator[Edit]:
    """Set a second variable in the same assignment, such as the place where the best value was found."""
    taken = {value.text, target, beside, "self", "cls"}
    for text in view.names(gap[0]):
        if text not in taken and view.find_binding(gap[0], text) > view.find_binding(gap[0], beside):
            fits = 0.2 if view.alike(text, beside) else 0.1
            for targets, values in (((target, beside), (value, name(text))), ((beside, target), (name(text), value))):
                left = ast.Tuple(elts=[ast.Name(id=each, ctx=ast.Store()) for each in targets], ctx=ast.Store())
                right = ast.Tuple(elts=[each.node for each in values], ctx=ast.Load())
                new = ast.Assign(targets=[left], value=right, lineno=0)
                yield insert("running", gap, new, fits * share, f"`{ast.unparse(new)}` is put in")


def _share_of_running(block: Block, index: int, test: ast.Compare) -> float:
    """Rate a gap between two statements.

    The best gaps are at the edges of the branch that the comparison guards, then at the end of a loop's body.
    """
    owner = block.owner
    edge = index in {block.first, len(block.statements)}
    if isinstance(owner, ast.If) and any(node is test for node in ast.walk(owner.test)):
        return 1.0 if block.field == "body" and edge else 0.3
    if isinstance(owner, ast.For | ast.While) and index == len(block.statements):
        return 0.7
    return 0.3 if edge else 0.1


_MOST_RECORDED = 150
_LARGEST_RECORDED = 12  # maximum number of nodes of a tested element
_GIVEN = 0.25
"""Factor for the weight if the scope already puts this element into the container elsewhere."""
_RecordGap = tuple[Block, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A test whether a container (`holder`) has an element, and the names that the test reads."""

    test: ast.Compare
    element: Piece
    holder: Piece
    names: frozenset[str]
    share: float

    @property
    def absent(self) -> bool:
        """True if the test is `not in`."""
        return isinstance(self.test.ops[0], ast.NotIn)


@statement_operator(_MOST_RECORDED)
def missing_records(view: StatementView) -> Iterable[Edit]:
    """Insert `seen.add(x)` and similar statements if `x in seen` is tested."""
    questions = list(_questions(view))
    return (edit for asked in questions for gap in view.gaps for edit in _record_at(view, gap, asked))


def _questions(view: StatementView) -> Iterator[Asked]:
    nodes = list(ast.walk(view.node))
    given = {pair for node in nodes for pair in _list_pairs(node)}
    for node in nodes:
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.In | ast.NotIn):
            continue
        element, holder = node.left, node.comparators[0]
        small = sum(1 for _ in ast.walk(element)) <= _LARGEST_RECORDED and not isinstance(element, ast.Constant)
        if small and chain(holder) and "str" not in view.kinds(chain(holder)):
            pair = piece(element), piece(holder)
            share = _GIVEN if (pair[0].text, pair[1].text) in given else 1.0
            names = frozenset((*view.list_read_names(element), *view.list_read_names(holder)))
            yield Asked(test=node, element=pair[0], holder=pair[1], names=names, share=share)


def _list_pairs(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield what a node stores in containers: (element or key, container), both as text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"add", "append"}:
        yield from ((ast.unparse(part), ast.unparse(node.func.value)) for part in node.args)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield ast.unparse(node.slice), ast.unparse(node.value)


def _record_at(view: StatementView, gap: _RecordGap, asked: Asked) -> Iterator[Edit]:
    block, index, _ = gap
    line = block.statements[index].lineno if index < len(block.statements) else _end(block) + 1
    if not asked.names <= view.visible(block) or asked.names & view.unready(block, line):
        return
    position_weight = _share_of_recorded(block, index, asked)
    for new, share in _ways(view, block, asked):
        note = f"`{ast.unparse(new)}` is put in"
        yield insert("remembered", gap, new, 0.35 * share * position_weight * asked.share, note)


def _end(block: Block) -> int:
    return block.statements[-1].end_lineno or block.statements[-1].lineno


def _share_of_recorded(block: Block, index: int, asked: Asked) -> float:
    """Rate a gap between two statements.

    The best gaps are in the branch for a new element, and after an `if` that leaves the block for a known element. Gaps
    in the loop around the test come next.
    """
    owner = block.owner
    edge = index in {block.first, len(block.statements)}
    if isinstance(owner, ast.If | ast.While) and _holds(owner.test, asked.test):
        return (1.0 if edge else 0.5) if (block.field == "body") == asked.absent else 0.15
    before = block.statements[index - 1] if index > block.first else None
    if isinstance(before, ast.If) and _holds(before.test, asked.test):
        return 1.0 if isinstance(before.body[-1], JUMPS) and not asked.absent else 0.4
    if any(isinstance(node, ast.If) and _holds(node.test, asked.test) for node in block.statements[:index]):
        return 0.5 if edge else 0.3
    return 0.25 if block.loops and edge else 0.1


def _holds(test: ast.expr, part: ast.Compare) -> bool:
    return any(node is part for node in ast.walk(test))


def _ways(view: StatementView, block: Block, asked: Asked) -> Iterator[tuple[ast.stmt, float]]:
    """Yield statements that put the element into the container, depending on the container's kind."""
    kinds = view.kinds(asked.holder.text)
    if "set" in kinds or not kinds:
        yield statement(method(asked.holder, "add", asked.element)), 1.0 if kinds else 0.6
    if "list" in kinds or "deque" in kinds or not kinds:
        yield statement(method(asked.holder, "append", asked.element)), 1.0 if kinds else 0.4
    if kinds & MAPPING:
        target = as_target(build.item(asked.holder, asked.element).node)
        others = [name(text) for text in view.names(block)[:8] if text not in asked.names]
        for value in (constant(True), constant(1), *others):
            yield ast.Assign(targets=[target], value=value.node, lineno=0), 0.35
