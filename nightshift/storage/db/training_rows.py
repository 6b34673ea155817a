"""Reads training data from committed tasks: the replies that wrote their code, in the order of the iterations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tool_text import with_calls
from nightshift.core.tools import ToolCall
from nightshift.storage.db import artifacts, prompts
from nightshift.storage.db.codec import decode
from nightshift.storage.db.sqlite import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A reply that wrote code.

    Attributes:
        prompt: the messages of the prompt in order, as (role, text).
        tools: True if the model worked with tools. The prompt then contains the whole conversation before the reply,
            with calls written as text.
    """

    iteration: int
    prompt: tuple[tuple[str, str], ...]
    reply: str
    backend: str
    model: str
    tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A task that was committed.

    Attributes:
        label: how much the commit's verdict proves.
        tries: the replies that wrote code in the task's last attempt, oldest first.
        files: the files that passed; None for a deleted file.
    """

    task_id: int
    label: str
    tries: tuple[Written, ...]
    files: Mapping[str, str | None]


def read_solved(conn: Connection) -> Iterator[Solved]:
    """Yield the committed tasks whose work is still stored, oldest first, without reverted or discarded commits."""
    rows = conn.execute(
        "SELECT tasks.id, tasks.attempt, git_commits.label FROM tasks JOIN git_commits "
        "ON git_commits.task_id = tasks.id AND git_commits.commit_id = tasks.commit_id "
        "WHERE tasks.ending = ? AND reverted_by IS NULL AND discarded_at IS NULL ORDER BY tasks.id",
        (Ending.COMMITTED,),
    ).fetchall()
    for task_id, attempt, label in rows:
        tries, files = _tries(conn, task_id, attempt), _files(conn, task_id, attempt)
        if tries and files:
            yield Solved(task_id=task_id, label=label, tries=tries, files=files)


def _tries(conn: Connection, task_id: int, attempt: int) -> tuple[Written, ...]:
    rows = conn.execute(
        "SELECT iteration, prompt, reply, backend, model, json_extract(rest, '$.tool_calls') AS calls, "
        "json_extract(rest, '$.protocol') AS protocol FROM replies "
        "WHERE task_id = ? AND attempt = ? AND phase = ? ORDER BY step_no, call_no",
        (task_id, attempt, Phase.CODING),
    ).fetchall()
    written = []
    for row in rows:
        calls = [ToolCall(**call) for call in json.loads(row["calls"] or "[]")]
        prompt, reply = prompts.get(conn, row["prompt"]), with_calls(artifacts.get(conn, row["reply"]) or "", calls)
        if prompt and reply:
            written.append(
                Written(
                    iteration=row["iteration"],
                    prompt=tuple(("user" if role == "tool" else role, text) for role, text in prompt),
                    reply=reply,
                    backend=row["backend"],
                    model=row["model"],
                    tools=row["protocol"] is not None,
                )
            )
    return tuple(written)


def _files(conn: Connection, task_id: int, attempt: int) -> Mapping[str, str | None]:
    row = conn.execute(
        "SELECT work FROM steps WHERE task_id = ? AND attempt = ? ORDER BY step_no DESC LIMIT 1", (task_id, attempt)
    ).fetchone()
    text = artifacts.get(conn, row["work"]) if row else None
    return decode(AttemptState, text).change if text else {}
