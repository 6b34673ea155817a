from collections.abc import Callable

import pytest

from nightshift_engine.edit import EditOperator
from nightshift_engine.edits import EXPRESSION_EDITS
from nightshift_engine.edits.constants import off_by_one
from nightshift_engine.edits.operators import comparisons, new_operands, operators

Table = list[tuple[str, int]]
Rank = Callable[..., int | None]
OPERATORS = [
    ("def area(w: int, h: int):\n    return w «+→*» h", 20),
    ("def half(n: int):\n    return n «/→//» 2", 10),
    ("def left(n: int, by: int):\n    return n «//→%» by", 20),
    ("def flags(a: int, b: int):\n    return a «&→|» b", 20),
    ("def clear(n: int):\n    n «^→&»= n - 1\n    return n", 30),
    ("def total(xs: list):\n    s = 0\n    for x in xs:\n        s «-→+»= x\n    return s", 30),
    ("def total(xs: list):\n    s = 0\n    for x in xs:\n        s «+=→=» x\n    return s", 60),
    ("def both(a, b):\n    if a «or→and» b:\n        return 1\n    return 0", 10),
    ("def gap(a: int, b: int):\n    return «b - a→a - b»", 30),
    ("def mean(a: int, b: int):\n    return «a + b / 2→(a + b) / 2»", 30),
    ("def text(a: str, b: str):\n    return «a + b→b + a»", 20),
    ("def every(groups: list):\n    found = set()\n    for one in groups:\n        found «=→|=» set(one)", 40),
    ("def entry(table: dict, key: str):\n    return table[«key + 1→key»]", 40),
    ("def down(n: int):\n    return «n→-n»", 60),
    ("def is_on(state: bool):\n    return «state→not state»", 20),
    ("def pick(xs, skip):\n    if «not skip→skip»:\n        return xs\n    return []", 20),
    ("def pick(xs, skip):\n    if «skip→not skip»:\n        return xs\n    return []", 20),
    ("def area(w: int, h: int):\n    return «w * h→w»", 30),
    ("def has(a, b, c):\n    return «a or b and c→(a or b) and c»", 40),
    ("def has(a, b, c):\n    return «a and b and c→a and c»", 20),
    ("def has(a, b, c):\n    return «a and (b or c)→a or (b and c)»", 30),
]
NEW_OPERANDS = [
    ("def place(row: int, col: int, width: int):\n    at = row * width\n    return «at→at + col»", 150),
    ("def rest(k: int, small: list):\n    count = len(small)\n    return find(small, «k→k - count»)", 150),
    (
        "def line(words: list):\n    out = ''\n    for word in words:\n        out = «word→out + word»\n    return out",
        150,
    ),
]
NEW_OPERANDS += [
    (
        "def gap(xs: list, k: int):\n    if k > len(xs) - 1:\n        k = f(«k→k - (len(xs) - 1)»)\n    return k",
        250,
    ),
    ("def error(x: float, root: float):\n    return abs(x - «root→root ** 2»)", 150),
    ("def more(out: list, x: int):\n    out = more(out, x)\n    return «[x]→out + [x]»", 150),
]
COMPARISONS = [
    ("def ok(x: int, low: int):\n    return x «>→>=» low", 8),
    ("def ok(x: int, low: int):\n    return x «<→>» low", 12),
    ("def ok(x: int, low: int):\n    return x «==→!=» low", 8),
    ("def ok(x: int, low: int):\n    return x «==→<=» low", 25),
    ("def ok(x):\n    return x «==→is not» None", 20),
    ("def new(x, known: set):\n    if x «in→not in» known:\n        return x\n    return None", 8),
    ("def new(x, known: list):\n    return x «==→in» known", 20),
    ("def within(a: int, b: int, x: int):\n    return a «<→<=» x < b", 8),
    ("def within(a: int, b: int, x: int):\n    return «a <= x < b→a <= x»", 40),
    ("def positive(x: int, y: int):\n    return x > «y→0»", 30),
    ("def done(text: str):\n    return text == «None→''»", 40),
    ("def done(key, table):\n    return «table in key→key in table»", 20),
]
OFF_BY_ONE = [
    ("def size(xs: list):\n    return f\"{len(xs)«→ - 1»} of {'all'}\"", 40),
    ("def last(xs: list):\n    return xs[«len(xs)→len(xs) - 1»]", 10),
    ("def pairs(n: int):\n    return [i for i in range(«n→n + 1»)]", 20),
    ("def head(xs: list, n: int):\n    return xs[:«n→n + 1»]", 12),
    ("def middle(low: int, high: int):\n    mid = (low + high) // 2\n    low = «mid→mid + 1»\n    return low", 25),
    ("def count(xs: list):\n    return «len(xs) - 1→len(xs)»", 12),
    ("def depth(one):\n    return «max(depth(one.a), depth(one.b))→max(depth(one.a), depth(one.b)) + 1»", 60),
    ("def last(xs: list, i: int):\n    return xs[«i + 1→i - 1»]", 20),
    ("def fits(i: int, xs: list):\n    return i < «len(xs) - 1→len(xs)»", 12),
]


@pytest.mark.parametrize(("program", "most"), [*OPERATORS, *COMPARISONS, *OFF_BY_ONE, *NEW_OPERANDS])
def test_the_mend_of_an_operator_comes_early_among_all_edits(program: str, most: int, mend_rank: Rank) -> None:
    mend_number = mend_rank(program, EXPRESSION_EDITS)
    assert mend_number is not None
    assert mend_number <= most


@pytest.mark.parametrize(
    ("generator", "table"),
    [(operators, OPERATORS), (new_operands, NEW_OPERANDS), (comparisons, COMPARISONS), (off_by_one, OFF_BY_ONE)],
)
def test_each_family_finds_its_own_mends(generator: EditOperator, table: Table, mend_rank: Rank) -> None:
    assert [program for program, _ in table if mend_rank(program, [generator]) is None] == []
