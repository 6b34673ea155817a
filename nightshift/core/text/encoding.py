"""The only conversion between a file's bytes and its text: UTF-8, with a stand-in character for every other byte.

Every byte sequence can be restored exactly from its text. So a file in another encoding, or a binary file, is judged,
committed and reverted with its original bytes. A stand-in character is half of a surrogate pair (`surrogateescape`).
Texts from models contain no stand-ins, because the parser of replies rejects them.
"""

from __future__ import annotations


def decode(raw: bytes) -> str:
    """Return the text of a file's bytes; `encode` restores these bytes."""
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes of a file's text.

    A surrogate that stands for no byte cannot come from a file. It is written as three bytes, so that any text can be
    measured, staged and parsed. `is_encodable` detects a text with such a surrogate. Such a text is never committed.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(_bytes_of(char) for char in text)


def is_encodable(text: str) -> bool:
    """Return True if a text can be the text of a file."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def is_utf8(text: str) -> bool:
    """Return True if a file's text contains no bytes of another encoding."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def in_one_line(text: str) -> str:
    """Join the lines of a text with single spaces.

    Spaces within a line stay, as they matter in an example of an output.
    """
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def _bytes_of(char: str) -> bytes:
    try:
        return char.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return char.encode("utf-8", "surrogatepass")
