"""Keeps secrets and control characters out of everything that is logged, prompted or shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MASK = "***"
MAX_LINE = 2000
_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[baprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35}|glpat-[A-Za-z0-9_-]{20,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
)
_HARMLESS = {"\t", "\n"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class Masker:
    """Replaces known secrets, and texts that have the shape of one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({s for s in secrets if len(s) >= 6}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        masked = self._known.sub(MASK, text) if self._known else text
        return _SHAPES.sub(MASK, masked)


def printable(raw: bytes | str, *, max_chars: int = 200_000) -> str:
    """Untrusted output as text that is safe in a log or a terminal; HTML is escaped where it is shown.

    Control, format and unassigned characters become visible escapes; long lines and long texts are cut, and say so.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    cut = text[:max_chars].replace("\r\n", "\n")
    lines = [_line(line) for line in cut.split("\n")]
    return "\n".join(lines) + ("\n… (cut)" if len(text) > max_chars else "")


def _line(line: str) -> str:
    body = line if line.isascii() and line.isprintable() else "".join(_visible(c) for c in line[:MAX_LINE])
    return body if len(line) <= MAX_LINE else body[:MAX_LINE] + " … (line cut)"


def _visible(char: str) -> str:
    if char in _HARMLESS or unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:x}}}"
