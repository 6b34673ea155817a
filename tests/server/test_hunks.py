"""Differences as hunks transform the old text into the new one, and mark the changed words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.server.diffs.hunks import MOST_CHARS, MOST_LINES, Difference, difference
from tests.support import tiers

LINES = st.lists(st.sampled_from(["", "a", "b", "def f():", "    return x", "x = 1  # 'y'", "é"]), max_size=30)


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def apply_hunks(before: list[str], diff: Difference) -> list[str]:
    """Build the new lines from the old lines and the hunks alone."""
    lines, at = list[str](), 0
    for hunk in diff.hunks:
        lines += before[at : hunk.old - 1]
        at = hunk.old - 1
        for line in hunk.lines:
            line_text = "".join(part for _, part in line.parts)
            if line.kind != "added":
                assert (before[at], line.old) == (line_text, at + 1)
                at += 1
            if line.kind != "gone":
                lines.append(line_text)
                assert line.new == len(lines)
    return lines + before[at:]


@settings(max_examples=tiers.examples(150))
@given(before=LINES, after=LINES, path=st.sampled_from(["a.py", "a.txt"]))
def test_hunks_lead_from_one_text_to_the_other(before: list[str], after: list[str], path: str) -> None:
    diff = difference(text(before), text(after), path)
    assert apply_hunks(before, diff) == after
    assert len(after) - len(before) == diff.added - diff.removed
    assert bool(diff.hunks) == (before != after)


def test_the_words_that_changed_inside_of_a_line_are_marked() -> None:
    diff = difference("def total(x):\n    return x >= 1\n", "def total(x):\n    return x > 1\n", "a.py")
    same, gone, added = diff.hunks[0].lines
    assert (same.kind, gone.kind, added.kind) == ("same", "gone", "added")
    assert [part for kind, part in gone.parts if "w" in kind.split()] == ["="]
    assert [part for kind, part in added.parts if "w" in kind.split()] == []
    assert ("k", "return ") in gone.parts


def test_far_changes_are_hunks_of_their_own_with_three_lines_around() -> None:
    before = [f"line {number}" for number in range(100)]
    after = ["new", *before[:-1], "other"]
    first, second = difference(text(before), text(after), "").hunks
    assert [line.kind for line in first.lines] == ["added", "same", "same", "same"]
    assert (second.old, second.new, len(second.lines)) == (97, 98, 5)


def test_what_is_too_long_is_told_and_not_compared() -> None:
    long = difference("a", "b" * (MOST_CHARS + 1), "a.py")
    many = difference(text(["a"] * (MOST_LINES + 1)), text(["b"]), "a.py")
    assert (long.hunks, many.hunks) == ((), ())
    assert "too long to be shown" in long.note
    assert f"{MOST_LINES + 1:,} lines before" in many.note


def test_a_long_file_of_which_little_changed_is_compared() -> None:
    before = [f"{number}" for number in range(3 * MOST_LINES)]
    after = [*before[:-5], "changed", *before[-4:]]
    diff = difference(text(before), text(after), "a.txt")
    assert (diff.added, diff.removed, len(diff.hunks)) == (1, 1, 1)
