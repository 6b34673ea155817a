"""Questions made of the words of a file and its tests: what a text begins with, what a record says under a key."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edits.blocks import Block
from repair.edits.build import Piece, compare, constant, method, name
from repair.edits.survey import Survey
from repair.kinds import MAPPING

_MOST_TEXTS = 10
_MOST_NUMBERS = 4
_ORDERS = (ast.Eq, ast.Gt, ast.Lt, ast.GtE)


def worded(survey: Survey, block: Block) -> Iterator[tuple[Piece, float, str]]:
    """Conditions on the visible variables and dotted chains, each with a weight and the variable that it is about."""
    known = survey.visible(block)
    for text in (*survey.names(block), *survey.chains):
        if text in {"self", "cls"} or text.partition(".")[0] not in known:
            continue
        kinds = survey.kinds(text)
        if kinds & MAPPING or (not kinds and text in survey.looked_into):
            yield from ((test, weight, text) for test, weight in _of_record(survey, text))
        elif "str" in kinds:
            yield from ((test, weight, text) for test, weight in _of_text(survey, text))
        elif survey.number(text):
            yield from ((test, weight, text) for test, weight in _of_number(survey, text))


def _of_record(survey: Survey, text: str) -> Iterator[tuple[Piece, float]]:
    for key in survey.texts[:_MOST_TEXTS]:
        if key.isidentifier():
            yield method(name(text), "get", constant(key)), 0.12
            yield compare(constant(key), ast.In, name(text)), 0.05
            yield compare(constant(key), ast.NotIn, name(text)), 0.05


def _of_text(survey: Survey, text: str) -> Iterator[tuple[Piece, float]]:
    for mark in dict.fromkeys(found[0] for found in survey.texts if found and not found[0].isalnum()):
        yield method(name(text), "startswith", constant(mark)), 0.08
    for found in survey.texts[:_MOST_TEXTS]:
        if found:
            yield method(name(text), "startswith", constant(found)), 0.08
            yield compare(name(text), ast.Eq, constant(found)), 0.1
            yield compare(constant(found), ast.In, name(text)), 0.04


def _of_number(survey: Survey, text: str) -> Iterator[tuple[Piece, float]]:
    for value in survey.numbers[:_MOST_NUMBERS]:
        yield from ((compare(name(text), order, constant(value)), 0.04) for order in _ORDERS)
