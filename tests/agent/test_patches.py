"""A patch shown in pieces: every line is in exactly one piece and keeps its line number."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.patches import pieces
from nightshift.core.code.tree import FileTree
from nightshift.core.tasks.submission import parse_spec

SPEC = parse_spec({"description": "Change the files"})
LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "", "    return a", "def f():"]), max_size=60)


def number(text: str) -> dict[int, str]:
    return {int(n): line for n, line in re.findall(r"^ *(\d+) [ +] (.*)$", text, re.MULTILINE)}


@given(before=LINES, after=LINES, budget=st.sampled_from([50, 300, 5000]))
def test_each_new_line_stands_in_a_piece_under_its_number(before: list[str], after: list[str], budget: int) -> None:
    tree = FileTree({"m.py": "\n".join(before)})
    file_pieces = pieces(tree, SPEC, {"m.py": "\n".join(after)}, budget)
    shown = {n: line for piece in file_pieces for n, line in number(piece).items()}
    assert all(after[n - 1] == line for n, line in shown.items() if n <= len(after))
    if "\n".join(before) != "\n".join(after):
        removed = [line for piece in file_pieces for line in re.findall(r"^      - (.*)$", piece, re.MULTILINE)]
        added = {n for piece in file_pieces for n in map(int, re.findall(r"^ *(\d+) \+ ", piece, re.MULTILINE))}
        assert len("\n".join(before).split("\n")) - len(removed) == len("\n".join(after).split("\n")) - len(added)
