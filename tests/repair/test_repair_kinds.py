import ast

import pytest

from repair.kinds import (
    BOOL,
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
    annotated,
    fits,
    inferred,
    is_number,
    outside,
    seen,
)

KINDS = Kinds(
    {"n": INT, "x": FLOAT, "s": STR, "xs": LIST, "xs[]": INT, "d": DICT}, {"make": SET, "Node": frozenset({"Node"})}
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", INT),
        ("True", BOOL),
        ("None", NONE),
        ("n + 1", INT),
        ("n / 2", FLOAT),
        ("n * x", FLOAT),
        ("'a' * n", STR),
        ("'%s' % n", STR),
        ("xs + [1]", LIST),
        ("-n", INT),
        ("not xs", BOOL),
        ("n < 2", BOOL),
        ("n or 2", INT),
        ("n if s else s", INT | STR),
        ("n if s else y", UNKNOWN),
        ("{}", DICT),
        ("{1}", SET),
        ("(1, 2)", TUPLE),
        ("[y for y in xs]", LIST),
        ("(y for y in xs)", ITERATOR),
        ("f'{n}'", STR),
        ("len(xs)", INT),
        ("max(n, 2)", INT),
        ("max(xs)", UNKNOWN),
        ("sorted(d)", LIST),
        ("make()", SET),
        ("Node(1)", frozenset({"Node"})),
        ("s.split()", LIST),
        ("xs.append(1)", NONE),
        ("d.copy()", DICT),
        ("xs[0]", INT),
        ("xs[1:]", LIST),
        ("s[0]", STR),
        ("y", UNKNOWN),
        ("y.z", UNKNOWN),
        ("(k := n)", INT),
        ("make", frozenset({"callable"})),
    ],
)
def test_the_kind_of_an_expression(text: str, kind: Kind) -> None:
    assert KINDS.of(ast.parse(text, mode="eval").body) == kind


def test_what_is_unknown_fits_everything_less_than_what_is_known_to() -> None:
    assert fits(INT, INT) == 1.0
    assert 0 < fits(UNKNOWN, INT) < fits(INT, INT | STR)
    assert fits(INT, STR) == 0.0
    assert 0 < fits(NONE, INT) < fits(UNKNOWN, INT)


def test_none_beside_a_kind_leaves_the_kind_fitting() -> None:
    assert fits(INT | NONE, INT | STR) > 0
    assert fits(STR | NONE, INT) == 0.0


def test_numbers_and_collections_stand_for_each_other_rarely() -> None:
    assert 0 < fits(BOOL, INT) < fits(INT, FLOAT) < 1
    assert 0 < fits(LIST, SET) < 1
    assert fits(STR, LIST) == 0.0


def test_a_number_that_may_be_missing_is_a_number() -> None:
    assert is_number(INT | NONE)
    assert not is_number(NONE)
    assert not is_number(BOOL)
    assert not is_number(UNKNOWN)


def test_fitting_goes_both_ways() -> None:
    every = (INT, FLOAT, STR, LIST, SET, NONE, BOOL, UNKNOWN, INT | NONE, frozenset({"Node"}))
    assert all(fits(one, other) == fits(other, one) for one in every for other in every)


def test_types_seen_at_run_time_are_kinds() -> None:
    assert seen(frozenset({"function", "int"})) == frozenset({"callable", "int"})


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
    kinds = inferred(list(ast.walk(tree.body[-1])), outside(tree), {"a": frozenset({"float"})})
    told = {
        name: kinds.of_name(name) for name in ("a", "b", "c", "d", "found", "text", "i", "j", "g", "self.n", "pairs[]")
    }
    assert told == {
        "a": FLOAT, "b": INT, "c": UNKNOWN, "d": DICT, "found": LIST, "text": STR, "i": INT, "j": INT, "g": INT,
        "self.n": frozenset({"Node"}), "pairs[]": TUPLE,
    }  # fmt: skip


def test_what_was_seen_at_run_time_comes_before_what_is_written() -> None:
    tree = ast.parse("def f():\n    x = 1\n")
    kinds = inferred(list(ast.walk(tree)), outside(tree), {"x": frozenset({"str"})})
    assert kinds.of_name("x") == STR


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int", INT),
        ("list[int]", LIST),
        ("int | None", INT | NONE),
        ("List[str]", LIST),
        ("T", UNKNOWN),
        ("None", NONE),
    ],
)
def test_plain_annotations_are_understood(text: str, kind: Kind) -> None:
    assert annotated(ast.parse(text, mode="eval").body) == kind
