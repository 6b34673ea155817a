r"""Colours of terminals as (class, text) pairs, so that a page can show them without trusting a byte of them.

What programs print is stored printable: an escape character stands there as the four visible characters `\x1b`. Of
all that a terminal obeys, only SGR (ECMA-48, 8.3.117: colours and weights) is taken out of the text and becomes the
names of classes, from a vocabulary that is written down here. Everything else (titles, cursor moves, links, bells)
stays in the text as the visible characters that it is. Text cannot be hidden: concealed and blinking count for
nothing, and a text with a background gives up its own colour, because the two could be the same.

Rich reads the sequences, and nothing but them: of a text it would drop what it does not know.

A program that prints the words `\x1b[1m` without an escape character cannot be told from one that prints bold; the
message itself, which is always sent along, has both as they are.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from nightshift.core.text.masking import printable

if TYPE_CHECKING:
    from rich.color import Color
    from rich.palette import Palette
    from rich.style import Style

Run = tuple[str, str]
"""Names of classes, parted by blanks (none: an empty text), and the text that they are for."""

RESET = "\x1b[0m"
_SGR = re.compile(r"(?:(?:\x1b|\\x1b)\[|\x9b|\\x9b)([0-9;:]{0,80})m")
_HINT = re.compile(r"\x1b|\x9b|\\x[19]b")
_COLON_COLOUR = re.compile(r"\b([34]8):(?:(5):(\d+)|(2):(?:\d*:(?=\d*:\d*:\d))?(\d*):(\d*):(\d*))[\d:]*")
_NO_CHANGE = "10"  # the default font, which Rich passes over
_FLAGS = {"bold": 1, "dim": 2, "italic": 3, "underline": 4, "inverse": 7, "strike": 9}
_PALETTE = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
)  # fmt: skip
"""The sixteen colours as xterm shows them (its XTerm-col.ad); any other colour becomes the nearest of them."""


def has_colours(text: str) -> bool:
    """Tell whether there is anything to take out."""
    return _HINT.search(text) is not None and _SGR.search(text) is not None


def runs(text: str) -> list[Run]:
    """The text in runs of one look, printable. Their texts make `plain(text)`."""
    from rich.ansi import AnsiDecoder  # noqa: PLC0415  # only a coloured text pays for it

    found, decoder, seen = list[Run](), AnsiDecoder(), 0
    for match in _SGR.finditer(text):
        _add(found, _classes(decoder.style), text[seen : match.start()])
        decoder.decode_line(f"\x1b[{_codes(match[1])}m")
        seen = match.end()
    _add(found, _classes(decoder.style), text[seen:])
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


def _codes(parameters: str) -> str:
    """The parameters as Rich reads them: parted by semicolons alone, and none beyond 255, which it would take for 255.

    Of `4:3` (a curly underline) the `4` is left, and `4:0` (none) becomes the 24 that means the same.
    """
    parted = _COLON_COLOUR.sub(lambda match: ";".join(part for part in match.groups() if part is not None), parameters)
    codes = ["24" if code == "4:0" else code.partition(":")[0] for code in parted.split(";")]
    return ";".join(codes) if all(int(code or 0) <= 255 for code in codes) else _NO_CHANGE


def _classes(style: Style) -> str:
    colour = _numbered("bg", style.bgcolor) or _numbered("fg", style.color)
    flags = {**{name: getattr(style, name, None) for name in _FLAGS}, "inverse": style.reverse}
    return " ".join(filter(None, [colour, *(f"a-{name}" for name, is_on in flags.items() if is_on)]))


def _numbered(layer: str, colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return ""
    number = colour.number if colour.number is not None and colour.number < 16 else None
    return f"a-{layer}{_palette().match(colour.get_truecolor()) if number is None else number}"


@functools.cache
def _palette() -> Palette:
    from rich.palette import Palette  # noqa: PLC0415  # only a coloured text pays for it

    return Palette(_PALETTE)


def _painted(classes: str, text: str) -> str:
    if not classes:
        return text
    start = f"\x1b[{';'.join(map(_code, classes.split()))}m"
    return "\n".join(f"{start}{line}{RESET}" if line else "" for line in text.split("\n"))


def _code(name: str) -> str:
    what = name.removeprefix("a-")
    if what in _FLAGS:
        return str(_FLAGS[what])
    number = int(what[2:])
    base = 30 if what.startswith("fg") else 40
    return str(base + number if number < 8 else base + 52 + number)
