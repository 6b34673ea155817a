"""Finds the beginning and end of blocks in a reply.

CommonMark's rule (a block ends at the next bare fence of at least its own length) is right for replies that follow the
instructions. Some models forget to lengthen a fence around docstrings and Markdown files that contain ``` lines; then
the rule would cut the file in two. Therefore, if the first possible end leaves text that is incomplete in its language
(Python or JSON, for example), the block extends to the first possible end that leaves complete text. A fence that names
another file is never included in a block. A Markdown file whose end is unclear is marked ambiguous instead of guessed.

The total length of texts whose completeness is checked is limited for each reply, so the time stays linear in the
reply's length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from nightshift.agent.replies import completeness, names
from nightshift.agent.replies.edits import is_end, is_search

_WRAPPERS = frozenset({"", "markdown", "md", "text", "txt", "plaintext"})
_SECOND_LOOK_CHARS = 1_000_000
_MAX_ENDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A line that could open or close a block."""

    mark: str
    length: int
    indent: int
    info: str

    def closes(self, opener: Fence) -> bool:
        """Check whether this line may end a block according to CommonMark."""
        fits = self.mark == opener.mark and self.length >= opener.length
        return fits and not self.info and self.indent <= opener.indent + 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block, or SEARCH/REPLACE sections outside any fence.

    Each line of `text` ends with a newline. `label` is the last non-blank line above the block, at most four lines up.
    `line` counts from 1.
    """

    info: str
    label: str
    text: str
    line: int
    closed: bool = True
    ambiguous: bool = False
    edits: bool = False

    @property
    def name(self) -> names.Name | None:
        """The name from the fence or the line above it; the reader may also use the text's first comment."""
        return names.from_info(self.info) or names.from_label(self.label)


def blocks(text: str) -> list[Block]:
    """Return all blocks of a reply, in order."""
    return list(_Scanner(text).run())


def _fence(line: str) -> Fence | None:
    body = line.strip(" \t\r")
    if not body.startswith(("```", "~~~")):
        return None
    rest = body.lstrip(body[0])
    info = rest.strip()
    if body[0] == "`" and "`" in info:
        return None
    indent = len(line) - len(line.lstrip(" \t"))
    return Fence(mark=body[0], length=len(body) - len(rest), indent=indent, info=info)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines = text.removesuffix("\n").split("\n")
        self.fences = {at: f for at, line in enumerate(self.lines) if (f := _fence(line))}
        self.order = list(self.fences)
        self.floor = 0
        self.wrappers = list[Fence]()
        self.second_look = _SECOND_LOOK_CHARS

    def run(self) -> Iterator[Block]:
        at, wrappers = 0, self.wrappers
        while at < len(self.lines):
            fence = self.fences.get(at)
            if fence is None and not is_search(self.lines[at]):
                at += 1
                continue
            if fence is None:
                block, at = self._loose(at)
                yield block
            elif wrappers and fence.closes(wrappers[-1]):
                wrappers.pop()
                at += 1
            elif self._wraps(at, fence):
                wrappers.append(fence)
                at += 1
            else:
                block, at = self._block(at, fence)
                yield block
            self.floor = at

    def _label(self, at: int, floor: int) -> str:
        above = (self.lines[n] for n in range(at - 1, max(floor, at - 4) - 1, -1))
        return next((line.strip() for line in above if line.strip()), "")

    def _after(self, at: int) -> Iterator[int]:
        """Yield the line numbers of the fences below a line."""
        for index in range(bisect_right(self.order, at), len(self.order)):
            yield self.order[index]

    def _wraps(self, at: int, fence: Fence) -> bool:
        """Check whether a fence only wraps the whole reply: it names no file, and the next fence inside does."""
        if fence.info.lower() not in _WRAPPERS or names.from_label(self._label(at, self.floor)):
            return False
        inner = next(self._after(at), None)
        if inner is None or not (info := self.fences[inner].info):
            return False
        return bool(names.from_info(info) or names.from_label(self._label(inner, at + 1)))

    def _loose(self, at: int) -> tuple[Block, int]:
        end = self._section_end(at)
        text = _text(self.lines[at:end], 0)
        return Block(info="", label=self._label(at, self.floor), text=text, line=at + 1, edits=True), end

    def _section_end(self, at: int) -> int:
        """Return the line after the SEARCH/REPLACE section that begins here; the reply's end if the section is open."""
        return next((n + 1 for n in range(at, len(self.lines)) if is_end(self.lines[n])), len(self.lines))

    def _block(self, at: int, fence: Fence) -> tuple[Block, int]:
        label = self._label(at, self.floor)
        if self._holds_edits(at):
            end, closed, ambiguous, edits = *self._end_of_edits(at, fence), False, True
        else:
            (end, closed, ambiguous), edits = self._end(at, fence, label), False
        text = _text(self.lines[at + 1 : end], fence.indent)
        block = Block(
            info=fence.info, label=label, text=text, line=at + 1, closed=closed, ambiguous=ambiguous, edits=edits
        )
        return block, end + closed

    def _holds_edits(self, at: int) -> bool:
        """Check whether a block begins with a SEARCH marker, perhaps below a line with the path."""
        head = [line for line in self.lines[at + 1 : at + 5] if line.strip()][:2]
        return bool(head) and (is_search(head[0]) or (len(head) > 1 and is_search(head[1])))

    def _end_of_edits(self, at: int, fence: Fence) -> tuple[int, bool]:
        n = at + 1
        while n < len(self.lines):
            if is_search(self.lines[n]):
                n = self._section_end(n)
            elif n in self.fences and self.fences[n].closes(fence):
                return n, True
            else:
                n += 1
        return len(self.lines), False

    def _end(self, at: int, fence: Fence, label: str) -> tuple[int, bool, bool]:
        """Return the end of a block, whether the block is closed, and whether its end is ambiguous.

        The end is the line of the closing fence. If there is none, it is the line of the fence that begins another file
        or closes the wrapper, or else the number of lines.
        """
        ends, nested, border = self._candidates(at, fence)
        if not ends:
            return border, False, False
        name = names.from_info(fence.info) or names.from_label(label)
        kind = completeness.kind_of(name.path if name else "", names.language_of(fence.info))
        if len(ends) == 1 or fence.length > 3:
            return ends[0], True, False
        if completeness.has_grammar(kind):
            return self._first_whole(at, fence, ends, kind) or nested or ends[0], True, False
        best = nested or ends[0]
        later = [end for end in ends if end > best]
        if self.wrappers and self.wrappers[-1].length == fence.length:
            later = later[:-1]  # The last fence closes the wrapper.
        # In prose, a bare fence after the best end may open another block, so the real end may be a later one.
        is_open = any(not self._closes_an_info(end) for end in later)
        return best, True, bool(name) and kind in completeness.PROSE and is_open

    def _candidates(self, at: int, fence: Fence) -> tuple[list[int], int | None, int]:
        """Return the bare fences that may end a block, the block's end if fences nest, and the limit of the search."""
        ends, nested, depth = list[int](), None, 0
        for n in self._after(at):
            inner = self.fences[n]
            if inner.mark != fence.mark or inner.length < fence.length:
                continue
            if self.wrappers and inner.length > fence.length and inner.closes(self.wrappers[-1]):
                return ends, nested, n
            if inner.closes(fence):
                ends.append(n)
                nested = n if nested is None and depth == 0 else nested
                depth = max(0, depth - 1)
            elif names.from_info(inner.info):
                return ends, nested, n
            elif inner.info:
                depth += 1
            if len(ends) == _MAX_ENDS:
                break
        return ends, nested, len(self.lines)

    def _first_whole(self, at: int, fence: Fence, ends: list[int], kind: str) -> int | None:
        for end in ends:
            text = _text(self.lines[at + 1 : end], fence.indent)
            self.second_look -= len(text)
            if self.second_look < 0:
                return None
            if completeness.is_complete(kind, text):
                return end
        return None

    def _closes_an_info(self, end: int) -> bool:
        before = self.order[bisect_right(self.order, end) - 2]
        return bool(self.fences[before].info)


def _text(lines: list[str], indent: int) -> str:
    if indent:
        lines = [line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    return "".join(line + "\n" for line in lines)
