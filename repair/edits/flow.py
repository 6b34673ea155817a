"""Edits of jumps and of what surrounds the flow: `break`, `continue`, `except`, `global` and `nonlocal`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Block, Site
from repair.edits.build import name
from repair.edits.outcomes import outcomes
from repair.edits.proposing import changed, inserted, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.tree import Function, at, places

_MOST = 300
_ANY = "Exception"


def flow(ground: Ground) -> Iterator[Edit]:
    """Other jumps, jumps put in, exceptions caught that were not."""
    survey = survey_of(ground)
    made = [edit for site in survey.sites for edit in _at(survey, site)]
    made += [edit for gap in survey.gaps for edit in _jumps(gap)]
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site) -> Iterator[Edit]:
    if isinstance(site.node, ast.Break | ast.Continue | ast.Return | ast.Raise):
        here = ast.unparse(site.node)
        loose = isinstance(site.node, ast.Break | ast.Continue)
        for new, text, share in outcomes(survey, site.block):
            jump = isinstance(new, ast.Break | ast.Continue)
            if text != here and (loose or jump):
                weight = 0.4 if loose and jump else 0.25 * share
                yield changed("jump", site, [new], weight, f"`{here}` becomes `{text}`")
    elif isinstance(site.node, ast.Pass):
        for new, text, share in outcomes(survey, site.block):
            yield changed("jump", site, [new], 0.5 * share, f"`pass` becomes `{text}`")
    elif isinstance(site.node, ast.Try):
        yield from _widened(survey, site, site.node)


def _jumps(gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """A jump at the end of a branch or of a loop's body."""
    block, index, _ = gap
    if not block.loops or not block.open or index < len(block.statements):
        return
    weight = 0.12 if isinstance(block.owner, ast.If) else 0.04
    yield inserted("jump", gap, ast.Break(), weight, "`break` is put in")
    if isinstance(block.owner, ast.If):
        yield inserted("jump", gap, ast.Continue(), weight, "`continue` is put in")


def _widened(survey: Survey, site: Site, node: ast.Try) -> Iterator[Edit]:
    """Handlers that also take what ended the failing tests."""
    seen = list(dict.fromkeys(kind for kind, _ in survey.ground.troubles if kind.isidentifier()))
    for index, handler in enumerate(node.handlers):
        old = handler.type
        if old is None:
            continue
        present = list(old.elts) if isinstance(old, ast.Tuple) else [old]
        options = [(name(kind).node, 0.25) for kind in seen] + [(name(_ANY).node, 0.08)]
        options = [(new, weight) for new, weight in options if not any(build.same(new, part) for part in present)]
        known = {ast.unparse(part) for part in present}
        more = [name(kind).node for kind in seen if kind not in known]
        options += [(ast.Tuple(elts=[*present, new], ctx=ast.Load()), 0.5) for new in more]
        for new, weight in options:
            made = ast.ExceptHandler(type=new, name=handler.name, body=handler.body)
            place = (*site.place, ("handlers", index))
            note = f"`except {ast.unparse(old)}` becomes `except {ast.unparse(new)}`"
            yield Edit(kind="except", place=place, new=(made,), weight=weight, line=site.line, note=note)


def declarations(ground: Ground) -> Iterator[Edit]:
    """`global` and `nonlocal` for variables that a function assigns and an outer level has too."""
    survey = survey_of(ground)
    made = [edit for place, node in places(ground.tree, ground.scope) for edit in _declared(survey, place, node)]
    yield from lives(ground, made)


def _declared(survey: Survey, place: tuple[tuple[str, int | None], ...], node: ast.AST) -> Iterator[Edit]:
    lines = [line for line in survey.ground.lines if _covers(node, line)]
    if not isinstance(node, Function) or not lines or not survey.ground.scope:
        return
    line = max(lines, key=lambda each: survey.ground.lines[each])
    own = survey.bound.get(id(node), {})
    outer = {text for text in _enclosing(survey, place) if text in own}
    for text in own:
        if any(argument.arg == text for argument in ast.walk(node.args) if isinstance(argument, ast.arg)):
            continue
        loud = any(kind == "UnboundLocalError" and f"'{text}'" in message for kind, message in survey.ground.troubles)
        for word, fits, maker in (
            ("nonlocal", text in outer, ast.Nonlocal), ("global", text in survey.globals, ast.Global),
        ):  # fmt: skip
            if fits:
                new: ast.stmt = maker(names=[text])
                yield Edit(
                    kind=word, place=(*place, ("body", 0)), new=(new,), count=0, weight=1.0 if loud else 0.08,
                    line=line, note=f"`{word} {text}` is put in",
                )  # fmt: skip


def _covers(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or 0)


def _enclosing(survey: Survey, place: tuple[tuple[str, int | None], ...]) -> Iterator[str]:
    """The variables of the functions around a place of the scope."""
    for end in range(len(survey.ground.scope), len(place)):
        node = at(survey.ground.tree, place[:end])
        if isinstance(node, Function):
            yield from survey.bound.get(id(node), ())
