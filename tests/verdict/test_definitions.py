from __future__ import annotations

from nightshift.verdict.definitions import find_bound, find_functions

TEXT = """
import os.path as where
from shop import total as sum_up
try:
    def fast(): ...
except ImportError:
    pass
else:
    async def slow(): ...
if True:
    LIMIT = 3
class Cart:
    size: int = 0
    def add(self, item):
        def inner(): ...
        self.items = [item]
        setattr(self, "later", 1)
        item.used(other)
"""


def test_functions_are_those_at_the_top_of_a_module() -> None:
    assert find_functions(TEXT) == {"fast", "slow"}
    assert find_functions("def broken(") == frozenset()


def test_bound_are_all_names_that_get_a_meaning_and_not_those_that_are_used() -> None:
    assert find_bound(TEXT) >= {
        "where", "sum_up", "fast", "slow", "LIMIT", "Cart", "size", "add", "inner", "items", "later",
    }  # fmt: skip
    assert not find_bound(TEXT) & {"used", "other", "total", "os"}
