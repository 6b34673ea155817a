"""Tool calls on the vendors' wires: ids that hold, a result for each call, and arguments as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any

from nightshift.core.dialogue import Message
from nightshift.core.tools import ToolCall, ToolSpec

NO_RESULT = "This call has no result."


def paired(messages: Iterable[Message], allowed: re.Pattern[str]) -> tuple[Message, ...]:
    """The messages as every vendor takes them: each call has an id of its own and is answered right behind its turn.

    A conversation may have begun with another vendor, or in the text form, where calls have no ids. Ids that are not
    `allowed` or come twice are replaced, the same way in each later request; a result whose call is not known becomes a
    turn of the user's.
    """
    found, used, waiting = list[Message](), set[str](), list[tuple[str, str]]()
    for message in messages:
        if message.role == "tool" and (pair := _taken(waiting, message.call_id)):
            waiting.remove(pair)
            found.append(replace(message, call_id=pair[1]))
            continue
        found += _unanswered(waiting)
        ids = [_fresh(call.id, used, allowed) for call in message.tool_calls]
        waiting = [(call.id, new) for call, new in zip(message.tool_calls, ids, strict=True)]
        calls = tuple(replace(call, id=new) for call, new in zip(message.tool_calls, ids, strict=True))
        role = "user" if message.role == "tool" else message.role
        found.append(replace(message, role=role, tool_calls=calls, call_id=""))
    return (*found, *_unanswered(waiting))


def _taken(waiting: Sequence[tuple[str, str]], call_id: str) -> tuple[str, str] | None:
    """The call that a result answers: the one of its id, or the next one where it names none."""
    return next((pair for pair in waiting if pair[0] == call_id or not call_id), None)


def _unanswered(waiting: Iterable[tuple[str, str]]) -> list[Message]:
    return [Message(role="tool", text=NO_RESULT, call_id=new) for _, new in waiting]


def _fresh(call_id: str, used: set[str], allowed: re.Pattern[str]) -> str:
    # Nine letters and digits are what the strictest server takes (Mistral's).
    made = (f"call{number:05d}" for number in count(len(used)))
    new = next(one for one in chain([call_id] if allowed.fullmatch(call_id) else [], made) if one not in used)
    used.add(new)
    return new


def functions(specs: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Tools as OpenAI and Ollama take them."""
    return [
        {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.schema}}
        for s in specs
    ]


def read_arguments(text: str) -> Mapping[str, Any]:
    """A tool call's arguments; what is no JSON object is handed on under `text`, and the caller decides.

    Line ends within strings, which JSON wants escaped and models forget to, are taken as they are.
    """
    try:
        read = json.loads(text or "{}", strict=False)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"text": text}


def written_arguments(call: ToolCall) -> str:
    """The arguments as JSON text."""
    return json.dumps(dict(call.arguments))
