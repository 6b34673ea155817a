"""Branches made like the branch beside them: an `else` that does the same with something else, or fills a `pass`.

Both branches of an `if` mostly do one thing to different values: `shown.append("#")` in the one, `shown.append(letter)`
in the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.blocks import Block, Site, fits
from repair.edits.build import constant, name
from repair.edits.conditions import BUILTINS
from repair.edits.moves import title
from repair.edits.proposing import changed, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.kinds import UNKNOWN
from repair.tree import Place, places, replaced

_MOST = 200
_LARGEST = 30  # nodes of a statement that is done again with something else
_SHORT = 16  # nodes of one that is done again as it is
_WEIGHT = 0.25
_PASS = 2.0
_SIMPLE = ast.Expr | ast.Assign | ast.AugAssign
_OPPOSITES: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.FloorDiv(), ast.FloorDiv: ast.Mult(),
}  # fmt: skip
_Version = tuple[ast.stmt, float]


def siblings(ground: Ground) -> Iterator[Edit]:
    """An `else` for an `if` that has none, a body for an idle branch; each like a statement beside it."""
    survey = survey_of(ground)
    made = (edit for site in survey.sites if isinstance(site.node, ast.If) for edit in _at(survey, site, site.node))
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site, node: ast.If) -> Iterator[Edit]:
    text = f"`if {ast.unparse(node.test)}`"
    if not node.orelse:
        for new, share in _versions(survey, site, node, node.body):
            grown = ast.If(test=node.test, body=node.body, orelse=[new])
            yield changed("else", site, [grown], _WEIGHT * share, f"{text} gets an `else` with {title(new)}")
    elif _idle(node.orelse) or _idle(node.body):
        like = node.body if _idle(node.orelse) else node.orelse
        for new, share in _versions(survey, site, node, like):
            body, orelse = (node.body, [new]) if like is node.body else ([new], like)
            filled = ast.If(test=node.test, body=body, orelse=orelse)
            yield changed("else", site, [filled], _WEIGHT * _PASS * share, f"beside {text}, {title(new)} is done")


def _idle(statements: list[ast.stmt]) -> bool:
    return len(statements) == 1 and isinstance(statements[0], ast.Pass)


def _versions(survey: Survey, at: Site, branching: ast.If, like: list[ast.stmt]) -> Iterator[_Version]:
    """Statements like those of a branch, each with one part changed, and short ones of the scope as they are."""
    block, asked = at.block, frozenset(survey.seen_names(branching.test))
    for node in like[:3]:
        if isinstance(node, _SIMPLE) and sum(1 for _ in ast.walk(node)) <= _LARGEST:
            yield from _other_values(survey, block, node, asked)
            yield from _opposites(node)
    known = {ast.unparse(node) for node in like}
    for site in survey.sites:
        if isinstance(site.node, _SIMPLE) and fits(site.node, block) and sum(1 for _ in ast.walk(site.node)) <= _SHORT:
            alike = survey.visible(block) | BUILTINS >= set(survey.seen_names(site.node))
            if alike and ast.unparse(site.node) not in known:
                yield site.node, 0.4


def _other_values(survey: Survey, block: Block, node: ast.stmt, asked: frozenset[str]) -> Iterator[_Version]:
    """Another variable for what is handed over or assigned, or within it; a constant for an assigned one."""
    for place, part in _values(node):
        kinds = survey.kind_of(part)
        for text in survey.names(block):
            if text not in {"self", "cls"} and ast.unparse(part) != text:
                alike = bool(kinds & survey.kinds(text))
                share = 1.0 if alike else 0.7 if not (kinds and survey.kinds(text)) else 0.15
                yield replaced(node, place, name(text).node), share * (1.0 if text in asked else 0.6)
        for value in _constants(part) if not isinstance(node, ast.Expr) or kinds == UNKNOWN else ():
            yield replaced(node, place, constant(value).node), 0.3
        for below, inner in places(node, place):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and below != place:
                for text in survey.names(block):
                    if text != inner.id and survey.kinds(text) & survey.kinds(inner.id):
                        yield replaced(node, below, name(text).node), 0.5
            elif isinstance(inner, ast.expr) and below != place and isinstance(inner, ast.Subscript | ast.Call):
                yield replaced(node, place, inner), 0.4


def _values(node: ast.stmt) -> Iterator[tuple[Place, ast.expr]]:
    """The arguments of a call, or what is assigned, with their places in the statement."""
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
    """`total -= value` beside `total += value`, `best = value` beside its sum."""
    if isinstance(node, ast.AugAssign) and type(node.op) in _OPPOSITES:
        yield ast.AugAssign(target=node.target, op=_OPPOSITES[type(node.op)], value=node.value), 1.0
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and type(node.value.op) in _OPPOSITES:
        value = ast.BinOp(left=node.value.left, op=_OPPOSITES[type(node.value.op)], right=node.value.right)
        yield ast.Assign(targets=node.targets, value=value, lineno=0), 1.0
