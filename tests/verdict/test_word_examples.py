"""Examples in a task's description.

The tests cover texts that count as examples, texts that do not, and arbitrary texts, none of which does harm.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code import literals
from nightshift.verdict.word_examples import MOST, read_examples


def texts(words: str) -> list[str]:
    return [example.text for example in read_examples(words)]


@pytest.mark.parametrize(
    "words",
    [
        "Write add(a, b), the sum; add(1, 2) == 3",
        "Write add, which returns None if one is missing: add(1, 2) == 3",
        "add(1, 2) should return 3 instead of -1",
        "“Sums”: `add(1, 2) == 3` must hold.",
        '```python\ndef add(a, b):\n    """Add.\n\n    >>> add(1, 2)  # both\n    3\n    """\n```',
        "```\n>>> from calc import add\n>>> add(1,\n... 2) == 3\n```\nadd(1, 2) == 3",
    ],
)
def test_an_example_is_a_call_of_literals_with_its_result(words: str) -> None:
    (example,) = read_examples(words)
    assert (example.name, example.args, example.kwargs, example.expect) == ("add", "(1, 2)", "{}", "3")


def test_names_have_dots_values_are_nested_and_each_example_counts_once() -> None:
    words = (
        "shop.cart.total([1.5, {'a': (2,)}], tax=-1) == {'sum': [None, True]}\n"
        "first('it\\'s\\n') == \"it's\" and last((1, 2)) == {1, 2}\n"
        "first('it\\'s\\n') == \"it's\"\nnames([1,\n  2]) == ['a',\n  'b']\nhalf(1) == 0.33"
    )
    examples = read_examples(words)
    assert [example.name for example in examples] == ["shop.cart.total", "first", "last", "names", "half"]
    assert (examples[0].args, examples[0].kwargs) == ("([1.5, {'a': (2,)}],)", "{'tax': -1}")
    assert [example.expect for example in examples[1:4]] == ['"it\'s"', "{1, 2}", "['a', 'b']"]
    assert [example.rounded for example in examples] == [None, None, None, None, 0.005]


@pytest.mark.parametrize(
    "words",
    [
        "if add(1, 2) == 3 then stop", "After `push(1)`, `size()` returns 1.",
        "Not allowed:\n- add(1, 2) == 4\n- add(2, 2) == 5", "### Actual behaviour\n\n`add(1, 2)` returns `4`",
        "add(x=n) == 3", "add(a=1, a=2) == 3", "    return add(1, 2) == 3", "add(1, 2) returns 3 items",
        "add(1, 2) == 3kg", "add(1, 2) == [3, ...]", "add(__import__('os').system('true')) == 0",
        "```js\nadd(1, 2) == 3\n```", "```\nsetup(debug=True)\nadd(1, 2) == 3\n```",
        ">>> add(1, 2)  # doctest: +SKIP\n3",
        'Traceback (most recent call last):\n  File "t.py", line 3, in test\n    assert add(1, 2) == 4',
        "\0add(1, 2) == 3",
    ],
)  # fmt: skip
def test_what_may_be_no_requirement_is_passed_over(words: str) -> None:
    assert texts(words) == []


def test_other_code_between_examples_takes_away_those_after_it_in_the_same_block_only() -> None:
    words = "```\n>>> add(1, 2)\n3\n>>> os.environ['A'] = '1'\n>>> add(2, 2)\n4\n```\n\nadd(3, 3) == 6"
    assert texts(words) == ["add(1, 2) == 3", "add(3, 3) == 6"]


def test_the_number_and_the_length_of_examples_are_bounded() -> None:
    words = "\n".join(f"add({n}, 0) == {n}" for n in range(500)) + f"\nadd('{'x' * 5000}') == 1"
    assert len(texts(words)) == MOST


PIECES = st.sampled_from(
    ["add(", "1, 2", ")", " == ", " -> ", " returns ", "3", "'a'", '"', "'", "`", "```", ">>> ", "\n", "\n\n", "[",
     "]", "{", "}", "(", "\\", "not ", "if ", "x", ".", ",", "lambda: 0", "f'{x}'", "- ", "#", "\0", "é", "\ud800", "…",
     "**", "9**9**9", "b'\\xff'", "__import__('os')", "None", "...", "1e999", "0x", "1_0"]
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join)))
def test_no_text_raises_and_every_value_is_a_literal(words: str) -> None:
    for example in read_examples(words):
        assert all(part.isidentifier() for part in example.name.split("."))
        assert isinstance(literals.read(example.args), tuple)
        assert isinstance(literals.read(example.kwargs), dict)
        literals.read(example.expect)
        assert "\n" not in example.text


LETTERS = st.text("ab 'é\n", max_size=5)
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 999) | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(LETTERS, inner, max_size=2),
    max_leaves=4,
)


@given(st.lists(LITERALS, min_size=1, max_size=3))
def test_any_literal_is_read_as_it_is_written(values: list[object]) -> None:
    words = f"Write it; f({', '.join(map(repr, values[1:]))}) == {values[0]!r}"
    (example,) = read_examples(words)
    assert literals.read(example.args) == tuple(values[1:])
    assert literals.read(example.expect) == values[0]
