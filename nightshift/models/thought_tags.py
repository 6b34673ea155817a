"""Removes thoughts that a model writes into its text between tags, for all known tags.

Since files may contain such tags, a tag counts only at the beginning of the text, or at the beginning of a line outside
fenced blocks. Chat templates often write the opening tag themselves, so the text before a lone end tag counts as
thoughts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nightshift.core.dialogue import Completion, Thought
from nightshift.models.model_table import PHRASES, TABLE

_OPENING, _CLOSING = (
    re.compile("|".join(f"(?P<{kind}>{tags[end]})" for kind, tags in TABLE["thoughts"].items()), re.IGNORECASE)
    for end in (0, 1)
)
_HARMONY_REST = re.compile(r"\s*<\|(?:end|return)\|>\s*\Z")
_FINAL = re.compile(r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>final(?:[^<\n]*(?:<\|constrain\|>\w*)?<\|message\|>)?")
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_ALWAYS_OPENED = frozenset({"details", "gemma", "harmony"})
_END_TOKEN = re.compile(
    r"(^[ \t]*(?:`{3,}|~{3,}))(?:<[|｜][^<>\n]{1,40}[|｜]>|</s>|<eos>|<end_of_turn>|\[/INST\])+\s*\Z", re.MULTILINE
)
"""Matches tokens of the chat format that some servers leave behind the last fence of a reply."""
_QUOTES = frozenset("`'\"“‘")


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the thoughts in a text, and the text without them. Thoughts without an end tag last until the end."""
    thoughts, visible, rest = list[str](), list[str](), text
    while opening := _opening(rest):
        before, inside = rest[: opening.start()], rest[opening.end() :]
        end = _end_of(inside, opening)
        thoughts.append(inside if end is None else inside[: end[0]])
        visible.append(before if before.strip() else "")
        rest = "" if end is None else PHRASES["answer"].sub("", inside[end[1] :])
        if opening["harmony"]:
            rest = _HARMONY_REST.sub("", rest)
    if not thoughts and (end := _lone_end(rest)):
        thoughts, rest = [rest[: end[0]]], rest[end[1] :]
    if final := _FINAL.match(rest):
        rest = _HARMONY_REST.sub("", rest[final.end() :])
    shown = "".join([*visible, rest])
    return "\n\n".join(filter(str.strip, thoughts)), shown.lstrip("\n") if thoughts else shown


def _opening(text: str) -> re.Match[str] | None:
    """Find the first tag that opens thoughts: at the beginning of the text, or of a line outside fenced blocks."""
    fences = list(_blocks(text))
    for tag in _OPENING.finditer(text):
        line = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
        if not line.strip() and not any(start < tag.start() < end for start, end in fences):
            return tag
    return None


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each fenced block of a text; an unclosed block ends with the text."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]) and not fence[2].strip():
            yield opened.start(), fence.end()
            opened = None
    if opened is not None:
        yield opened.start(), len(text)


def _end_of(inside: str, opening: re.Match[str]) -> tuple[int, int] | None:
    """Return the start and end of the tag that closes an opening tag. `inside` is the text after the opening tag."""
    ends = [tag for tag in _CLOSING.finditer(inside) if tag.lastgroup == opening.lastgroup]
    best = _outside_of_files(inside, ends) or next(iter(ends), None)
    return best.span() if best else None


def _lone_end(text: str) -> tuple[int, int] | None:
    """Return the start and end of an end tag whose opening tag the chat template wrote, or None."""
    tag = _outside_of_files(text, [tag for tag in _CLOSING.finditer(text) if tag.lastgroup not in _ALWAYS_OPENED])
    return tag.span() if tag else None


def _outside_of_files(text: str, ends: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """Return the first end tag that is neither quoted nor in a file (a block that the next fence closes)."""
    blocks = list(_blocks(text))
    for tag in ends:
        in_block = any(start < tag.start() < end for start, end in blocks)
        after = _FENCE.search(text, tag.end())
        is_quoted = text[max(0, tag.start() - 1) : tag.start()] in _QUOTES
        if not is_quoted and (not in_block or (after is not None and after[2].strip())):
            return tag
    return None


def without_thoughts(completion: Completion) -> Completion:
    """Move thoughts from a reply's text to its field `thoughts`."""
    thoughts, text = split_thoughts(_END_TOKEN.sub(r"\1", completion.text))
    if text == completion.text:
        return completion
    written = (Thought(text=thoughts),) if thoughts else ()
    return replace(completion, text=text, thoughts=(*written, *completion.thoughts))
