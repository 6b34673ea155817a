from collections.abc import Callable

import pytest

from nightshift_engine.edit import EditOperator
from nightshift_engine.edits import EXPRESSION_EDITS
from nightshift_engine.edits.calls import arguments, keywords, methods, missing_calls
from nightshift_engine.edits.comprehensions import comprehensions
from nightshift_engine.edits.subscripts import subscripts

Table = list[tuple[str, int]]
Rank = Callable[..., int | None]
HELPER = "def scale(x: int, by: int, least: int = 0):\n    return max(x * by, least)\n\n\n"
TANK = "class Tank:\n    def level(self):\n        return 3\n\n"
ARGUMENTS = [
    ("def power(base: int, n: int):\n    return base if n == 1 else power(«n - 1, base→base, n - 1»)", 60),
    (HELPER + "def twice(x: int, least: int):\n    return scale(x, 2«→, least»)", 30),
    (HELPER + "def twice(x: int, least: int):\n    return scale(x«→, x», least)", 100),
    (HELPER + "def twice(x: int):\n    return scale(x, 2«, x→»)", 30),
    ("def first(queue: list):\n    return queue.pop(«→0»)", 12),
    ("def count(table: dict, key):\n    return table.get(key«→, 0»)", 30),
    ("def both(xs: list):\n    return max(«*xs→xs»)", 12),
]
KEYWORDS = [
    ("def down(xs: list):\n    return sorted(xs«→, reverse=True»)", 15),
    ("def down(xs: list):\n    return sorted(xs«, reverse=True→»)", 15),
    ("def longest(words: list):\n    return max(words«→, key=len»)", 40),
    ("def ranked(found: list):\n    return sorted(found, key=lambda one: «one[1]→-one[1]»)", 25),
    ("def ranked(found: list):\n    return sorted(found, key=lambda one: («one.name, one.age→one.age, one.name»))", 40),
    ("def top(xs: list):\n    return max(xs«→, default=0»)", 30),
]
CALLING = [
    ("def low(text: str):\n    return text.lower«→()» == 'a'", 20),
    (TANK + "    def empty(self):\n        return self.level«→()» == 0", 12),
    ("async def fetch(n):\n    return n\n\n\nasync def both(n):\n    return «fetch(n)→await fetch(n)»", 10),
    ("def mark(x: int, key=None):\n    return x if key is None else «x→key(x)»", 20),
    ("def marks(xs: list, turn=None):\n    if turn:\n        return [«x→turn(x)» for x in xs]\n    return xs", 30),
]
METHODS = [
    ("def add(out: list, more: list):\n    out.«append→extend»(more)\n    return out", 12),
    ("def first(xs: list):\n    return xs.«get→pop»(0)", 20),
    ("def take(queue):\n    return queue.«pop→popleft»()", 15),
    ("def low(text: str):\n    return text.«upper→lower»()", 10),
    ("def ends(text: str):\n    return text.«startswith→endswith»('.')", 8),
    ("def sizes(table: dict):\n    return list(table.«keys→values»())", 12),
    ("def common(a: set, b: set):\n    return a.«union→intersection»(b)", 15),
    ("def small(xs: list):\n    return «max→min»(xs)", 5),
    ("def each(xs: list):\n    return «any→all»(x > 0 for x in xs)", 10),
    ("import math\n\n\ndef pages(n: int):\n    return math.«floor→ceil»(n / 10)", 15),
    ("def ranked(xs: list):\n    out = «xs.sort()→sorted(xs)»\n    return out", 15),
    ("def front(xs: list, x: int):\n    xs.«append(x)→insert(0, x)»\n    return xs", 20),
]
LAMP = """class Lamp:
    COLOURS = ("red", "green")

    def __init__(self):
        self.times = {"red": 1, "green": 2}
        self.colour = "red"

    def turn(self):
"""
SUBSCRIPTS = [
    ("def first(xs: list):\n    return «xs→xs[0]»", 20),
    ("def at(xs: list, i: int):\n    return «i→xs[i]» + 1", 80),
    ("def at(xs: list, i: int):\n    return «xs[i]→i» + 1", 40),
    ("def price(goods, name: str):\n    return «goods→goods[name]» + 1", 100),
    (
        "def step(xs: list, text: str):\n    if int(text) < 9:\n        xs = «xs→xs[int(text)]»\n    return xs",
        120,
    ),
    (LAMP + "        self.left = «self.times→self.times[self.colour]»", 60),
    ("def last(xs: list, i: int):\n    return xs[«i→-1»]", 20),
    ("def cell(rows: list, i: int, j: int):\n    return rows«[i][j]→[j][i]»", 20),
    ("def both(a: int, b: int):\n    return («a, b→b, a»)", 25),
    ("def entry(key, value):\n    return {«key: value→value: key»}", 15),
]
COMPREHENSIONS = [
    ("def kept(xs: list):\n    return [x for x in xs«→ if x»]", 20),
    ("def kept(xs: list):\n    return [x for x in xs« if x→»]", 15),
    ("def kept(xs: list, banned: set):\n    return [x for x in xs«→ if x not in banned»]", 30),
    ("def kept(xs: list):\n    return [x for x in xs if «x.ok→not x.ok»]", 30),
    (
        (
            "def others(rows: list, name: str):\n    rows.sort(key=lambda row: row[1])\n"
            "    return [row for row in rows«→ if row[1] != name»]"
        ),
        110,
    ),
    ("def turned(table: dict):\n    return {«k: v→v: k» for k, v in table.items()}", 20),
    ("def show(table: dict):\n    for key, value in «table→table.items()»:\n        print(key, value)", 20),
    ("def show(xs: list):\n    for i, x in «xs→enumerate(xs)»:\n        print(i, x)", 30),
    ("def show(xs: list):\n    for i, x in enumerate(xs«→, 1»):\n        print(i, x)", 30),
    ("def show(n: int):\n    for i in «n→range(n)»:\n        print(i)", 20),
]


@pytest.mark.parametrize(("program", "most"), [*ARGUMENTS, *KEYWORDS, *CALLING, *METHODS, *SUBSCRIPTS, *COMPREHENSIONS])
def test_the_mend_of_a_call_comes_early_among_all_edits(program: str, most: int, mend_rank: Rank) -> None:
    mend_number = mend_rank(program, EXPRESSION_EDITS)
    assert mend_number is not None
    assert mend_number <= most


@pytest.mark.parametrize(
    ("generators", "table"),
    [
        ([arguments], ARGUMENTS),
        ([keywords], KEYWORDS),
        ([missing_calls], CALLING),
        ([methods], METHODS),
        ([subscripts], SUBSCRIPTS),
        ([comprehensions], COMPREHENSIONS),
    ],
)
def test_each_family_of_calls_finds_its_own_mends(
    generators: list[EditOperator], table: Table, mend_rank: Rank
) -> None:
    missing = [program for program, _ in table if mend_rank(program, generators) is None]
    assert missing == []
