"""Runs regular expressions from people and models with RE2, so that each search takes at most linear time."""

from __future__ import annotations

from typing import Any

MAX_MEMORY_BYTES = 1 << 18
"""Bytes of memory that one compiled expression may use."""


def compile_bytes(text: str, *, case_sensitive: bool = True, multiline: bool = False) -> Any:
    """Compile an expression over UTF-8 bytes; the `search` of the result accepts bytes or a memory map.

    Args:
        text: The expression.
        case_sensitive: Whether case matters.
        multiline: Whether `^` and `$` match at the ends of lines.

    Raises:
        ValueError: RE2 rejects the expression; the message is RE2's.
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  compiled, and seldom needed

    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = case_sensitive, False, MAX_MEMORY_BYTES
    text = f"(?m:{text})" if multiline else text
    try:
        return re2.compile(text.encode("utf-8", "replace"), options)
    except re2.error as error:
        why = error.args[0]
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from None
