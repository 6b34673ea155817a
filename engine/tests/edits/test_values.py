from collections.abc import Callable
from dataclasses import replace

import pytest

from nightshift_engine.edit import EditContext, EditOperator
from nightshift_engine.edits import EXPRESSION_EDITS
from nightshift_engine.edits.constants import constants
from nightshift_engine.edits.names import names, transplants
from nightshift_engine.edits.subscripts import slices
from nightshift_engine.edits.wrapping import bounds, concatenations, remainders, wrapping

Table = list[tuple[str, int]]
Rank = Callable[..., int | None]
UP_AND_DOWN = "def up(n: int):\n    return n + 1\n\n\ndef down(n: int):\n    return n - 1\n\n\n"
BOX = "class Box:\n    def __init__(self):\n        self.low = 0\n        self.high = 9\n\n"
COST = "def cost(a: int, b: int, rate: int):\n    if a * rate > 10:\n"
HOPS = "def hops(seen: dict, u: str, v: str, w: int):\n    if seen[u] + w < seen[v]:\n"
CONSTANTS = [
    ("def best(xs):\n    top = «0→1»\n    for x in xs:\n        top *= x\n    return top", 25),
    ("def best(xs):\n    top = «0→-1»\n    return top", 20),
    ("def best(xs):\n    top = «0→float('-inf')»\n    return top", 25),
    ("def best(xs):\n    top = «float('inf')→float('-inf')»\n    return top", 20),
    ("def found(xs, x):\n    for y in xs:\n        if y == x:\n            return «False→True»\n    return False", 20),
    ("def ways(n):\n    if n == 0:\n        return «[]→[[]]»\n    return [n]", 20),
    ("def seen(xs):\n    known = «{}→set()»\n    return known", 15),
    ("def words(text: str):\n    return text.split(«''→' '»)", 20),
    ("def tax(x: float):\n    if x > 40:\n        return x / 100\n    return x / «10→100»", 80),
    ("def show(kind):\n    if kind == «'Open'→'open'»:\n        return 1\n    return 0", 25),
    ("def ratio(a: int):\n    total = «0→0.0»\n    return total + a", 40),
    ("def step(n: int):\n    return n + «1→-1»", 30),
    ("def first(xs):\n    if not xs:\n        return «None→0»\n    return xs[0]", 25),
]
SLICES = [
    ("def tail(xs: list):\n    return «xs→xs[1:]»", 15),
    ("def tail(xs: list, n: int):\n    return xs[«n:→:n»]", 12),
    ("def middle(xs: list, n: int):\n    return xs[«:→n:»]", 25),
    ("def back(text: str):\n    return text[«:→::-1»]", 12),
    ("def copy_of(path: list, out: list):\n    out.append(«path→path[:]»)", 30),
    ("def steps(n: int):\n    return list(range(«n→1, n»))", 15),
    ("def steps(n: int):\n    return list(range(«n→1, n + 1»))", 30),
    ("def steps(a: int, b: int):\n    return list(range(«a, b→a, b, -1»))", 40),
    ("def back(xs: list):\n    for x in «xs→reversed(xs)»:\n        print(x)", 30),
    ("def turned(rows: list):\n    return «[list(row) for row in rows]→[list(row) for row in rows][::-1]»", 70),
    ("def joint(a: list, b: list):\n    return «a + b→(a + b)[::-1]»", 60),
    ("def sums(xs: list, i: int):\n    return sum(«xs→xs[i:]»)", 60),
]
NAMES = [
    ("def area(w: int, h: int):\n    return w * «w→h»", 12),
    ("def add(total: int, item: int, rate: int):\n    total += «rate→item»\n    return total", 25),
    ("def merge(a: list, b: list):\n    out = []\n    out.extend(a)\n    out.extend(«a→b»)\n    return out", 30),
    (UP_AND_DOWN + "def go(n: int):\n    return «up→down»(n)", 12),
    (BOX + "    def top(self):\n        return self.«low→high»", 12),
    ("def pick(a: int, b: int):\n    small = a\n    «small→big» = b\n    big = 0\n    return small", 60),
    ("def walk(node):\n    while node.right:\n        node = node.«left→right»\n    return node", 20),
    ("def keep(word: str, kept: list):\n    «word→kept».append(word)\n    return kept", 20),
    ("def initials(words: list, word: str):\n    return «words→word»[0].upper() + word[1:]", 40),
    ("def loop(queue: list):\n    while «True→queue»:\n        queue.pop()", 20),
    ("def grid(rows: list, i: int, j: int):\n    return rows[i][«i→j»]", 12),
    ("def swap(a: int, b: int):\n    a, b = b, «b→a»\n    return a, b", 40),
    ("def title(name: str, here: str):\n    return f'<{«here→name»}>'", 20),
]
WHEEL = "class Wheel:\n    KINDS = ('a', 'b')\n\n    def turn(self, i: int):\n"
WRAPPING = [
    (WHEEL + "        return self.KINDS[(i + 1) % «self.KINDS→len(self.KINDS)»]", 100),
    ("def size(xs: list, n: int):\n    return n < «xs→len(xs)»", 20),
    ("def far(a: int, b: int):\n    return «a - b→abs(a - b)»", 20),
    ("def ranked(xs: list):\n    return «xs→sorted(xs)»", 20),
    ("def show(n: int):\n    return 'n=' + «n→str(n)»", 15),
    ("def flat(xs):\n    out = []\n    for x in xs:\n        out.extend(«x→flat(x)»)\n    return out", 50),
    ("def plain(xs: list):\n    return «sorted(xs)→xs»", 12),
    ("def one(x: int, out: list):\n    out += «x→[x]»\n    return out", 20),
    ("def one(xs: list):\n    return «[xs]→xs»", 20),
    ("def words(text: str):\n    return «text→text.lower()».split()", 40),
    ("def two(a: int, b: int):\n    return «str(a, b)→(a, b)»", 20),
    (
        (
            "def sums(rows):\n    found = {}\n    for row in rows:\n        found[row] = 1\n    return found\n\n\n"
            "def best(rows):\n    return sorted(«rows→sums(rows)».items())"
        ),
        120,
    ),
    ("def each(xs):\n    return sum(«set(xs)→xs»)", 30),
]
BOUNDING = [
    ("def best(xs: list):\n    top = 0\n    for x in xs:\n        top = «x→max(top, x)»\n    return top", 60),
    ("def floor(n: int):\n    return «n→max(n, 0)»", 20),
    (
        (
            "def ends(spans, out: list):\n    for low, high in spans:\n        if low < out[-1][0]:\n"
            "            out[-1] = («low→min(low, out[-1][0])», high)\n    return out"
        ),
        400,
    ),
    ("def grow(table: dict, word: str, n: int):\n    table[word] = «n→max(table[word], n)»\n    return table", 60),
    ("def head(xs: list, n: int):\n    return xs[«n - 1→max(n - 1, 0)»:]", 60),
]
REMAINDERS = [
    ("def turn(xs: list, k: int):\n    return [xs[«i + k→(i + k) % len(xs)»] for i in range(len(xs))]", 100),
    ("def code(c: str, by: int):\n    return chr(«ord(c) - 65 + by→(ord(c) - 65 + by) % 26» + 65)", 200),
    ('def clock(hour: int, by: int):\n    """A day has 24 hours."""\n    return «hour + by→(hour + by) % 24»', 250),
]
JOINING = [
    ("def ways(first: int, rest: list):\n    return «rest→[first] + rest»", 40),
    ("def path(step: int, done: list):\n    return path(step, «done→done + [step]»)", 80),
    ("def pair(a: int, b: int):\n    return [«a→a, b»]", 40),
    ("def all_of(left: list, right: list, pivot: int):\n    return left + «right→[pivot] + right»", 80),
]
SURGERY = [
    (COST + "        return a * rate\n    return «b→b * rate»", 200),
    ("def last(xs: list, i: int):\n    n = xs[i] - xs[0]\n    m = «n→xs[i]»\n    return m + n", 250),
    (HOPS + "        seen[v] = «w→seen[u] + w»\n    return seen", 60),
    ("def hop(far: dict, u: str, v: str):\n    far[u] = 1\n    far[v] = far[u] + 1\n    return «far[u]→far[v]»", 60),
]


@pytest.mark.parametrize(
    ("program", "most"), [*CONSTANTS, *SLICES, *NAMES, *WRAPPING, *BOUNDING, *REMAINDERS, *JOINING, *SURGERY]
)
def test_the_mend_of_a_value_comes_early_among_all_edits(program: str, most: int, mend_rank: Rank) -> None:
    mend_number = mend_rank(program, EXPRESSION_EDITS)
    assert mend_number is not None
    assert mend_number <= most


@pytest.mark.parametrize(
    ("generator", "table"),
    [
        (constants, CONSTANTS),
        (names, NAMES),
        (slices, SLICES),
        (wrapping, WRAPPING),
        (bounds, BOUNDING),
        (remainders, REMAINDERS),
        (concatenations, JOINING),
        (transplants, SURGERY),
    ],
)
def test_each_family_of_values_finds_its_own_mends(generator: EditOperator, table: Table, mend_rank: Rank) -> None:
    assert [program for program, _ in table if mend_rank(program, [generator]) is None] == []


def test_other_kinds_than_were_seen_come_late_unless_a_kind_was_wrong(context_for: Callable[..., EditContext]) -> None:
    kinds = {"n": frozenset({"int"}), "word": frozenset({"str"}), "m": frozenset({"int"})}
    context = context_for("def f(n, word, m):\n    return n + 1\n", kinds)
    weights = {edit.note: edit.weight for edit in names(context)}
    assert weights["`n` becomes `m`"] > 10 * weights["`n` becomes `word`"]
    broken = replace(context, errors=(("TypeError", "unsupported operand type(s) for +: 'int' and 'str'"),))
    weights = {edit.note: edit.weight for edit in names(broken)}
    assert weights["`n` becomes `m`"] < 5 * weights["`n` becomes `word`"]


def test_a_name_that_has_no_value_yet_may_become_any_variable(context_for: Callable[..., EditContext]) -> None:
    text = "def f(word):\n    for part in letters.split():\n        letters = [part]\n    return letters\n"
    context = context_for(text, {"letters": frozenset({"list"}), "word": frozenset({"str"})})
    message = "cannot access local variable 'letters' where it is not associated with a value"
    broken = replace(context, errors=(("UnboundLocalError", message),))
    best = max(names(broken), key=lambda edit: edit.weight)
    assert best.note == "`letters` becomes `word`"
    assert best.line == 2
