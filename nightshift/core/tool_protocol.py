"""The form in which tool calls are exchanged with a model."""

from __future__ import annotations

from enum import StrEnum


class ToolProtocol(StrEnum):
    """The form in which calls are exchanged with a model."""

    NATIVE = "native"
    """The vendor's own tool calls."""
    TEXT = "text"
    """Fenced blocks in the reply's text."""
