"""The tools that change files make exactly the requested change, or no change at all."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.agent.draft import Draft
from nightshift.agent.tools import arguments, writing
from nightshift.core.errors import BadReply
from nightshift.core.tasks.submission import parse_spec
from tests.support.trees import TextTree

TEXT = "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"
FILES = {"a.py": TEXT, "tests/test_a.py": "def test():\n    assert True\n", "notes.txt": "one two one\n"}


def draft() -> Draft:
    return Draft(TextTree(FILES), {}, parse_spec({"description": "Change a.py"}))


def edit(to: Draft, **asked: Any) -> str:
    return writing.edit(to, arguments.Edit(**asked))


def write(to: Draft, **asked: Any) -> str:
    return writing.write_file(to, arguments.WriteFile(**asked))


def test_an_edit_replaces_the_one_place_and_shows_it() -> None:
    file_draft = draft()
    assert edit(file_draft, path="a.py", old="def g(x):\n    return x", new="def g(x):\n    return -x") == (
        "Edited a.py.\n    5  def g(x):\n    6      return -x\n    7  "
    )
    assert file_draft.change == {"a.py": TEXT[: TEXT.rindex("x")] + "-x\n"}


def test_an_ambiguous_edit_names_the_lines_and_all_means_all() -> None:
    file_draft = draft()
    with pytest.raises(BadReply, match=r"old stands 2 times \(lines 2, 6\); quote more"):
        edit(file_draft, path="a.py", old="    return x\n", new="    return 2\n")
    assert file_draft.change == {}
    edit(file_draft, path="a.py", old="return x", new="return 2", all=True)
    assert file_draft.change["a.py"] == TEXT.replace("return x", "return 2")


@pytest.mark.parametrize(("old", "new"), [("def f(x):\n", "def f(x):\n    x = x or 0\n"), ("def g(x)", "def h(x)")])
def test_an_edit_that_was_made_changes_nothing_when_it_comes_again(old: str, new: str) -> None:
    file_draft = draft()
    edit(file_draft, path="a.py", old=old, new=new)
    change = dict(file_draft.change)
    assert "holds this already" in edit(file_draft, path="a.py", old=old, new=new)
    assert file_draft.change == change


def test_an_edit_that_breaks_the_syntax_is_refused_and_changes_nothing() -> None:
    file_draft = draft()
    with pytest.raises(BadReply, match=r"nothing was changed.\nSyntaxError"):
        edit(file_draft, path="a.py", old="def g(x):", new="def g(x:")
    assert file_draft.change == {}


def test_a_file_is_written_rewritten_and_removed() -> None:
    file_draft = draft()
    assert write(file_draft, path="pkg/b.py", content="x = 1\n") == "Wrote pkg/b.py (1 line)."
    assert write(file_draft, path="pkg/b.py", content="x = 1\ny = 2") == "Rewrote pkg/b.py (2 lines)."
    assert write(file_draft, path="notes.txt", content=None) == "Removed notes.txt."
    assert file_draft.change == {"notes.txt": None, "pkg/b.py": "x = 1\ny = 2\n"}, "the last line ends as before"
    assert file_draft.taken == ["pkg/b.py", "notes.txt"]


@pytest.mark.parametrize("path", ["tests/test_new.py", "conftest.py", "AGENTS.md"])
def test_what_is_protected_stays_and_the_refusal_is_remembered(path: str) -> None:
    file_draft = draft()
    with pytest.raises(BadReply, match=path):
        write(file_draft, path=path, content="x = 1\n")
    assert (file_draft.change, list(file_draft.refused)) == ({}, [path])


def test_a_change_of_an_existing_test_is_a_proposal_beside_the_change() -> None:
    file_draft = draft()
    write(file_draft, path="tests/test_a.py", content="def test():\n    assert 1 + 1 == 2\n")
    assert (dict(file_draft.sources), list(file_draft.test_changes)) == ({}, ["tests/test_a.py"])
    with pytest.raises(BadReply, match=r"tests/test_a\.py is a test"):
        write(file_draft, path="tests/test_a.py", delete=True)
