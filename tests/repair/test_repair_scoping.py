import ast

from repair.kinds import Locals, Visible, attributes, bound, methods, outside, parameters

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
    found = outside(TREE)
    assert list(found.functions) == ["work"]
    assert list(found.classes) == ["Box"]
    assert found.imports == ("where", "floor", "json")
    assert found.variables == ("LIMIT", "other", "deep", "rest")


def test_parameters_come_in_order() -> None:
    assert parameters(WORK.args) == ("a", "b", "many", "c", "more")


def test_a_name_has_a_value_only_after_its_statement_or_in_the_same_loop() -> None:
    names = Locals(WORK.body, parameters(WORK.args))
    loop, *_, last = WORK.body
    assert isinstance(loop, ast.For)
    near, later = names.at(loop)
    assert "found" not in near
    assert "found" in later
    branch = loop.body[0]
    near, _ = names.at(branch)
    assert {"i", "found", "later"} <= set(near)  # set in the turn before
    near, later = names.at(last)
    assert {"handle", "total", "error", "re", "inner", "a", "more"} <= set(near)
    assert later == ()


def test_the_condition_of_a_while_knows_what_its_body_sets() -> None:
    loop = ast.parse("while x:\n    x = y = 1\nz = 2").body
    near, later = Locals(loop).at(loop[0])
    assert near == ("x", "y")
    assert later == ("z",)


def test_inner_scopes_bind_no_names_outside() -> None:
    every = {name for statement in ast.walk(WORK) if isinstance(statement, ast.stmt) for name in bound(statement)}
    assert "j" not in every
    assert {"hidden", "total"} <= every
    assert "hidden" not in Locals(WORK.body).at(WORK.body[-1])[0]


def test_patterns_and_clauses_bind_names() -> None:
    match = ast.parse("match x:\n    case [a, *b] if c: pass\n    case {'k': int(d), **e}: pass\n    case _ as f: pass")
    assert set(bound(match.body[0])) == {"a", "b", "d", "e", "f"}


def test_a_class_tells_its_attributes_and_its_methods() -> None:
    box = outside(TREE).classes["Box"]
    assert attributes(box) == ("size", "name", "color")
    assert list(methods(box)) == ["__init__", "close"]


def test_an_inner_name_hides_the_outer_one_and_is_the_nearest() -> None:
    assert Visible(near=("x", "y")).within(("x",)).near == ("y", "x")
