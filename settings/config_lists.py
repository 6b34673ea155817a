"""Changes entries of a list in the text of `config.yaml`; those that stay keep their lines, and comments theirs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import yaml

from settings.yaml_words import end_of, inline, line_end, line_start, with_lines


def relisted(text: str, node: yaml.Node, old: Sequence[Any], new: Sequence[Any]) -> str:
    """The text with other entries in a list that has a line or more for each.

    Args:
        text: the document.
        node: the list in it.
        old: what it says.
        new: what it shall say.
    """
    column = node.start_mark.column
    starts = _dashes(text, node)
    ends = [line_end(text, end_of(item, text)) for item in node.value]
    matcher = SequenceMatcher(a=[json.dumps(v, default=str) for v in old], b=[json.dumps(v) for v in new])
    for what, i1, i2, j1, j2 in reversed(matcher.get_opcodes()):
        if what == "equal":
            continue
        if i2 - i1 == j2 - j1:  # in place, so that a comment behind it stays
            for item, value in zip(reversed(node.value[i1:i2]), reversed(new[j1:j2]), strict=True):
                text = text[: item.start_mark.index] + inline(value) + text[end_of(item, text) :]
            continue
        text = with_lines(text, starts[i2] if i2 < len(starts) else ends[-1], _lines(new[j1:j2], column))
        for place in reversed(range(i1, i2)):
            text = text[: starts[place]] + text[ends[place] :]
    return text


def _lines(values: Sequence[Any], column: int) -> list[str]:
    return [f"{' ' * column}- {inline(value)}" for value in values]


def _dashes(text: str, node: yaml.Node) -> list[int]:
    """Where the line of each entry begins: the last one up to it that has a dash in the list's column."""
    found: list[int] = []
    for item in node.value:
        at = line_start(text, item.start_mark.index)
        while at and text[at + node.start_mark.column : at + node.start_mark.column + 1] != "-":
            at = line_start(text, at - 1)
        found.append(at)
    return found
