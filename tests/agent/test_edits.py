"""SEARCH/REPLACE edits: applied if they match once, otherwise refused with the nearest real lines."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nightshift.agent.replies import Edit, Refused, apply_edit, is_applied

TEXT = """import os


def area(r):
    return 3 * r * r


class Circle:
    def area(self):

        return area(self.r)
"""


def edit(search: str, replace: str) -> Edit:
    return Edit(path="m.py", search=search, replace=replace)


def test_a_uniform_shift_of_the_indentation_is_carried_over() -> None:
    done = apply_edit(TEXT, edit("def area(self):\n\n    return area(self.r)\n", "def area(self):\n    return 1\n\n"))
    assert "class Circle:\n    def area(self):\n        return 1\n\n" in done
    done = apply_edit("a = 1\nb = 2\n", edit("    a = 1\n    b = 2\n", "    a = 3\n    b = 4\n"))
    assert done == "a = 3\nb = 4\n"


def test_blank_lines_are_disregarded_when_nothing_closer_fits() -> None:
    done = apply_edit(
        TEXT, edit("\n    def area(self):\n        return area(self.r)\n\n", "    def area(self):\n        return 1\n")
    )
    assert done.endswith("class Circle:\n    def area(self):\n        return 1\n")


def test_a_text_that_is_not_there_is_refused_with_the_nearest_real_lines() -> None:
    with pytest.raises(Refused) as refused:
        apply_edit(TEXT, edit("def area(r):\n    return 3.14 * r * r\n", "x\n"))
    assert "    4  def area(r):\n" in str(refused.value)
    assert "    5      return 3 * r * r" in str(refused.value)
    with pytest.raises(Refused) as refused:
        apply_edit(TEXT, edit("    return 3.1 * r * r\n", "x\n"))
    assert "return 3 * r * r" in str(refused.value)
    with pytest.raises(Refused, match="nothing there is like it"):
        apply_edit(TEXT, edit("zzzzzz\n", "x\n"))


def test_an_edit_that_changes_nothing_or_quotes_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="changes nothing"):
        apply_edit(TEXT, edit("import os\n", "import os\n"))
    with pytest.raises(Refused, match="is empty"):
        apply_edit(TEXT, edit("\n", "x\n"))
    assert apply_edit("", edit("", "x = 1\n")) == "x = 1\n"


LINES = st.lists(st.sampled_from(["a", "b", "  a", "", "    c", "d"]), max_size=12)


@settings(deadline=None)
@given(LINES, LINES, LINES, LINES)
def test_an_edit_replaces_exactly_the_one_place_or_is_refused(
    above: list[str], old: list[str], below: list[str], new: list[str]
) -> None:
    def text(lines: list[str]) -> str:
        return "".join(line + "\n" for line in lines)

    assume(any(old))
    assume(old != new)
    file_text = text([*above, *old, *below])
    try:
        done = apply_edit(file_text, edit(text(old), text(new)))
    except Refused as refused:
        done = str(refused)
    assert "stands at several places" in done or done == text([*above, *new, *below])


@pytest.mark.parametrize("search", ["a\n" * 3000, "    a\n" * 500 + "c\n"])
def test_large_repetitive_files_are_searched_to_their_end(search: str) -> None:
    with pytest.raises(Refused):
        apply_edit("a\n" * 60_000, edit(search, "x\n"))


# The same edit sent more than once.


GUARD = "    if r < 0:\n        raise ValueError(r)\n"


@pytest.mark.parametrize(
    ("search", "replace"),
    [
        ("def area(r):\n", "def area(r):\n" + GUARD), ("    return 3 * r * r\n", GUARD + "    return 3 * r * r\n"),
        ("    return 3 * r * r\n", "    return 4 * r * r\n"), ("import os\n\n\ndef area(r):\n", "def area(r):\n"),
    ],
)  # fmt: skip
def test_an_edit_that_was_made_is_known_when_it_comes_again(search: str, replace: str) -> None:
    again = edit(search, replace)
    assert not is_applied(TEXT, TEXT, again)
    assert is_applied(apply_edit(TEXT, again), TEXT, again)


def test_what_stood_there_before_any_edit_was_not_made_by_one() -> None:
    row = edit("]\n", "    0,\n]\n")
    rows = "x = [\n    0,\n]\n"
    assert not is_applied(rows, rows, row)
    assert apply_edit(rows, row) == "x = [\n    0,\n    0,\n]\n"
    assert not is_applied(TEXT.replace("3", "4"), TEXT, edit("import os\n", ""))
    assert not is_applied("a\nG\n\na\n", "a\n\na\n", edit("a\n", "a\nG\n"))
