"""Statements put in that occur elsewhere, and updates that are missing.

The plastic surgery hypothesis: what a program lacks mostly stands somewhere else in the same file (Barr et al., "The
plastic surgery hypothesis", FSE 2014).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Block, fits
from repair.edits.build import Piece, augmented, constant, method, name, renamed, statement
from repair.edits.conditions import BUILTINS
from repair.edits.moves import title
from repair.edits.proposing import inserted, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.tree import at

_MOST_COPIES = 550
_MOST_UPDATES = 450
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr | ast.Raise | ast.Delete | ast.Break | ast.Continue
_NEAR = 0.07
"""The weight of a copy from the same scope; from the same class it is smaller, from the rest of the file smallest."""
_LOOPS = ast.For | ast.While
_LARGEST = 30  # nodes: a longer statement is hardly needed twice
_Gap = tuple[Block, int, int]


def copies(ground: Ground) -> Iterator[Edit]:
    """Statements of the scope and the file put in at each gap, also with one variable replaced by a visible one."""
    survey = survey_of(ground)
    sources = list(_sources(survey))
    made = (edit for gap in survey.gaps for edit in _at(survey, gap, sources))
    yield from lives(ground, thinned(survey, made, _MOST_COPIES))


def updates(ground: Ground) -> Iterator[Edit]:
    """Counters moved, elements added: for visible variables of fitting kind, at each gap."""
    survey = survey_of(ground)
    made = (edit for gap in survey.gaps for edit in _updates_at(survey, gap))
    yield from lives(ground, thinned(survey, made, _MOST_UPDATES))


def _sources(survey: Survey) -> Iterator[tuple[ast.stmt, frozenset[str], float]]:
    """Short statements, each text once: (statement, the names in it, the weight of such a copy)."""
    seen: set[str] = set()
    ground = survey.ground
    owner = at(ground.tree, ground.scope[:-1]) if ground.scope else ground.tree
    for root, weight in ((survey.node, _NEAR), (owner, 0.04), (ground.tree, 0.015)):
        for node in ast.walk(root):
            if not isinstance(node, _SIMPLE | ast.If) or _is_text(node) or sum(1 for _ in ast.walk(node)) > _LARGEST:
                continue
            text = ast.unparse(node)
            if text not in seen:
                seen.add(text)
                yield node, frozenset(survey.seen_names(node)), weight if root is not ground.tree else 0.015


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _at(
    survey: Survey, gap: _Gap, sources: list[tuple[ast.stmt, frozenset[str], float]]
) -> Iterator[Edit]:  # fmt: skip
    block, index, _ = gap
    visible = survey.visible(block) | BUILTINS
    beside = {id(node) for node in block.statements[max(index - 1, 0) : index + 1]}
    for node, names, weight in sources:
        if id(node) in beside or not fits(node, block):
            continue
        if isinstance(node, ast.Break | ast.Continue) and index < len(block.statements):
            continue
        if isinstance(node, ast.If) and not (index > block.first and isinstance(block.statements[index - 1], _LOOPS)):
            continue  # what is left over when a loop has ended is taken as in the loop
        missing = names - visible
        if not missing:
            scale = 2.0 if isinstance(node, ast.If) else 1.0
            yield inserted("copied", gap, node, weight * scale, f"{title(node)} is put in")
        if weight == _NEAR and len(missing) <= 1:
            yield from _renamed(survey, gap, node, missing or names & set(survey.names(block)))


def _renamed(survey: Survey, gap: _Gap, node: ast.stmt, names: frozenset[str] | set[str]) -> Iterator[Edit]:
    for old in sorted(names):
        for new in survey.names(gap[0]):
            if new != old and new not in {"self", "cls"} and survey.kinds(new) & survey.kinds(old):
                made = renamed(node, old, new)
                yield inserted("copied", gap, made, 0.012, f"{title(made)} is put in")


def _updates_at(survey: Survey, gap: _Gap) -> Iterator[Edit]:
    block, index, _ = gap
    visible = [text for text in (*survey.names(block), *survey.chains) if text not in {"self", "cls"}]
    scale = (1.0 if block.loops else 0.4) * (1.0 if _is_edge(block, index) else 0.6)
    stale = survey.stale(block)
    for text in visible:
        if survey.number(text):
            still = 2.0 if text in stale else 1.0
            for step, sign, weight in ((ast.Add, "+=", 0.1 * still), (ast.Sub, "-=", 0.06 * still)):
                new = augmented(text, step, constant(1))
                yield inserted("update", gap, new, weight * scale, f"`{text} {sign} 1` is put in")
        for new_piece, weight in _additions(survey, text, visible):
            made = statement(new_piece)
            yield inserted("update", gap, made, weight * scale, f"`{new_piece.text}` is put in")
    yield from _steps(survey, gap, visible, scale)


def _is_edge(block: Block, index: int) -> bool:
    """Whether a gap is at the head or end of a block, behind a loop, or before a `return`."""
    if index in {block.first, len(block.statements)}:
        return True
    before, after = block.statements[index - 1], block.statements[index]
    return isinstance(before, ast.For | ast.While) or isinstance(after, ast.Return)


def _additions(survey: Survey, holder: str, visible: list[str]) -> Iterator[tuple[Piece, float]]:
    """Something put into a holder: what is asked to be in it, or put into it elsewhere, is much likelier."""
    kinds = survey.kinds(holder)
    for kind, way in (("set", "add"), ("list", "append"), ("deque", "append")):
        for text in visible:
            member = (text, holder) in survey.members
            if text != holder and (kind in kinds or (member and not kinds)):
                weight = 0.3 if member else 0.15 if (text, holder) in survey.fed else 0.05
                yield method(name(holder), way, name(text)), weight
    if "list" in kinds or "deque" in kinds:
        yield method(name(holder), "pop"), 0.04


def _steps(survey: Survey, gap: _Gap, visible: list[str], scale: float) -> Iterator[Edit]:
    """`node = node.next`, `count += size`: variables that go on by others."""
    block = gap[0]
    for chain in survey.chains:
        owner = chain.partition(".")[0]
        if owner in survey.names(block) and owner not in {"self", "cls"} and chain.count(".") == 1:
            new = build.assign(owner, name(chain))
            yield inserted("update", gap, new, 0.06 * scale, f"`{owner} = {chain}` is put in")
    for target, other in itertools.permutations([text for text in visible if survey.number(text)][:5], 2):
        new = augmented(target, ast.Add, name(other))
        yield inserted("update", gap, new, 0.03 * scale, f"`{target} += {other}` is put in")
    stale = survey.stale(block)
    for target in survey.reassigned(block):
        weight = 0.12 if target in stale else 0.03
        for other in visible:
            if other != target and survey.alike(target, other):
                new = build.assign(target, name(other))
                yield inserted("update", gap, new, weight * scale, f"`{target} = {other}` is put in")
