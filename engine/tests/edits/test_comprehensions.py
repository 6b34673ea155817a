from collections.abc import Callable

import pytest

from nightshift_engine.edit import EditOperator
from nightshift_engine.edits import EXPRESSION_EDITS
from nightshift_engine.edits.comprehensions import clauses
from nightshift_engine.edits.results import exceptions, return_expressions

Table = list[tuple[str, int]]
Rank = Callable[..., int | None]
HIGHEST = "def highest(tops: list):\n    best = -1\n    for at in range(len(tops)):\n        if "
CLAUSES = [
    (HIGHEST + "«best == -1→best == -1 or tops[at] > tops[best]»:\n            best = at\n    return best", 200),
    (
        HIGHEST
        + "«tops[at] > tops[best]→best == -1 or tops[at] > tops[best]»:\n            best = at\n    return best",
        120,
    ),
    (
        "def at(xs, t: str):\n    if «int(t) > 9→t.isdigit() and int(t) > 9»:\n        xs = 0\n    return xs",
        80,
    ),
    ("def last(xs: list, top=None):\n    return [x for x in xs if «x < top→top is None or x < top»]", 80),
    (
        (
            "def pairs(names: set, one: str, team: list):\n    for other in names:\n"
            "        if «other not in team→one != other and other not in team»:\n            team.append(other)\n"
        ),
        150,
    ),
    ("def near(a: int, b: int, c: int):\n    while «a < b→a < b and b < c»:\n        a += 1\n    return a", 400),
]
LINES = "def lines(rows: list):\n    out = ['-' * len(rows)]\n    "
RESULTS = [
    (LINES + "for row in rows:\n        out.append(' '.join(row))\n    «return→return '\\n'.join(out)»", 110),
    ("def kept(values):\n    «return→return [item for item in values if item is not None]»", 150),
    ("def size(w: int, h: int, flat):\n    if flat:\n        return w + h\n    «return→return w * h»", 60),
    ("def pages(text: str):\n    found = set()\n    found.add(text)\n    «return→return sorted(found)»", 60),
    ("NAMES = ['a', 'b']\n\n\ndef named(n: int):\n    if n < 0:\n        n = -n\n    «return→return NAMES[n]»", 60),
    ("def one(n: int):\n    return [n]\n\n\ndef two(n: int):\n    «return None→return one(n)»", 150),
    ("def both(a: int, b: int):\n    return a - b\n\n\ndef gap(a: int, b: int):\n    return «0→both(a, b)»", 250),
]

CAUGHT = "def number(text, known):\n    try:\n        return int(known[text])\n    except "
RAISING = [
    ("def half(n: int):\n    if n % 2:\n        raise «'odd'→ValueError('odd')»\n    return n // 2", 20),
    ("def half(n: int):\n    if n % 2:\n        raise «f'{n} is odd'→ValueError(f'{n} is odd')»\n    return n", 12),
    ("def at(xs: list, i: int):\n    if i < 0:\n        raise «KeyError→IndexError»(i)\n    return xs[i]", 100),
    (CAUGHT + "«IndexError→KeyError»:\n        return 0", 80),
    (CAUGHT + "«KeyError→(KeyError, ValueError)»:\n        return 0", 60),
]


@pytest.mark.parametrize(("program", "most"), [*CLAUSES, *RESULTS, *RAISING])
def test_the_mend_of_a_condition_a_result_or_an_exception_comes_early_among_all_edits(
    program: str, most: int, mend_rank: Rank
) -> None:
    mend_number = mend_rank(program, EXPRESSION_EDITS)
    assert mend_number is not None
    assert mend_number <= most


@pytest.mark.parametrize(
    ("generator", "table"), [(clauses, CLAUSES), (return_expressions, RESULTS), (exceptions, RAISING)]
)
def test_each_family_of_clauses_and_results_finds_its_own_mends(
    generator: EditOperator, table: Table, mend_rank: Rank
) -> None:
    assert [program for program, _ in table if mend_rank(program, [generator]) is None] == []
