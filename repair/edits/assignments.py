"""Edits of assignments: augmented or plain, another target, another order of simultaneous ones."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Site
from repair.edits.build import name, stored
from repair.edits.proposing import changed, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground

_MOST = 300


def assignments(ground: Ground) -> Iterator[Edit]:
    """The same values assigned in another way."""
    survey = survey_of(ground)
    made = (edit for site in survey.sites for edit in _at(survey, site))
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site) -> Iterator[Edit]:
    node = site.node
    if isinstance(node, ast.Expr):
        yield from _kept(survey, site, node.value)
    elif isinstance(node, ast.AugAssign):
        yield _changed(site, [_assigned(node.target, node.value)], 0.2)
        yield from _targets(survey, site, node.target, node)
        grown = ast.BinOp(left=node.value, op=node.op, right=build.loaded(node.target))
        if isinstance(node.op, ast.Add):
            yield _changed(site, [_assigned(node.target, grown)], 0.08)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from _simultaneous(site, target, node.value)
        elif isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            for step, weight in ((ast.Add(), 0.15), (ast.Sub(), 0.05), (ast.Mult(), 0.03)):
                yield _changed(site, [ast.AugAssign(target=target, op=step, value=node.value)], weight)
            yield from _targets(survey, site, target, node)
        if isinstance(target, ast.Tuple):
            yield from _reordered(site, target, node.value)
        yield from _together(site)


def _kept(survey: Survey, site: Site, value: ast.expr) -> Iterator[Edit]:
    """The value of a bare expression is assigned: to what it was made from, else to another variable."""
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name | ast.Attribute | ast.Subscript):
        target = stored(value.left)
        yield _changed(site, [ast.AugAssign(target=target, op=value.op, value=value.right)], 0.9)  # type: ignore[arg-type] # one of the three, see above
    if isinstance(value, ast.Compare) and isinstance(value.left, ast.Name | ast.Attribute | ast.Subscript):
        yield _changed(site, [_assigned(stored(value.left), value.comparators[0])], 0.9)
    if isinstance(value, ast.BinOp | ast.Call | ast.UnaryOp | ast.Subscript | ast.ListComp):
        used = set(survey.seen_names(value))
        for text in (*survey.names(site.block), *survey.chains):
            if text not in {"self", "cls"}:
                weight = (0.3 if text in used else 0.06) * (1.0 if isinstance(value, ast.Call) else 2.0)
                yield _changed(site, [_assigned(stored(name(text).node), value)], weight)


def _changed(site: Site, new: list[ast.stmt], weight: float, count: int = 1) -> Edit:
    old = "; ".join(ast.unparse(node) for node in site.block.statements[site.index : site.index + count])
    text = "; ".join(ast.unparse(node) for node in new)
    return changed("assignment", site, new, weight, f"`{old}` becomes `{text}`", count=count)


def _assigned(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[target], value=value, lineno=0)


def _targets(survey: Survey, site: Site, target: ast.expr, node: ast.Assign | ast.AugAssign) -> Iterator[Edit]:
    """Another variable or attribute is assigned to; one of the same kind is likelier."""
    old = ast.unparse(target)
    for text in (*survey.names(site.block), *survey.chains):
        if text in {old, "self", "cls"}:
            continue
        alike = survey.kinds(text) & survey.kinds(old) or not (survey.kinds(text) and survey.kinds(old))
        weight = 0.12 if alike else 0.03
        new = stored(name(text).node)
        if isinstance(node, ast.Assign):
            yield _changed(site, [_assigned(new, node.value)], weight)
        elif isinstance(new, ast.Name | ast.Attribute | ast.Subscript):
            yield _changed(site, [ast.AugAssign(target=new, op=node.op, value=node.value)], weight)


def _simultaneous(site: Site, target: ast.Tuple, value: ast.Tuple) -> Iterator[Edit]:
    """`a, b = x, y` in other orders, and one after the other."""
    parts = (*target.elts, *value.elts)
    if len(target.elts) != len(value.elts) or any(isinstance(part, ast.Starred) for part in parts):
        return
    pairs = [_assigned(left, right) for left, right in zip(target.elts, value.elts, strict=True)]
    yield _changed(site, pairs, 0.1)
    yield _changed(site, pairs[::-1], 0.08)
    yield from _reordered(site, value, target)


def _reordered(site: Site, parts: ast.Tuple, other: ast.expr) -> Iterator[Edit]:
    """One side of a tuple assignment in other orders."""
    value_side = isinstance(parts.ctx, ast.Load)
    for order in itertools.islice(itertools.permutations(parts.elts), 1, 6):
        turned = ast.Tuple(elts=list(order), ctx=parts.ctx)
        new = _assigned(other, turned) if value_side else _assigned(turned, other)
        yield _changed(site, [new], 0.3 if len(parts.elts) == 2 else 0.15)


def _together(site: Site) -> Iterator[Edit]:
    """Two or three assignments one after the other become a simultaneous one."""
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
        yield _changed(site, [_assigned(left, right)], weight, count=count)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
