from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.text.encoding import decode, encode
from nightshift.sandbox.source import Edit, Source


def test_nodes_are_found_behind_wide_characters_and_odd_line_ends() -> None:
    source = Source("é = 'ü'\r\nassert é == 'ü', 'ö'\r\n")
    statement = source.tree.body[1]
    assert isinstance(statement, ast.Assert)
    assert source.segment(statement.test) == "é == 'ü'"
    assert source.edit([source.replace(statement.test, "False")]) == "é = 'ü'\nassert False, 'ö'\n"


def test_the_first_of_two_edits_that_overlap_counts() -> None:
    source = Source("a = 1 + 2\n")
    assert source.edit([Edit(4, 5, "7"), Edit(4, 9, "0"), Edit(8, 9, "8"), Edit(4, 5, "7")]) == "a = 7 + 8\n"


@pytest.mark.parametrize("text", ["async def test_a(x):\n    pass", "@deco\ndef test_a():\n    pass"])
def test_a_functions_name_is_found(text: str) -> None:
    source = Source(text)
    node = source.tree.body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    span = source.name_of(node)
    assert span is not None
    assert source.slice(*span) == "test_a"


@pytest.mark.parametrize("text", ["def broken(:", "x = '\x00'", "(" * 500])
def test_what_is_no_python_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        Source(text)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="'\\\r\n\x00"), max_size=8), min_size=1, max_size=6
    )
)
def test_replacing_every_literal_leaves_the_rest_as_it_was(texts: list[str]) -> None:
    source = Source("\n".join(f"x{n} = '{text}'  # {n}" for n, text in enumerate(texts)))
    values = [node.value for node in source.tree.body if isinstance(node, ast.Assign)]
    edited = source.edit([source.replace(value, str(n)) for n, value in enumerate(values)])
    assert edited == "\n".join(f"x{n} = {n}  # {n}" for n in range(len(texts)))


def test_a_file_in_another_encoding_is_edited_at_the_right_places_and_keeps_its_bytes() -> None:
    source = Source(decode(b"# -*- coding: latin-1 -*-\nx = 'caf\xe9'; assert x == 'caf\xe9', 1\n"))
    statement = source.tree.body[1]
    assert isinstance(statement, ast.Assert)
    assert not source.is_utf8
    assert source.segment(statement.test) == "x == 'caf\xe9'"
    edited = source.edit([source.replace(statement.test, "x == 'th\xe9 \u2603'")])
    assert encode(edited) == b"# -*- coding: latin-1 -*-\nx = 'caf\xe9'; assert x == 'th\xe9 \\u2603', 1\n"


def test_what_is_no_text_of_its_encoding_is_no_python() -> None:
    for raw in (b"x = '\xe9'\n", b"# coding: rot13\nx = 1\n", b"# coding: of-nobody\nx = 1\n"):
        with pytest.raises(SyntaxError):
            Source(decode(raw))
