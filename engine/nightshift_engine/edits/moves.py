"""Edits that delete, move, swap or copy statements, and that model a branch on the opposite branch.

A missing piece of a program is mostly somewhere else in the same file (Barr et al., “The plastic surgery hypothesis”,
FSE 2014). And both branches of an `if` mostly do the same with different values, such as `shown.append("#")` in one
branch and `shown.append(letter)` in the other.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

from nightshift_engine.edit import Edit
from nightshift_engine.edits import build
from nightshift_engine.edits.build import Piece, augment, constant, method, name, rename, statement
from nightshift_engine.edits.conditions import BUILTINS
from nightshift_engine.edits.statement_edits import change, insert, statement_operator
from nightshift_engine.edits.statement_view import JUMPS, Block, Site, StatementView, fits, own_nodes
from nightshift_engine.kinds import UNKNOWN
from nightshift_engine.tree import Function, Place, at, places, replace, splice

_MOST_MOVES = 500
_HOLDERS = ast.If | ast.For | ast.While | ast.With | ast.Try
_FIXED = ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom


@statement_operator(_MOST_MOVES)
def moves(view: StatementView) -> Iterable[Edit]:
    """Move statements within, into or out of blocks, or delete a statement."""
    return (edit for site in view.sites if not isinstance(site.node, _FIXED) for edit in _moves_at(site))


def _moves_at(site: Site) -> Iterator[Edit]:
    text = title(site.node)
    if not isinstance(site.node, Function | ast.ClassDef | ast.Pass):
        weight = 0.15 if not isinstance(site.node, _HOLDERS | ast.Return) else 0.06
        yield change("deleted", site, [], weight, f"{text} is dropped")
    yield from _within(site, text)
    yield from _out(site, text)
    if isinstance(site.node, _HOLDERS):
        yield from _in(site)


def title(node: ast.stmt) -> str:
    """Return the first line of a statement, in backquotes."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(node, _HOLDERS):
        node = replace(node, (("body", 0),), body[0])
        setattr(node, "body", [ast.Pass()])  # noqa: B010 # the fields of `ast.stmt` are not known to mypy
    return f"`{ast.unparse(node).splitlines()[0]}`"


def _within(site: Site, text: str) -> Iterator[Edit]:
    """Swap a statement with the next one, or move it further down or up."""
    block, index = site.block, site.index
    statements = block.statements
    for end in range(index + 1, min(len(statements), index + 5)):
        between = statements[index + 1 : end + 1]
        if any(isinstance(node, _FIXED) for node in between):
            break
        near = end == index + 1
        weight = 0.3 if near else 0.06
        note = f"{text} is moved behind {title(between[-1])}"
        yield change("moved", site, [*between, site.node], weight, note, count=end - index + 1)
        if not near:
            yield change(
                "moved", site, [between[-1], site.node, *between[:-1]], 0.06,
                f"{title(between[-1])} is moved before {text}", count=end - index + 1,
            )  # fmt: skip


def _out(site: Site, text: str) -> Iterator[Edit]:
    """Move one of the first or last statements of a block before or after the statement that contains the block.

    If this statement is an `if` with an `else`, "after" means after the whole statement. The statements that follow the
    moved statement move with it.
    """
    block = site.block
    if block.above is None or not isinstance(block.owner, _HOLDERS) or len(block.statements) < 2:
        return
    outer, index = block.above
    holder, way = outer.statements[index], site.position[len(outer.position(index)) :]
    tail = block.statements[site.index :]
    dead = site.index > 0 and isinstance(block.statements[site.index - 1], JUMPS)
    if site.index > 0 and all(fits(node, outer) for node in tail) and (len(tail) <= 2 or dead):
        left = splice(holder, way, len(tail), ())
        note = f"{text} is moved out of the block, behind it"
        yield _move(site, outer, index, (left, *tail), 1.0 if dead else 0.3, note)
        if len(tail) == 2:
            alone = splice(holder, way, 1, ())
            yield _move(site, outer, index, (alone, site.node), 0.06, note)
    if site.index == 0 and fits(site.node, outer):
        left = splice(holder, way, 1, ())
        note = f"{text} is moved out of the block, before it"
        yield _move(site, outer, index, (site.node, left), 0.12, note)


def _move(site: Site, outer: Block, index: int, new: tuple[ast.stmt, ...], weight: float, note: str) -> Edit:
    return Edit(
        kind="dedented", position=outer.position(index), new=new, count=1, weight=weight, line=site.line, note=note
    )  # fmt: skip


def _in(site: Site) -> Iterator[Edit]:
    """Move statements that are before or after a block into the block, as its first or last statements."""
    statements, index = site.block.statements, site.index
    for field in ("body", "orelse", "finalbody"):
        body = getattr(site.node, field, [])
        if not body or isinstance(body[-1], JUMPS):
            continue
        for count in (1, 2):
            rest = statements[index + 1 : index + 1 + count]
            if len(rest) == count and not any(isinstance(node, _FIXED | Function | ast.ClassDef) for node in rest):
                grown = splice(site.node, ((field, len(body)),), 0, rest)
                note = f"{title(rest[0])} is moved into the block before it"
                weight = (0.25 if field == "body" else 0.12) / count
                yield change("indented", site, [grown], weight, note, count=count + 1)
    yield from _in_front(site)
    yield from _as_else(site)


def _as_else(site: Site) -> Iterator[Edit]:
    """Move the statement after a loop with a `break` into the loop's `else`."""
    node, rest = site.node, site.block.statements[site.index + 1 :]
    if not isinstance(node, ast.For | ast.While) or node.orelse or not rest or isinstance(rest[0], _FIXED):
        return
    if any(isinstance(part, ast.Break) for inner in node.body for part in own_nodes(inner)):
        grown = splice(node, (("orelse", 0),), 0, rest[:1])
        note = f"{title(rest[0])} becomes the `else` of the loop before it"
        yield change("else", site, [grown], 0.25, note, count=2)


def _in_front(site: Site) -> Iterator[Edit]:
    index = site.index - 1
    if index < site.block.first or isinstance(site.block.statements[index], _FIXED | Function | ast.ClassDef):
        return
    before = site.block.statements[index]
    grown = splice(site.node, (("body", 0),), 0, (before,))
    note = f"{title(before)} is moved into the block behind it"
    position = site.block.position(index)
    yield Edit(kind="indented", position=position, new=(grown,), count=2, weight=0.1, line=site.line, note=note)


_MOST_COPIES = 550
_MOST_UPDATES = 450
_COPIED = ast.Assign | ast.AugAssign | ast.Expr | ast.Raise | ast.Delete | ast.Break | ast.Continue
_NEAR = 0.07
"""Weight of a copy from the same scope; copies from the same class weigh less, those from elsewhere least."""
_LOOPS = ast.For | ast.While
_LARGEST_COPY = 30  # maximum number of nodes: a longer statement is hardly needed twice
_Gap = tuple[Block, int, int]


@statement_operator(_MOST_COPIES)
def copies(view: StatementView) -> Iterable[Edit]:
    """Insert copies of statements of the scope and the file between statements, also with one variable replaced."""
    sources = list(_sources(view))
    return (edit for gap in view.gaps for edit in _copies_at(view, gap, sources))


@statement_operator(_MOST_UPDATES)
def updates(view: StatementView) -> Iterable[Edit]:
    """Insert statements such as `count += 1` and `items.append(x)`, for visible variables of a matching kind."""
    return (edit for gap in view.gaps for edit in _updates_at(view, gap))


def _sources(view: StatementView) -> Iterator[tuple[ast.stmt, frozenset[str], float]]:
    """Yield short statements, each text once: (statement, the names in it, the weight of a copy)."""
    seen: set[str] = set()
    context = view.context
    owner = at(context.tree, context.scope[:-1]) if context.scope else context.tree
    for root, weight in ((view.node, _NEAR), (owner, 0.04), (context.tree, 0.015)):
        for node in ast.walk(root):
            if (
                not isinstance(node, _COPIED | ast.If)
                or _is_text(node)
                or sum(1 for _ in ast.walk(node)) > _LARGEST_COPY
            ):
                continue
            text = ast.unparse(node)
            if text not in seen:
                seen.add(text)
                yield node, frozenset(view.list_read_names(node)), weight if root is not context.tree else 0.015


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _copies_at(
    view: StatementView, gap: _Gap, sources: list[tuple[ast.stmt, frozenset[str], float]]
) -> Iterator[Edit]:  # fmt: skip
    block, index, _ = gap
    visible = view.visible(block) | BUILTINS
    beside = {id(node) for node in block.statements[max(index - 1, 0) : index + 1]}
    for node, names, weight in sources:
        if id(node) in beside or not fits(node, block):
            continue
        if isinstance(node, ast.Break | ast.Continue) and index < len(block.statements):
            continue
        if isinstance(node, ast.If) and not (index > block.first and isinstance(block.statements[index - 1], _LOOPS)):
            continue  # an `if` is copied only behind a loop, where leftovers are often handled as in the loop
        missing = names - visible
        if not missing:
            scale = 2.0 if isinstance(node, ast.If) else 1.0
            yield insert("copied", gap, node, weight * scale, f"{title(node)} is put in")
        if weight == _NEAR and len(missing) <= 1:
            yield from _rename(view, gap, node, missing or names & set(view.names(block)))


def _rename(view: StatementView, gap: _Gap, node: ast.stmt, names: frozenset[str] | set[str]) -> Iterator[Edit]:
    for old in sorted(names):
        for new in view.names(gap[0]):
            if new != old and new not in {"self", "cls"} and view.kinds(new) & view.kinds(old):
                new_statement = rename(node, old, new)
                yield insert("copied", gap, new_statement, 0.012, f"{title(new_statement)} is put in")


def _updates_at(view: StatementView, gap: _Gap) -> Iterator[Edit]:
    block, index, _ = gap
    visible = [text for text in (*view.names(block), *view.chains) if text not in {"self", "cls"}]
    scale = (1.0 if block.loops else 0.4) * (1.0 if _is_edge(block, index) else 0.6)
    stale = view.stale(block)
    for text in visible:
        if view.number(text):
            still = 2.0 if text in stale else 1.0
            for step, sign, weight in ((ast.Add, "+=", 0.1 * still), (ast.Sub, "-=", 0.06 * still)):
                new = augment(text, step, constant(1))
                yield insert("update", gap, new, weight * scale, f"`{text} {sign} 1` is put in")
        for new_piece, weight in _additions(view, text, visible):
            update = statement(new_piece)
            yield insert("update", gap, update, weight * scale, f"`{new_piece.text}` is put in")
    yield from _steps(view, gap, visible, scale)


def _is_edge(block: Block, index: int) -> bool:
    """Check whether a gap between statements is at an edge of a block, after a loop, or before a `return`."""
    if index in {block.first, len(block.statements)}:
        return True
    before, after = block.statements[index - 1], block.statements[index]
    return isinstance(before, ast.For | ast.While) or isinstance(after, ast.Return)


def _additions(view: StatementView, holder: str, visible: list[str]) -> Iterator[tuple[Piece, float]]:
    """Yield calls that put a visible value into a container.

    Values that the scope tests for membership in the container, or adds to it elsewhere, weigh more.
    """
    kinds = view.kinds(holder)
    for kind, way in (("set", "add"), ("list", "append"), ("deque", "append")):
        for text in visible:
            member = (text, holder) in view.members
            if text != holder and (kind in kinds or (member and not kinds)):
                weight = 0.3 if member else 0.15 if (text, holder) in view.fed else 0.05
                yield method(name(holder), way, name(text)), weight
    if "list" in kinds or "deque" in kinds:
        yield method(name(holder), "pop"), 0.04


def _steps(view: StatementView, gap: _Gap, visible: list[str], scale: float) -> Iterator[Edit]:
    """Insert statements that advance a variable by another one, such as `node = node.next` and `count += size`."""
    block = gap[0]
    for chain in view.chains:
        owner = chain.partition(".")[0]
        if owner in view.names(block) and owner not in {"self", "cls"} and chain.count(".") == 1:
            new = build.assign(owner, name(chain))
            yield insert("update", gap, new, 0.06 * scale, f"`{owner} = {chain}` is put in")
    for target, other in itertools.permutations([text for text in visible if view.number(text)][:5], 2):
        new = augment(target, ast.Add, name(other))
        yield insert("update", gap, new, 0.03 * scale, f"`{target} += {other}` is put in")
    stale = view.stale(block)
    for target in view.list_reassigned(block):
        weight = 0.12 if target in stale else 0.03
        for other in visible:
            if other != target and view.alike(target, other):
                new = build.assign(target, name(other))
                yield insert("update", gap, new, weight * scale, f"`{target} = {other}` is put in")


_MOST_SIBLINGS = 200
_LARGEST_SIBLING = 30  # maximum number of nodes of a statement that is repeated with a change
_SHORT = 16  # maximum number of nodes of a statement that is repeated unchanged
_WEIGHT = 0.25
_PASS = 2.0
_SIMPLE_BRANCH = ast.Expr | ast.Assign | ast.AugAssign
_OPPOSITES: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.FloorDiv(), ast.FloorDiv: ast.Mult(),
}  # fmt: skip
_Version = tuple[ast.stmt, float]


@statement_operator(_MOST_SIBLINGS)
def sibling_branches(view: StatementView) -> Iterable[Edit]:
    """Add an `else` to an `if` without one, or a body to a branch that only has `pass`.

    Each new branch is modelled on a nearby statement.
    """
    return (
        edit for site in view.sites if isinstance(site.node, ast.If) for edit in _siblings_at(view, site, site.node)
    )


def _siblings_at(view: StatementView, site: Site, node: ast.If) -> Iterator[Edit]:
    text = f"`if {ast.unparse(node.test)}`"
    if not node.orelse:
        for new, share in _versions(view, site, node, node.body):
            grown = ast.If(test=node.test, body=node.body, orelse=[new])
            yield change("else", site, [grown], _WEIGHT * share, f"{text} gets an `else` with {title(new)}")
    elif _idle(node.orelse) or _idle(node.body):
        like = node.body if _idle(node.orelse) else node.orelse
        for new, share in _versions(view, site, node, like):
            body, orelse = (node.body, [new]) if like is node.body else ([new], like)
            filled = ast.If(test=node.test, body=body, orelse=orelse)
            yield change("else", site, [filled], _WEIGHT * _PASS * share, f"beside {text}, {title(new)} is done")


def _idle(statements: list[ast.stmt]) -> bool:
    return len(statements) == 1 and isinstance(statements[0], ast.Pass)


def _versions(view: StatementView, at: Site, branching: ast.If, like: list[ast.stmt]) -> Iterator[_Version]:
    """Yield copies of a branch's statements with one part changed, and the scope's short statements unchanged."""
    block, asked = at.block, frozenset(view.list_read_names(branching.test))
    for node in like[:3]:
        if isinstance(node, _SIMPLE_BRANCH) and sum(1 for _ in ast.walk(node)) <= _LARGEST_SIBLING:
            yield from _other_values(view, block, node, asked)
            yield from _opposites(node)
    texts = {ast.unparse(node) for node in like}
    for site in view.sites:
        if (
            isinstance(site.node, _SIMPLE_BRANCH)
            and fits(site.node, block)
            and sum(1 for _ in ast.walk(site.node)) <= _SHORT
        ):
            alike = view.visible(block) | BUILTINS >= set(view.list_read_names(site.node))
            if alike and ast.unparse(site.node) not in texts:
                yield site.node, 0.4


def _other_values(view: StatementView, block: Block, node: ast.stmt, asked: frozenset[str]) -> Iterator[_Version]:
    """Yield copies of a statement in which one value is replaced.

    The value is an argument, the assigned value or a part of either. It is replaced by another variable or by one of
    its own parts; an assigned value is also replaced by a constant.
    """
    for position, part in _values(node):
        kinds = view.kind_of(part)
        for text in view.names(block):
            if text not in {"self", "cls"} and ast.unparse(part) != text:
                alike = bool(kinds & view.kinds(text))
                share = 1.0 if alike else 0.7 if not (kinds and view.kinds(text)) else 0.15
                yield replace(node, position, name(text).node), share * (1.0 if text in asked else 0.6)
        for value in _constants(part) if not isinstance(node, ast.Expr) or kinds == UNKNOWN else ():
            yield replace(node, position, constant(value).node), 0.3
        for below, inner in places(node, position):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and below != position:
                for text in view.names(block):
                    if text != inner.id and view.kinds(text) & view.kinds(inner.id):
                        yield replace(node, below, name(text).node), 0.5
            elif isinstance(inner, ast.expr) and below != position and isinstance(inner, ast.Subscript | ast.Call):
                yield replace(node, position, inner), 0.4


def _values(node: ast.stmt) -> Iterator[tuple[Place, ast.expr]]:
    """Yield the arguments of a call, or the assigned value, with their places in the statement."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        for index, part in enumerate(node.value.args):
            if not isinstance(part, ast.Starred):
                yield (("value", None), ("args", index)), part
    elif isinstance(node, ast.Assign | ast.AugAssign):
        yield (("value", None),), node.value


def _constants(part: ast.expr) -> tuple[object, ...]:
    if isinstance(part, ast.Constant) and isinstance(part.value, bool):
        return (not part.value,)
    return (0, None) if isinstance(part, ast.Constant | ast.BinOp | ast.Name) else ()


def _opposites(node: ast.stmt) -> Iterator[_Version]:
    """Yield `total -= value` for `total += value`, and `x = a - b` for `x = a + b`."""
    if isinstance(node, ast.AugAssign) and type(node.op) in _OPPOSITES:
        yield ast.AugAssign(target=node.target, op=_OPPOSITES[type(node.op)], value=node.value), 1.0
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and type(node.value.op) in _OPPOSITES:
        value = ast.BinOp(left=node.value.left, op=_OPPOSITES[type(node.value.op)], right=node.value.right)
        yield ast.Assign(targets=node.targets, value=value, lineno=0), 1.0
