"""Attributes that are given a first value and never another one: what should set them is missing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.blocks import Block
from repair.edits.build import Piece, assign, constant, name
from repair.edits.proposing import inserted, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.tree import Function

_MOST = 150
_LATER: dict[str, tuple[object, ...]] = {"bool": (True, False), "int": (1, 0, -1), "NoneType": (True,), "str": ()}
_Gap = tuple[Block, int, int]


def unset_fields(ground: Ground) -> Iterator[Edit]:
    """`thing.flag = True` and the like at the ends of blocks, for attributes that only ever have their first value."""
    survey = survey_of(ground)
    unset = list(_unset(ground.tree))
    made = (edit for gap in survey.gaps for edit in _at(survey, gap, unset)) if unset else ()
    yield from lives(ground, thinned(survey, made, _MOST))


def _unset(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, str, ast.Constant]]:
    """Attributes with a constant as their only value, that are read somewhere: (class, attribute, value)."""
    nodes = list(ast.walk(tree))
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    stores: dict[str, int] = defaultdict(int)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            stores[node.attr] += 1
    for owner in nodes:
        if isinstance(owner, ast.ClassDef):
            for attribute, value, own in _firsts(owner):
                if attribute in read and stores[attribute] == own:
                    yield owner, attribute, value


def _firsts(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Constant, int]]:
    """First values of a class's attributes that are constants: (attribute, value, attribute nodes that store it)."""
    starts = [node for node in owner.body if isinstance(node, Function) and node.name == "__init__"]
    for node in [*owner.body, *(part for start in starts for part in start.body)]:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(node, ast.Assign | ast.AnnAssign):
            if isinstance(target, ast.Name):
                yield target.id, value, 0
            elif isinstance(target, ast.Attribute):
                yield target.attr, value, 1


def _at(survey: Survey, gap: _Gap, unset: list[tuple[ast.ClassDef, str, ast.Constant]]) -> Iterator[Edit]:
    block, index, _ = gap
    ends = index == len(block.statements) or isinstance(block.statements[index], ast.Return)
    if not ends or block.function is None or block.function.name == "__init__":
        return
    behind_loop = index > block.first and isinstance(block.statements[index - 1], ast.For | ast.While)
    for owner, attribute, value in unset:
        for holder, share in _holders(survey, block, owner):
            for later, fit in _later(survey, block, value, holder):
                new = assign(f"{holder}.{attribute}", later)
                weight = 0.1 * share * fit * (1.5 if behind_loop else 1.0)
                yield inserted("field", gap, new, weight, f"`{holder}.{attribute} = {later.text}` is put in")


def _holders(survey: Survey, block: Block, owner: ast.ClassDef) -> Iterator[tuple[str, float]]:
    """Visible variables that are objects of a class, so far as can be told: (variable, share)."""
    members = {node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute)}
    asked = {
        node.value.id
        for node in ast.walk(survey.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in members
    }
    for text in survey.names(block):
        own = text == "self" and any(part is block.function for part in owner.body)
        if own or owner.name in survey.kinds(text):
            yield text, 1.0
        elif text in asked and text != "self" and not survey.kinds(text):
            yield text, 0.8


def _later(survey: Survey, block: Block, value: ast.Constant, holder: str) -> Iterator[tuple[Piece, float]]:
    kind = type(value.value).__name__
    yield from ((constant(other), 1.0) for other in _LATER.get(kind, ()) if other is not value.value)
    for text in survey.names(block)[:8]:
        fits = kind == "NoneType" or kind in survey.kinds(text)
        if text not in {holder, "self", "cls"} and fits:
            yield name(text), 0.6
