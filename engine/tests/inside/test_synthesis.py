"""The parts of the synthesis in isolation: bounded functions, kinds, decision trees, writing, and answers to a test."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

# The code inside the sandbox has no annotations; importing it by name keeps the type checker from complaining.
NAMES = ("decision_trees", "expression", "grammar", "kinds", "recorder", "search", "work")
PARTS: dict[str, Any] = {name: importlib.import_module(f"nightshift_engine.inside.synthesis.{name}") for name in NAMES}
grammar, kinds, recorder, solutions = (PARTS[name] for name in ("grammar", "kinds", "recorder", "search"))
PartialSolutions, Entry, Example, Search = (
    PARTS["decision_trees"].PartialSolutions, PARTS["expression"].Entry, PARTS["work"].Example, PARTS["search"].Search,
)  # fmt: skip

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)


def call(body: str, parameters: list[str], arguments: tuple[object, ...]) -> object:
    """Return the result of a function with this body; the texts come from our own search."""
    names: dict[str, Any] = {}
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    exec(f"def f({', '.join(parameters)}):\n{lines}", names)
    return names["f"](*arguments)


def make_search(parameters: list[str], rows: list[tuple[tuple[Any, ...], Any]], share: float = 0.5) -> Any:
    """Return a search for a body with these arguments and results."""
    texts = {"0": 0, "1": 1, "2": 1, "10": 2, "''": 2, "None": 1, "True": 1, "False": 1, "[]": 1}
    constants = [(text, eval(text), max(1, cost)) for text, cost in texts.items()]
    examples = [Example(list(arguments), wanted) for arguments, wanted in rows]
    task = {
        "parameters": parameters, "examples": examples, "constants": constants, "known": [], "raising": [],
        "numbers": False, "words": [],
    }  # fmt: skip
    return Search(task, share, lambda *_: None, lambda: "", clock=time.process_time)


def search(
    parameters: list[str], rows: list[tuple[tuple[Any, ...], Any]], seconds: float = 5, share: float = 0.5
) -> str:
    """Return the smallest body for these arguments and results."""
    new_search = make_search(parameters, rows, share)
    new_search.run(seconds)
    return min(new_search.solutions, key=new_search.solutions.__getitem__, default="")


@pytest.mark.parametrize(
    "call",
    [
        lambda: grammar.power(10, 1000), lambda: grammar.power(-8, 0.5), lambda: grammar.times(1 << 150, 1 << 150),
        lambda: grammar.repeat("ab", 10**9), lambda: grammar.counting(10**9), lambda: grammar.factorial(10**6),
        lambda: grammar.glue("x" * 100, ["y"] * 100), lambda: grammar.pad_with(str.zfill)("1", 10**9),
    ],
)  # fmt: skip
def test_nothing_that_would_grow_is_computed(call: Any) -> None:
    with pytest.raises(grammar.Refused):
        call()


@given(VALUES, VALUES)
def test_vectors_have_the_same_key_only_if_they_are_equal(left: Any, right: Any) -> None:
    same = kinds.freeze(left) == kinds.freeze(right)
    if kinds.kind_of(left) == kinds.kind_of(right):
        assert not same or left == right
        assert (kinds.key(kinds.kind_of(left), [left]) == kinds.key(kinds.kind_of(right), [right])) <= (left == right)


def test_kinds_tell_items_of_collections() -> None:
    examples: dict[str, object] = {
        "list[int]": [1],
        "list[]": [],
        "dict[str,list[int]]": {"a": [1]},
        "tuple[int,str]": (1, "a"),
        "bool": True,
        "list[*]": [1, 2, 3, 4, [5]],
        "list[float]": [1, 2.5],
    }
    assert {kind: kinds.kind_of(value) for kind, value in examples.items()} == {kind: kind for kind in examples}


def entry(text: str, cost: int = 1) -> Any:
    return Entry(text, 9, cost)


def test_a_tree_may_cost_what_the_examples_are_evidence_for_and_no_more() -> None:
    def partials(most: int) -> Any:
        solutions_so_far = PartialSolutions(0b1111, most)
        solutions_so_far.note(0b0011, entry("a"))
        solutions_so_far.note(0b1100, entry("b"))
        solutions_so_far.split(0b0011, entry("p", 2))
        return solutions_so_far.decide((), 1.0)

    assert partials(5).text == "a if p else b"
    assert partials(4) is None


def test_what_is_right_for_one_example_alone_must_be_plain() -> None:
    def partials(text: str, cost: int) -> Any:
        solutions_so_far = PartialSolutions(0b1111, 50)
        solutions_so_far.note(0b0111, entry("a"))
        solutions_so_far.note(0b1000, entry(text, cost))
        solutions_so_far.split(0b1000, entry("p", 2))
        return solutions_so_far.decide((), 1.0)

    assert partials("g(x, y)", 4) is None
    assert partials("None", 3).text == "None if p else a"


def test_trees_of_truth_values_are_written_with_the_words_of_logic() -> None:
    partials = PartialSolutions(0b1111, 50)
    partials.note(0b0101, entry("True"))
    partials.note(0b1010, entry("False"))
    partials.split(0b0101, Entry("x < y", 4, 2))
    assert solutions.body(partials.decide((), 1.0)) == "return x < y"


def test_texts_are_written_as_a_person_would() -> None:
    assert solutions.tidy("return 3 < x") == "return x > 3"
    assert solutions.tidy("return not (a == b)") == "return a != b"
    assert solutions.tidy("return not x in y") == "return x not in y"
    assert solutions.tidy("return math.sqrt(x)") == "import math\n\nreturn math.sqrt(x)"


def probe(oracle: Any, number: int) -> Any:
    return recorder.Probe(oracle, oracle.call(["l", ["i", hex(number)]]))


def test_a_comparison_teaches_the_result_once_for_all() -> None:
    oracle = recorder.Oracle()
    assert probe(oracle, 1) == [2]
    again = probe(oracle, 1)
    assert again != [3]
    assert len(again) == 1
    assert [call.value for call in oracle.notes] == [[2]]


def test_truth_is_answered_as_the_trail_says() -> None:
    oracle = recorder.Oracle([False])
    assert not probe(oracle, 1)
    assert probe(oracle, 2)
    assert oracle.answers == [False, True]
    with pytest.raises(recorder.UnknownResult):
        len(probe(oracle, 3))


@pytest.mark.parametrize(
    ("parameters", "rows", "others"),
    [
        (["n"], [((1,), 0), ((2,), 1), ((12,), 2), ((7,), 0), ((40,), 3), ((64,), 6)], [((96,), 5), ((9,), 0)]),
        (["a", "b"], [(([1, 2], [4, 5]), 14), (([], []), 0), (([2], [7]), 14), (([1, -1], [5, 4]), 1)],
         [(([3, 1], [2, 2]), 8)]),
        (["d"], [(({"a": 1, "b": 2},), {1: "a", 2: "b"}), (({},), {}), (({"z": 5, "y": 7, "x": 6},),
         {5: "z", 7: "y", 6: "x"})], [(({"q": 9},), {9: "q"})]),
        (["first", "last"], [(("Al", "Bo"), "bo.al"), (("cy", "Di"), "di.cy")], [(("Ed", "Fay"), "fay.ed")]),
    ],
)  # fmt: skip
def test_it_finds_loops_tables_and_texts(parameters: list[str], rows: Any, others: Any) -> None:
    body = search(parameters, rows, seconds=15, share=0.3)
    for arguments, result in others:
        assert call(body, parameters, arguments) == result, body
