"""Reads the tool calls of a step for the task's page: arguments, results, and edits as diffs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nightshift.core.clock import Moment
from nightshift.server.context import AppContext
from nightshift.server.diffs.hunks import Hunk, difference
from nightshift.server.formatting import Mask, Passage, full_text, passage, short
from nightshift.server.schemas import Answer
from nightshift.storage.db.step_store import Call
from nightshift.storage.db.tool_store import StoredCall

MOST_CALLS = 200
MOST_ARGUMENTS = 12
TEXT_CHARS = 4_000
ALL_CHARS = 400_000
"""Limit on the characters of arguments and results in one answer. A request for one call returns the rest."""
EDIT_CHARS = 20_000
"""Maximum number of characters of an edit that is shown as a diff. A longer edit is shown by its arguments."""
_EDITS = {"edit": ("old", "new"), "write_file": ("", "content")}
"""For each tool that edits files, the names of the arguments that hold the old and the new text."""
_FIRST_BLOCK = re.compile(r"^[ \t]*(?:`{3,}|~{3,}|<\w|\[TOOL_CALLS\])", re.MULTILINE)


class StepToolCall(Answer):
    """A tool call that a model's reply contains.

    `call_no` is the number of the model call, `seq` the number of the tool call in the reply. `said` is the text that
    the model wrote before the first tool call of the reply; it is empty for the other tool calls. `hunks` show an edit
    as a diff; the edited texts are then left out of `arguments`. Line numbers count from the beginning of the edited
    text. To get cut texts in full, request the model call separately. `changed` is true if the tool call changed files.
    """

    call_no: int
    seq: int
    name: str
    brief: str
    said: str
    arguments: dict[str, Passage]
    hunks: tuple[Hunk, ...]
    result: Passage
    changed: bool
    ok: bool
    took_s: float
    at: Moment


def tool_calls(
    context: AppContext, rows: Sequence[StoredCall], calls: Sequence[Call], *, most: int = TEXT_CHARS
) -> list[StepToolCall]:
    """Return the tool calls of a step in the order in which they were made.

    Args:
        context: gives access to stored texts.
        rows: the tool calls.
        calls: the model calls that made them.
        most: maximum number of characters of each text.
    """
    replies = {call.call_no: call for call in calls}
    shown_calls, left = list[StepToolCall](), max(ALL_CHARS, most)
    for row in rows[:MOST_CALLS]:
        reply = replies.pop(row.call_no, None)  # the reply's text is shown only with its first call
        shown = _tool_call(context, row, most if left > 0 else 0, _words(context, reply) if reply else "")
        left -= len(shown.result.text) + sum(len(argument.text) for argument in shown.arguments.values())
        shown_calls.append(shown)
    return shown_calls


def _tool_call(context: AppContext, row: StoredCall, most: int, words: str) -> StepToolCall:
    mask, text = context.mask, context.steps.artifact
    arguments = _arguments(text(row.arguments) or "")
    hunks = _hunks(row.name, arguments, mask)
    texts = _EDITS[row.name] if hunks else ()
    shown = [(name, value) for name, value in arguments.items() if name not in texts][:MOST_ARGUMENTS]
    return StepToolCall.from_values(
        row,
        name=short(row.name, mask),
        brief=short(row.brief, mask),
        said=words,
        arguments={short(name, mask): passage(_text(value), mask, most) for name, value in shown},
        hunks=hunks,
        result=passage(text(row.result) or "", mask, most),
    )


def _arguments(text: str) -> Mapping[str, Any]:
    """Parse the arguments of a tool call into values by name.

    If they are not a JSON object, the whole text is returned under an empty name.
    """
    try:
        given = json.loads(text)
        return given if isinstance(given, dict) and json.dumps(given) else {"": text}
    except (ValueError, RecursionError):
        return {"": text}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _hunks(name: str, arguments: Mapping[str, Any], mask: Mask) -> tuple[Hunk, ...]:
    """Return an edit as hunks of a diff; empty if the tool does not edit files or the edit is too long."""
    if name not in _EDITS:
        return ()
    old, new = (arguments.get(each, "") for each in _EDITS[name])
    if not (isinstance(old, str) and isinstance(new, str)) or len(old) + len(new) > EDIT_CHARS:
        return ()
    return difference(full_text(old, mask), full_text(new, mask), str(arguments.get("path", ""))).hunks


def _words(context: AppContext, call: Call) -> str:
    """Return the text of a model's reply before its first tool call."""
    text = context.steps.artifact(call.reply) or ""
    block = _FIRST_BLOCK.search(text)
    return short(" ".join(text[: block.start() if block else None].split()), context.mask, 600)
