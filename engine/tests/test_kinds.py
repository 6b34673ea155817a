"""Kinds of expressions, and the names that are visible at a place."""

import ast

import pytest

from nightshift_engine.kinds import (
    DICT,
    FLOAT,
    INT,
    ITERATOR,
    LIST,
    NONE,
    SET,
    STR,
    TUPLE,
    UNKNOWN,
    Kind,
    Kinds,
    Locals,
    attributes,
    fits,
    infer,
    list_bound,
    methods,
    outside,
    parameters,
    read_annotation,
)

KINDS = Kinds(
    {"n": INT, "x": FLOAT, "s": STR, "xs": LIST, "xs[]": INT, "d": DICT}, {"make": SET, "Node": frozenset({"Node"})}
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", INT),
        ("None", NONE),
        ("n / 2", FLOAT),
        ("n * x", FLOAT),
        ("'%s' % n", STR),
        ("-n", INT),
        ("n or 2", INT),
        ("n if s else s", INT | STR),
        ("n if s else y", UNKNOWN),
        ("[y for y in xs]", LIST),
        ("(y for y in xs)", ITERATOR),
        ("max(n, 2)", INT),
        ("max(xs)", UNKNOWN),
        ("make()", SET),
        ("Node(1)", frozenset({"Node"})),
        ("xs.append(1)", NONE),
        ("xs[0]", INT),
        ("s[0]", STR),
        ("y.z", UNKNOWN),
        ("(k := n)", INT),
    ],
)
def test_the_kind_of_an_expression(text: str, kind: Kind) -> None:
    assert KINDS.of(ast.parse(text, mode="eval").body) == kind


def test_what_is_unknown_fits_everything_less_than_what_is_known_to() -> None:
    assert fits(INT, INT) == 1.0
    assert 0 < fits(UNKNOWN, INT) < fits(INT, INT | STR)
    assert fits(INT, STR) == 0.0
    assert 0 < fits(NONE, INT) < fits(UNKNOWN, INT)


def test_assignments_loops_defaults_and_annotations_tell_kinds() -> None:
    tree = ast.parse(
        "class Node: pass\n"
        "def other(): return 'a'\n"
        "def f(a, b=1, c=None, *, d: dict[str, int], e: 'x' = 2):\n"
        "    found, text = [], other()\n"
        "    for i in range(b):\n        found.append(i)\n"
        "    for j, item in enumerate(found): pass\n"
        "    g = found[0]\n"
        "    self.n = Node()\n"
        "    pairs = [(1, 2)]\n"
    )
    kinds = infer(list(ast.walk(tree.body[-1])), outside(tree), {"a": frozenset({"float"})})
    kinds_by_name = {
        name: kinds.of_name(name) for name in ("a", "b", "c", "d", "found", "text", "i", "j", "g", "self.n", "pairs[]")
    }
    assert kinds_by_name == {
        "a": FLOAT, "b": INT, "c": UNKNOWN, "d": DICT, "found": LIST, "text": STR, "i": INT, "j": INT, "g": INT,
        "self.n": frozenset({"Node"}), "pairs[]": TUPLE,
    }  # fmt: skip


def test_what_was_seen_at_run_time_comes_before_what_is_written() -> None:
    tree = ast.parse("def f():\n    x = 1\n")
    kinds = infer(list(ast.walk(tree)), outside(tree), {"x": frozenset({"str"})})
    assert kinds.of_name("x") == STR


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("list[int]", LIST),
        ("int | None", INT | NONE),
        ("T", UNKNOWN),
    ],
)
def test_plain_annotations_are_understood(text: str, kind: Kind) -> None:
    assert read_annotation(ast.parse(text, mode="eval").body) == kind


PROGRAM = """
import os.path as where
from math import floor
import json.decoder

LIMIT = 3
if LIMIT:
    other, (deep, *rest) = 1, (2, 3)


def work(a, /, b=1, *many, c, **more):
    for i in many:
        if i:
            found = i
        later = found
    with open(a) as handle:
        total = [j for j in handle if (kept := j)]
    try:
        import re
    except ValueError as error:
        pass
    def inner():
        hidden = 1
    return total


class Box:
    def __init__(self):
        self.size, self.name = 1, work(self.close())

    def close(self):
        return self.color
"""
TREE = ast.parse(PROGRAM)
WORK = next(node for node in TREE.body if isinstance(node, ast.FunctionDef))


def test_a_module_offers_what_it_binds_in_any_branch() -> None:
    module_names = outside(TREE)
    assert list(module_names.functions) == ["work"]
    assert list(module_names.classes) == ["Box"]
    assert module_names.imports == ("where", "floor", "json")
    assert module_names.variables == ("LIMIT", "other", "deep", "rest")


def test_a_name_has_a_value_only_after_its_statement_or_in_the_same_loop() -> None:
    names = Locals(WORK.body, parameters(WORK.args))
    loop, *_, last = WORK.body
    assert isinstance(loop, ast.For)
    near, later = names.at(loop)
    assert "found" not in near
    assert "found" in later
    branch = loop.body[0]
    near, _ = names.at(branch)
    assert {"i", "found", "later"} <= set(near)  # set in the previous turn of the loop
    near, later = names.at(last)
    assert {"handle", "total", "error", "re", "inner", "a", "more"} <= set(near)
    assert later == ()


def test_inner_scopes_bind_no_names_outside() -> None:
    every = {name for statement in ast.walk(WORK) if isinstance(statement, ast.stmt) for name in list_bound(statement)}
    assert "j" not in every
    assert {"hidden", "total"} <= every
    assert "hidden" not in Locals(WORK.body).at(WORK.body[-1])[0]


def test_patterns_and_clauses_bind_names() -> None:
    match = ast.parse("match x:\n    case [a, *b] if c: pass\n    case {'k': int(d), **e}: pass\n    case _ as f: pass")
    assert set(list_bound(match.body[0])) == {"a", "b", "d", "e", "f"}


def test_a_class_tells_its_attributes_and_its_methods() -> None:
    box = outside(TREE).classes["Box"]
    assert attributes(box) == ("size", "name", "color")
    assert list(methods(box)) == ["__init__", "close"]
