"""The form in which a file stores its text: encoding, byte order mark, line ends, and newline at the end.

Models see `readable` texts without these details, and their new texts are converted to the form of the file. All other
code uses texts as `core.text.encoding` returns them.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from nightshift.core.text.encoding import decode, encode, is_utf8

_UTF8 = "utf-8"
_MARKS = ((codecs.BOM_UTF8, _UTF8), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    r"""[ \t\f]*(?:\#|//|/\*|--|;|%|"|<[?!]|@charset).*?(?:coding[:=]|charset)[ \t]*["']?([-\w.]+)""", re.ASCII
)
"""Pattern of an encoding declaration: a comment in the first two lines (PEP 263 and similar rules of other languages).
"""
_ASCII = "".join(map(chr, range(128)))
_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class FileForm:
    """The form of one file: its byte order mark, and the encoding of the remaining bytes."""

    encoding: str = _UTF8
    mark: bytes = b""


def readable(text: str) -> str | None:
    """Return a file's text as people read it; None if the file is binary.

    If all lines end with CRLF, each gets a plain newline instead; mixed line ends are unchanged.
    """
    if text.isascii() and "\r" not in text and "\0" not in text:
        return text
    form = form_of(text)
    return None if form is None else _unify_newlines(_body(text, form))


def write_like(text: str, before: str | None) -> str:
    """Convert a model's text to the form of the file that it replaces; `before` is None for a new file.

    If the text itself declares an encoding, that encoding is used. The presence or absence of a final newline is kept,
    unless it is the only difference.

    Raises:
        UnicodeEncodeError: The file's encoding lacks a character; the message names the encoding and the character.
    """
    if not is_utf8(text):  # Models write only valid UTF-8, so a program wrote the file
        return text
    old, form = before or "", (form_of(before) if before else None) or FileForm()
    was = _body(old, form)
    if was and not was.startswith("\ufeff"):
        text = text.removeprefix("\ufeff")
    if was and ("\r" not in was or _unify_newlines(was) != was):
        text = text.replace("\r\n", "\n")
    old_body, ended = _unify_newlines(was).removesuffix("\n"), text.removesuffix("\n")
    if old_body and ended and old_body != ended:
        text = ended + "\n" * was.endswith("\n")
    if _unify_newlines(was) != was:
        text = text.replace("\n", "\r\n")
    named = _read_declared(text)
    encoding = form.encoding if form.mark or named == _read_declared(old) else named or _UTF8
    try:
        return decode(form.mark + text.encode(encoding))
    except UnicodeEncodeError as error:  # Python's error calls a dozen encodings "charmap"
        raise UnicodeEncodeError(encoding, *error.args[1:]) from None


def form_of(text: str) -> FileForm | None:
    """Detect the form of a file's text; None if it is binary."""
    raw = encode(text)
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return FileForm(encoding, mark) if _is_exact(raw[len(mark) :], encoding) else None
    if "\0" in text:
        return None
    named = _read_declared(text)
    if is_utf8(text) or (named and _is_exact(raw, named)):
        return FileForm(named if named and _is_exact(raw, named) else _UTF8)
    fitting = (each for each in ("cp1252", "latin-1") if _is_exact(raw, each))
    return None if _CONTROLS.search(text) else FileForm(next(fitting))


def _body(text: str, form: FileForm) -> str:
    return encode(text)[len(form.mark) :].decode(form.encoding)


def _unify_newlines(text: str) -> str:
    return text.replace("\r\n", "\n") if text.count("\n") == text.count("\r\n") == text.count("\r") else text


def _read_declared(text: str) -> str:
    """Return the encoding that a text declares; empty if it declares none, or one that is not a superset of ASCII."""
    for line in text[:1000].split("\n", 2)[:2]:
        if match := _DECLARED.match(line):
            try:
                return codecs.lookup(match[1]).name if _ASCII.encode(match[1]) == _ASCII.encode() else ""
            except (LookupError, ValueError):
                return ""
    return ""


def _is_exact(raw: bytes, encoding: str) -> bool:
    """Return True if decoding and encoding restores exactly these bytes."""
    try:
        return raw.decode(encoding).encode(encoding) == raw
    except (LookupError, ValueError):
        return False
