"""How a block may be left early: results of the function that are likely, and the jumps of a loop."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from repair.edits import build
from repair.edits.blocks import Block
from repair.edits.build import Piece, constant, name
from repair.edits.survey import Survey

_NOT_RAISED = re.compile(r"DID NOT RAISE <class '([\w.]+)'>|^(\w+) not raised")
_MOST_AWAITED = 4
_EMPTIES = {"list": "list", "dict": "dict", "str": "str", "tuple": "tuple", "set": "set"}
_USUAL = ((None, 0.3), (0, 0.25), (1, 0.12), (-1, 0.15), (True, 0.2), (False, 0.25), ("", 0.12))
_OF_KIND = {"int": (0, 1, -1), "float": (0, 1, -1), "bool": (False, True), "str": ("",), "NoneType": (None,)}


def outcomes(survey: Survey, block: Block) -> Iterator[tuple[ast.stmt, str, float]]:
    """Statements that leave the block early: (statement, its text, share)."""
    if not block.open:
        return
    if block.loops:
        yield ast.Continue(), "continue", 0.8
        yield ast.Break(), "break", 0.5
    function = block.function
    if function is None:
        return
    nodes = survey.nodes_of(function)
    if survey.is_generator(function):
        yield build.returned(None), "return", 0.9
    else:
        scale = 0.6 if block.loops else 1.0
        for value, share in results(survey, block, nodes):
            yield build.returned(value), f"return {value.text}", share * scale
    raised = [node for node in nodes if isinstance(node, ast.Raise)]
    yield from ((node, ast.unparse(node), 0.3) for node in raised)
    for kind, words, share in _wanted(survey):
        new = build.call(kind, constant(words or "invalid argument"))
        yield ast.Raise(exc=new.node, cause=None), f"raise {new.text}", share


def _wanted(survey: Survey) -> Iterator[tuple[str, str, float]]:
    """The exceptions that tests wait for, those that failing ones wait for in vain first: (kind, words, share)."""
    missed = set[str]()
    for _, message in survey.ground.troubles:
        found = _NOT_RAISED.search(message)
        missed.add((found.group(1) or found.group(2)).rpartition(".")[2] if found else "")
    told = {kind for kind, _ in survey.awaited}
    for kind in sorted(missed - told):
        if kind in survey.globals or kind in dir(builtins):
            yield kind, "", 1.0
    for kind, words in survey.awaited[:_MOST_AWAITED]:
        yield kind, words, 1.0 if kind in missed else 0.4


def results(survey: Survey, block: Block, nodes: list[ast.AST]) -> Iterator[tuple[Piece, float]]:
    """Values that the function may return, each text once, with shares; those that it returns elsewhere come first."""
    best: dict[str, tuple[Piece, float]] = {}
    for value, share in _results(survey, block, nodes):
        if share > best.get(value.text, (value, 0.0))[1]:
            best[value.text] = (value, share)
    return iter(best.values())


def _results(survey: Survey, block: Block, nodes: list[ast.AST]) -> Iterator[tuple[Piece, float]]:
    values = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    kinds = frozenset().union(*map(survey.kind_of, values))
    visible = {*survey.names(block), *survey.globals}
    for value in values:
        short = len(list(ast.walk(value))) <= 8
        if short and not any(isinstance(part, ast.Await) for part in ast.walk(value)):
            loose = not set(survey.seen_names(value)) <= visible
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
    for text in survey.names(block)[:6]:
        yield name(text), 0.2
