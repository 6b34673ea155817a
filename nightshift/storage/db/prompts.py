"""Prompts of model calls, stored as texts: JSON, a list of [role, text].

A model that works with tools is asked again and again within a step, each time with the whole conversation so far. Such
a prompt is stored as its difference from the prompt of the previous call: {"after": the digest of that prompt, "keep":
how many of its turns stay, "turns": [[role, text], …]}. A prompt has the same digest whichever way it is read. If an
earlier prompt was pruned, only the end remains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import takewhile

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.core.tool_text import as_text, with_calls
from nightshift.storage.db import artifacts
from nightshift.storage.db.sqlite import Connection

Turn = tuple[str, str]
"""The role and the text; tool calls are blocks in the text."""


def turns_of(request: ModelRequest, completion: Completion) -> list[Turn]:
    """Return the messages to a model in the form in which they were sent."""
    sent = request.messages
    if completion.protocol is ToolProtocol.TEXT:
        sent = as_text(sent, request.tools)
    return [(message.role, with_calls(message.text, message.tool_calls)) for message in sent]


def put(conn: Connection, turns: Sequence[Turn], mask: Callable[[str], str], before: str | None = None) -> str:
    """Store a prompt without secrets inside a write job and return its digest.

    `before` is the digest of the prompt that this one continues. The turns that both share are masked already, which
    saves time, since masking takes most of it.
    """
    earlier = get(conn, before) if before else []
    keep = _common(earlier, turns)
    added = [(role, mask(text)) for role, text in turns[keep:]]
    common = _common(earlier[keep:], added)
    if not keep + common:
        return artifacts.put(conn, json.dumps(added))
    return artifacts.put(conn, json.dumps({"after": before, "keep": keep + common, "turns": added[common:]}))


def _common(earlier: Sequence[Turn], turns: Sequence[Turn]) -> int:
    """Return how many equal turns both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, turns, strict=False)))


def get(conn: Connection, digest: str) -> list[Turn]:
    """Return the turns of the prompt with this digest; empty if there is no such prompt."""
    later = list[tuple[int, list[list[str]]]]()
    stored = json.loads(artifacts.get(conn, digest) or "[]")
    while isinstance(stored, dict):
        later.append((stored["keep"], stored["turns"]))
        stored = json.loads(artifacts.get(conn, stored["after"]) or "[]")
    turns = stored
    for keep, added in reversed(later):
        turns = [*turns[:keep], *added]
    return [(str(role), str(text)) for role, text in turns]
