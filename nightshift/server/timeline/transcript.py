"""Builds the transcript of a model call: the messages of its prompt, and its reply."""

from __future__ import annotations

from nightshift.core.tool_text import with_calls
from nightshift.server.context import AppContext
from nightshift.server.formatting import full_text
from nightshift.storage.db.step_store import Call

Part = tuple[str, str]
"""The role of a message, and its text."""


def transcript(context: AppContext, call: Call) -> list[Part]:
    """Return the messages, thoughts and reply of a model call as stored.

    Thoughts and reply may still contain secrets.
    """
    reply = with_calls(context.steps.artifact(call.reply) or "", call.tool_calls)
    thoughts = [("thoughts", call.thoughts)] if call.thoughts else []
    return [*context.steps.prompt(call.prompt), *thoughts, ("reply", reply)]


def as_text(context: AppContext, call: Call) -> str:
    """Return a whole model call as plain text, with secrets masked."""
    mask = context.mask
    return "\n\n".join(f"===== {role}\n{full_text(text, mask)}" for role, text in transcript(context, call))
