"""The one way between a file's bytes and its text: UTF-8, and any other byte as a character that stands for it alone.

Every sequence of bytes comes back from its text exactly, so a file in another encoding, or in none, is judged,
committed and reverted with the bytes that git has. Such a character is half of a surrogate pair (`surrogateescape`).
The texts of models hold none: the reader of replies refuses them.
"""

from __future__ import annotations


def decode(raw: bytes) -> str:
    """The text of a file's bytes; `encode` gives these bytes again."""
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes of a file's text.

    Half of a surrogate pair that stands for no byte, which no file's text holds, is written as its three bytes, so
    that any text can be measured, staged and parsed. `is_encodable` tells of it; it is never committed.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(_bytes_of(char) for char in text)


def is_encodable(text: str) -> bool:
    """Tell whether a text can be that of a file."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def is_utf8(text: str) -> bool:
    """Tell whether a file's text holds no bytes of another encoding."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def in_one_line(text: str) -> str:
    """The lines of a text in one, each as it was written: two spaces in an example of an output stay two."""
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def _bytes_of(char: str) -> bytes:
    try:
        return char.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return char.encode("utf-8", "surrogatepass")
