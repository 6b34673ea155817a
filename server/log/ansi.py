r"""Colours of terminals as (class, text) pairs, so that a page can show them without trusting a byte of them.

What programs print is stored printable: an escape character stands there as the four visible characters `\x1b`. Of
all that a terminal obeys, only SGR (ECMA-48, 8.3.117: colours and weights) is taken out of the text and becomes the
names of classes, from a vocabulary that is written down here. Everything else (titles, cursor moves, links, bells)
stays in the text as the visible characters that it is. Text cannot be hidden: concealed and blinking count for
nothing, and a text with a background gives up its own colour, because the two could be the same.

A program that prints the words `\x1b[1m` without an escape character cannot be told from one that prints bold; the
message itself, which is always sent along, has both as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from core.masking import printable

Run = tuple[str, str]
"""Names of classes, parted by blanks (none: an empty text), and the text that they are for."""

RESET = "\x1b[0m"
_SGR = re.compile(r"(?:(?:\x1b|\\x1b)\[|\x9b|\\x9b)([0-9;:]{0,80})m")
_HINT = re.compile(r"\x1b|\x9b|\\x[19]b")
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_PALETTE = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
)  # fmt: skip
"""The sixteen colours as xterm shows them (its XTerm-col.ad); any other colour becomes the nearest of them."""
_STEPS = (0, 95, 135, 175, 215, 255)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pen:
    """How the next characters look; colours are numbers of the palette."""

    fg: int | None = None
    bg: int | None = None
    flags: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        colour = f"a-bg{self.bg}" if self.bg is not None else f"a-fg{self.fg}" if self.fg is not None else ""
        names = [f"a-{flag}" for flag in _FLAGS.values() if flag in self.flags]
        return " ".join(filter(None, [colour, *names]))


def has_colours(text: str) -> bool:
    """Tell whether there is anything to take out."""
    return _HINT.search(text) is not None and _SGR.search(text) is not None


def runs(text: str) -> list[Run]:
    """The text in runs of one look, printable. Their texts make `plain(text)`."""
    found, pen, seen = list[Run](), _Pen(), 0
    for match in _SGR.finditer(text):
        _add(found, pen.classes, text[seen : match.start()])
        pen, seen = _after(pen, match[1]), match.end()
    _add(found, pen.classes, text[seen:])
    return found


def plain(text: str) -> str:
    """The text without its colours, printable."""
    return "".join(part for _, part in runs(text))


def terminal(text: str) -> str:
    """The text for a terminal: colours of ours, each ended on its line, and no other control character."""
    return "".join(_painted(classes, part) for classes, part in runs(text))


def _add(found: list[Run], classes: str, text: str) -> None:
    shown = printable(text, max_chars=len(text), max_line=len(text)) if text else ""
    if found and found[-1][0] == classes:
        found[-1] = (classes, found[-1][1] + shown)
    elif shown:
        found.append((classes, shown))


def _after(pen: _Pen, parameters: str) -> _Pen:
    """The pen after one sequence; what is not known changes nothing."""
    codes = iter(parameters.split(";"))
    for code in codes:
        head, *rest = code.split(":")
        number = _number(head)
        if number in {38, 48}:
            pen = _coloured(pen, number, _colour(rest) if rest else _colour_of_codes(codes))
        elif number == 4 and rest == ["0"]:
            pen = _changed(pen, 24)
        else:
            pen = _changed(pen, number)
    return pen


def _changed(pen: _Pen, code: int) -> _Pen:
    if code == 0:
        return _Pen()
    if code in _FLAGS:
        return replace(pen, flags=pen.flags | {_FLAGS[code]})
    if code in _OFF:
        return replace(pen, flags=pen.flags.difference(_OFF[code]))
    tens, colour = divmod(code, 10)
    if tens in {3, 9, 4, 10} and colour < 8:
        return _coloured(pen, 38 if tens in {3, 9} else 48, colour + (8 if tens in {9, 10} else 0))
    if code in {39, 49}:
        return replace(pen, fg=None) if code == 39 else replace(pen, bg=None)
    return pen


def _coloured(pen: _Pen, which: int, colour: int | None) -> _Pen:
    if colour is None:
        return pen
    return replace(pen, fg=colour) if which == 38 else replace(pen, bg=colour)


def _colour_of_codes(codes: Iterator[str]) -> int | None:
    """The colour that `38;5;n` or `38;2;r;g;b` names; takes its parts from the codes."""
    kind = next(codes, "")
    return _colour([kind, *islice(codes, {"5": 1, "2": 3}.get(kind, 0))])


def _colour(parts: Sequence[str]) -> int | None:
    """The colour of `5:n`, `2:r:g:b` or `2:space:r:g:b`, as the nearest of the sixteen; None for anything else."""
    numbers = [_number(part) for part in parts[1:]]
    if any(number > 255 for number in numbers):
        return None
    if parts[0] == "5" and len(numbers) == 1:
        return _of_256(numbers[0])
    if parts[0] == "2" and len(numbers) >= 3:
        red, green, blue = numbers[1:4] if len(numbers) > 3 else numbers
        return _nearest(red, green, blue)
    return None


def _of_256(index: int) -> int:
    if index < 16:
        return index
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return _nearest(grey, grey, grey)
    cube = index - 16
    return _nearest(_STEPS[cube // 36], _STEPS[cube // 6 % 6], _STEPS[cube % 6])


def _nearest(red: int, green: int, blue: int) -> int:
    def distance(number: int) -> int:
        r, g, b = _PALETTE[number]
        return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2

    return min(range(16), key=distance)


def _number(text: str) -> int:
    """A parameter; one that is left out is 0, as the standard has it."""
    return int(text) if text else 0


def _painted(classes: str, text: str) -> str:
    if not classes:
        return text
    start = f"\x1b[{';'.join(map(_code, classes.split()))}m"
    return "\n".join(f"{start}{line}{RESET}" if line else "" for line in text.split("\n"))


def _code(name: str) -> str:
    what = name.removeprefix("a-")
    for number, flag in _FLAGS.items():
        if flag == what:
            return str(number)
    number = int(what[2:])
    base = 30 if what.startswith("fg") else 40
    return str(base + number if number < 8 else base + 52 + number)
