"""A tool call in a few words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tools import MAX_CHARS, brief


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("read_file", {"path": "src/a.py", "start": 201, "lines": 200}, "read_file src/a.py 201-400"),
        ("read_file", {"path": "src/a.py", "lines": 200}, "read_file src/a.py 1-200"),
        ("read_file", {"path": "src/a.py", "start": 7}, "read_file src/a.py 7-"),
        ("search", {"glob": "*.py", "page": 2, "path": "src", "pattern": "SQL"}, "search SQL src *.py 2"),
        ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2", "all": True}, "edit a.py"),
        ("write_file", {"path": "a.py", "content": None}, "write_file a.py (removed)"),
        ("run", {"command": "pytest -q \\\n  tests/test_a.py", "timeout": 60}, "run: pytest -q \\ tests/test_a.py"),
        ("ask", {"question": "Which port?", "default": "8080"}, "ask: Which port?"),
        ("run", {"command": {"a": 1}}, "run"),
    ],
)
def test_a_call_is_told_by_what_sets_it_apart(name: str, arguments: dict[str, object], text: str) -> None:
    assert brief(name, json.dumps(arguments)) == text


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5)


@given(
    st.sampled_from(["read_file", "search", "write_file", "run", "run_tests", "?"]),
    st.dictionaries(st.sampled_from(["path", "start", "lines", "command", "content", "old", "", "x"]), JSON),
)
def test_whatever_a_model_writes_it_is_one_short_line(name: str, arguments: dict[str, object]) -> None:
    text = brief(name, json.dumps(arguments))
    assert text.startswith(name)
    assert len(text) <= MAX_CHARS
    assert len(text.splitlines()) == 1
