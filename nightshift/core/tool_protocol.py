"""How tool calls travel between a model and us."""

from __future__ import annotations

from enum import StrEnum


class ToolProtocol(StrEnum):
    """How calls travel between a model and us."""

    NATIVE = "native"
    """By the vendor's own tool calls."""
    TEXT = "text"
    """As fenced blocks in the reply's text."""
