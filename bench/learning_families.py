"""Families of similar tasks for `bench/learning.py`: what they ask for, what one tries in vain, and what is right.

Two tasks of a family ask for the same thing in other words, about other things, in another file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of similar tasks.

    Attributes:
        words: how each round asks for it; `{f}` is the function, `{path}` its file.
        wrong: bodies that fail, in the order in which they are tried.
        right: the body that passes.
        sign: a piece of the right body that stands in no wrong one; a lesson that fits holds it.
        tests: lines of the test, on `{f}`.
        names: function and module for each round.
    """

    name: str
    words: tuple[str, str]
    names: tuple[tuple[str, str], tuple[str, str]]
    wrong: tuple[str, ...]
    right: str
    sign: str
    tests: tuple[str, ...]


FAMILIES = (
    Family(
        name="numbers that come as texts",
        words=(
            "Write `{f}(rows)` in {path}: the total of the prices of a basket; each row is a text such as '3'.",
            "Write `{f}(rows)` in {path}: add up the points of a game, which come as texts such as '3'.",
        ),
        names=(("basket_total", "basket"), ("sum_points", "points")),
        wrong=("return sum(rows)", "return sum(rows, 0.0)", "return len(rows)"),
        right="return sum(int(row) for row in rows)",
        sign="int(row)",
        tests=("assert {f}(['3', '4']) == 7", "assert {f}([]) == 0"),
    ),
    Family(
        name="the mean of nothing",
        words=(
            "Write `{f}(rows)` in {path}: the average grade of a class, and 0 for a class without grades.",
            "Write `{f}(rows)` in {path}: the average speed of a tour, 0 for a tour without any measured speed.",
        ),
        names=(("average_grade", "grades"), ("average_speed", "tour")),
        wrong=("return sum(rows) / len(rows)", "return sum(rows) // len(rows)", "return sum(rows) / (len(rows) - 0)"),
        right="return sum(rows) / len(rows) if rows else 0",
        sign="if rows else 0",
        tests=("assert {f}([1, 2]) == 1.5", "assert {f}([]) == 0"),
    ),
    Family(
        name="keys that are missing",
        words=(
            "Write `{f}(table, key)` in {path}: how many pieces of an article are in stock; none of an unknown one.",
            "Write `{f}(table, key)` in {path}: how many books a reader has out; an unknown reader has none (0).",
        ),
        names=(("in_stock", "stock"), ("books_out", "readers")),
        wrong=("return table[key]", "return int(table[key])", "return table.pop(key)"),
        right="return table.get(key, 0)",
        sign=".get(key, 0)",
        tests=("assert {f}({{'a': 3}}, 'a') == 3", "assert {f}({{}}, 'b') == 0"),
    ),
    Family(
        name="texts that are not there",
        words=(
            "Write `{f}(text)` in {path}: a customer's name in capitals without spaces around it; '' where it is None.",
            "Write `{f}(text)` in {path}: a song's trimmed title in capitals, or '' when there is none (None).",
        ),
        names=(("shown_name", "customers"), ("shown_title", "songs")),
        wrong=("return text.strip().upper()", "return text.upper().strip()", "return text.strip().upper() or ''"),
        right="return (text or '').strip().upper()",
        sign="(text or '')",
        tests=("assert {f}(' ab ') == 'AB'", "assert {f}(None) == ''"),
    ),
    Family(
        name="the last page",
        words=(
            "Write `{f}(n, size)` in {path}: how many pages n search results fill with size results on each page.",
            "Write `{f}(n, size)` in {path}: how many boxes are needed for n bottles when a box holds size bottles.",
        ),
        names=(("page_count", "results"), ("box_count", "bottles")),
        wrong=("return n // size", "return n // size + 1", "return round(n / size)"),
        right="return -(-n // size)",
        sign="-(-n // size)",
        tests=("assert {f}(10, 5) == 2", "assert {f}(11, 5) == 3", "assert {f}(0, 5) == 0"),
    ),
    Family(
        name="ties in a ranking",
        words=(
            "Write `{f}(rows)` in {path}: players and scores as pairs, best score first, ties by name.",
            "Write `{f}(rows)` in {path}: cities and inhabitants as pairs, the largest first, equal ones by name.",
        ),
        names=(("ranking", "players"), ("by_size", "cities")),
        wrong=("return sorted(rows)", "return sorted(rows, reverse=True)", "return sorted(rows, key=lambda r: r[1])"),
        right="return sorted(rows, key=lambda r: (-r[1], r[0]))",
        sign="(-r[1], r[0])",
        tests=("assert {f}([('b', 1), ('a', 1), ('c', 2)]) == [('c', 2), ('a', 1), ('b', 1)]",),
    ),
    Family(
        name="the last none",
        words=(
            "Write `{f}(rows, k)` in {path}: the last k messages of a chat, oldest first; none for k = 0.",
            "Write `{f}(rows, k)` in {path}: the k newest entries at the end of a diary; an empty list when k is 0.",
        ),
        names=(("last_messages", "chat"), ("newest_entries", "diary")),
        wrong=("return rows[-k:]", "return rows[:k]", "return rows[-k - 1:]"),
        right="return rows[len(rows) - k:]",
        sign="rows[len(rows) - k:]",
        tests=("assert {f}([1, 2, 3], 2) == [2, 3]", "assert {f}([1, 2], 0) == []"),
    ),
    Family(
        name="a list that is shared",
        words=(
            "Write `{f}(n)` in {path}: an empty n by n board of zeros for a game of chess, as a list of lists.",
            "Write `{f}(n)` in {path}: a square seating plan of n rows with n free seats (0) in each, as lists.",
        ),
        names=(("new_board", "board"), ("new_plan", "seats")),
        wrong=("return [[0] * n] * n", "return [[0 for _ in range(n)]] * n", "return list([[0] * n] * n)"),
        right="return [[0] * n for _ in range(n)]",
        sign="n for _ in range(n)]",
        tests=("made = {f}(2)", "made[0][0] = 1", "assert made == [[1, 0], [0, 0]]"),
    ),
)
