"""Highlighted lines: the pieces of a line, joined together, give its text, whatever the text contains."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.server.diffs.marking import cut_at, lines_of
from tests.support import tiers


def read_words(lines: object) -> list[str]:
    return ["".join(part for _, part in line) for line in lines]  # type: ignore[attr-defined]


@settings(max_examples=tiers.examples(100), deadline=None)
@given(
    text=st.text(st.sampled_from("abdef \"'#\n\\{}()=:<>/*é0"), max_size=80),
    path=st.sampled_from(["a.py", "a.js", "a.json", "a.md", "a.html", "a.toml", "a"]),
)
def test_the_pieces_of_each_line_are_the_line(text: str, path: str) -> None:
    assert read_words(lines_of(text, path)) == text.split("\n")


def test_words_of_a_language_have_classes() -> None:
    (line,) = lines_of("return 'x' + str(12)  # why", "a.py")
    assert line == (
        ("k", "return "),
        ("s", "'x' "),
        ("", "+ "),
        ("b", "str"),
        ("", "("),
        ("m", "12"),
        ("", ")  "),
        ("c", "# why"),
    )


@given(marks=st.lists(st.integers(0, 12), max_size=6, unique=True))
def test_marks_cut_pieces_and_lose_nothing(marks: list[int]) -> None:
    edges = sorted(marks)
    ranges = list(zip(edges[::2], edges[1::2], strict=False))
    line = (("k", "return "), ("", "a"), ("s", "'bcd'"))
    cut = cut_at(line, ranges, "w")
    assert read_words([cut]) == ["return a'bcd'"]
    marked, at = set[int](), 0
    for kind, text in cut:
        marked |= set(range(at, at + len(text))) if kind.split()[-1:] == ["w"] else set()
        at += len(text)
    assert marked == {at for first, last in ranges for at in range(first, last)}
