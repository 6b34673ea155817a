"""Suites whose tests must share a process with the tested code.

They need coroutines, callbacks, the environment or the output.
"""

from __future__ import annotations

from tests.hostile.verdicts.forgery import Suite, code


def _suite(name: str, tests: str, honest: str, words: str) -> Suite:
    given = {"tests/test_given.py": code(tests)}
    return Suite(name=name, given=given, honest={"solution.py": code(honest)}, words=words)


AWAITED = _suite(
    "awaited",
    """
    from solution import double, fetch


    async def test_small():
        assert await fetch(2) == 4


    async def test_large():
        assert await fetch(30) == 60


    def test_double():
        assert double(7) == 14
    """,
    """
    def double(number):
        return 2 * number


    async def fetch(number):
        return double(number)
    """,
    "Write `double` and the coroutine `fetch` in solution.py.",
)
CALLED_BACK = _suite(
    "called_back",
    """
    from solution import apply, keep


    def test_apply():
        assert apply(lambda x: x + 1, [1, 5]) == [2, 6]


    def test_keep():
        assert keep(lambda x: x > 2, [1, 3, 5]) == [3, 5]


    def test_nothing():
        assert keep(None, []) == []
    """,
    """
    def apply(function, items):
        return [function(item) for item in items]


    def keep(function, items):
        return [item for item in items if function(item)]
    """,
    "Write `apply` and `keep` in solution.py.",
)
SURROUNDED = _suite(
    "surrounded",
    """
    from solution import level, limit


    def test_level(monkeypatch):
        monkeypatch.setenv("LEVEL", "high")
        assert level() == 3


    def test_usual(monkeypatch):
        monkeypatch.delenv("LEVEL", raising=False)
        assert level() == 1


    def test_limit():
        assert limit(5) == 10
    """,
    """
    import os


    def level():
        return 3 if os.environ.get("LEVEL") == "high" else 1


    def limit(number):
        return 2 * number
    """,
    "Write `level` (3 where the variable LEVEL is high, else 1) and `limit` in solution.py.",
)
SHOWN = _suite(
    "shown",
    """
    from solution import show, square


    def test_show(capsys):
        show([1, 2])
        assert capsys.readouterr().out == "1\\n2\\n"


    def test_one(capsys):
        show(["owl"])
        assert capsys.readouterr().out == "owl\\n"


    def test_square():
        assert square(4) == 16
    """,
    """
    def show(items):
        for item in items:
            print(item)


    def square(number):
        return number * number
    """,
    "Write `show` and `square` in solution.py.",
)

SHARED_SUITES = tuple(suite for suite in globals().values() if isinstance(suite, Suite))
