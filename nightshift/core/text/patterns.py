"""Regular expressions of people and models, by RE2: none of them takes more than linear time."""

from __future__ import annotations

from typing import Any

MAX_MEMORY_BYTES = 1 << 18
"""Memory that one compiled expression may take."""


def compile_bytes(text: str, *, case_sensitive: bool = True, multiline: bool = False) -> Any:
    """The expression over UTF-8 bytes: its `search` takes bytes or a memory map.

    Args:
        text: the expression.
        case_sensitive: whether case counts.
        multiline: whether `^` and `$` are the ends of lines.

    Raises:
        ValueError: it is none that RE2 knows; the message is RE2's.
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
