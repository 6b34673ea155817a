"""Functions, classes and files that a task's description asks for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.definitions import find_bound, find_functions
from nightshift.verdict.word_names import find_paths, read_names


@pytest.mark.parametrize(
    ("words", "defined", "files"),
    [
        ("Write `solution.py` with `add(a, b)`, the sum of a and b.", ["add"], ["solution.py"]),
        ("Please write a fast, small function `fib(n)`.", [], []),
        ("Add `add(a, b)` and `sub(a, b)` to `calc.py`", ["add", "sub"], ["calc.py"]),
        ("Write `add()` and tests for `sub()`.", ["add"], []),
        ("Implement a class `Stack` with `push(x)` and `pop()`.", ["Stack"], []),
        ("Fix the imports. Then add a function called `Shape.area`!", ["area"], []),
        ("- Create the module `shop/cart.py` that defines `total(prices)`\n- Write `class Cart:`",
         ["total", "Cart"], ["shop/cart.py"]),
        ("Create a file `hello.txt` that says hello", [], ["hello.txt"]),
    ],
)  # fmt: skip
def test_what_a_sentence_asks_for_directly_counts(words: str, defined: Sequence[str], files: Sequence[str]) -> None:
    names = read_names(words)
    assert (list(names.defined), list(names.files), names.mentioned) == (defined, files, ())


@pytest.mark.parametrize(
    "words",
    [
        "Do not add `add(a, b)`.", "Write a program that creates `out.py`.",
        "Read the file. Create a file `out.txt` when it is there.",
        "The script does this:\n1. Read a.csv\n2. Write `out.py`",
        "Write a test `test_add()` in `tests/test_add.py`.", "Add the `--verbose` flag.",
        "Implement `null` handling.", "Write `hello` to the screen.", "Create `../x.py`.", "Write add(a, b).",
    ],
)  # fmt: skip
def test_what_it_does_not_ask_for_directly_does_not(words: str) -> None:
    names = read_names(words)
    assert (names.defined, names.files, names.mentioned) == ((), (), ())


def test_a_name_of_which_the_words_do_not_say_what_it_is_has_to_occur() -> None:
    assert read_names("Implement `slugify` in text.py.").mentioned == ("slugify",)
    assert read_names("Implement `slugify` in text.py.", ["slugify"]).defined == ("slugify",)


def test_a_name_without_backticks_counts_where_an_example_calls_it() -> None:
    assert read_names("Write add(a, b): the sum.", ["add"]).defined == ("add",)


def test_paths_of_python_files_are_found_once() -> None:
    assert list(find_paths("Mend `shop/cart.py`, a.py and shop/cart.py; not b.pyc, /etc/c.py")) == [
        "shop/cart.py",
        "a.py",
    ]


@given(st.text("addwrite `().py,\n-#:éand", max_size=400))
def test_no_text_raises(words: str) -> None:
    names = read_names(words, ["add"])
    assert all(name.isidentifier() for name in (*names.defined, *names.mentioned))


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
