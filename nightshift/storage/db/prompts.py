"""Stores prompts of model calls as texts: JSON lists of [role, text].

A model that works with tools is asked again and again within a step, each time with the whole conversation so far. Such
a prompt is stored as its difference from the prompt of the previous call: {"after": the digest of the previous prompt,
"keep": the number of its messages that stay, "turns": [[role, text], …]}. A prompt is read with the same digest in
either form. If an earlier prompt was deleted, only the messages after it remain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import takewhile

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tool_text import as_text, with_calls
from nightshift.core.tools import ToolProtocol
from nightshift.storage.db import artifacts
from nightshift.storage.db.sqlite import Connection

Turn = tuple[str, str]
"""A message of a prompt: its role, and its text, in which tool calls are blocks."""


def turns_of(request: ModelRequest, completion: Completion) -> list[Turn]:
    """Return the messages to a model in the form in which they were sent."""
    sent = request.messages
    if completion.protocol is ToolProtocol.TEXT:
        sent = as_text(sent, request.tools)
    return [(message.role, with_calls(message.text, message.tool_calls)) for message in sent]


def put(conn: Connection, turns: Sequence[Turn], mask: Callable[[str], str], before: str | None = None) -> str:
    """Store a prompt without secrets inside a write job, and return its digest.

    `before` is the digest of the prompt that this prompt continues. The messages at the beginning that are equal in
    both prompts were masked when the earlier prompt was stored. They are not masked again, because masking takes most
    of the time.
    """
    earlier = get(conn, before) if before else []
    keep = _common(earlier, turns)
    added = [(role, mask(text)) for role, text in turns[keep:]]
    common = _common(earlier[keep:], added)
    if not keep + common:
        return artifacts.put(conn, json.dumps(added))
    return artifacts.put(conn, json.dumps({"after": before, "keep": keep + common, "turns": added[common:]}))


def _common(earlier: Sequence[Turn], turns: Sequence[Turn]) -> int:
    """Return the number of messages at the beginning that are equal in both lists."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, turns, strict=False)))


def get(conn: Connection, digest: str) -> list[Turn]:
    """Return the messages of the prompt with this digest; empty if there is no such prompt."""
    later = list[tuple[int, list[list[str]]]]()
    stored = json.loads(artifacts.get(conn, digest) or "[]")
    while isinstance(stored, dict):
        later.append((stored["keep"], stored["turns"]))
        stored = json.loads(artifacts.get(conn, stored["after"]) or "[]")
    turns = stored
    for keep, added in reversed(later):
        turns = [*turns[:keep], *added]
    return [(str(role), str(text)) for role, text in turns]
