"""Finds the one JSON object in a reply: bare, fenced, or between sentences."""

from __future__ import annotations

import json
from typing import Any

from agent.replies import fences

_MAX_STARTS = 8


def find_json(text: str) -> dict[str, Any] | None:
    """The first JSON object that is a whole reply, a fenced block, or begins a line; None when there is none.

    Nothing is repaired: what is no JSON is no object.
    """
    whole = _object(text.strip())
    if whole is not None:
        return whole
    for block in fences.blocks(text):
        if block.info.split(" ")[0].lower() not in {"", "json", "tool_call"}:
            continue
        if (found := _object(block.text.strip())) is not None:
            return found
    return _embedded(text)


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _embedded(text: str) -> dict[str, Any] | None:
    decoder, at = json.JSONDecoder(), -1
    for _ in range(_MAX_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return None
        try:
            found, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found:
            return found
    return None
