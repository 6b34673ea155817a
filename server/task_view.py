"""What a task's page shows besides the task itself: its steps with every prompt and reply, and its change."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.tasks import Task
from core.work import Work
from db.step_rows import Call, StepRow
from server.desk import Desk
from server.task_reading import ShownFinding, shown_findings

INLINE_CHARS = 400_000
"""How much of prompts and replies stands on the page; the newest first, the rest is a link away."""

Part = tuple[str, str]
"""Who said it, and what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A model call; without `parts` it is only linked."""

    call: Call
    parts: list[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """A step with the calls it made and what was found in it; a step that has not finished has no `row`."""

    row: StepRow | None
    calls: list[ShownCall]
    findings: list[ShownFinding] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """One file of the change, as the lines of a unified diff with the class of each."""

    path: str
    removed: bool
    lines: list[tuple[str, str]]


def shown_attempts(desk: Desk, task_id: int) -> dict[int, list[ShownStep]]:
    """The steps of each attempt, newest attempt first, with their calls."""
    calls = _calls_by_step(desk, task_id)
    attempts: defaultdict[int, list[ShownStep]] = defaultdict(list)
    for row in desk.steps.timeline(task_id):
        made = calls.pop((row.attempt, row.step_no), [])
        attempts[row.attempt].append(ShownStep(row=row, calls=made, findings=shown_findings(row.data)))
    for (attempt, _), unfinished in calls.items():
        attempts[attempt].append(ShownStep(row=None, calls=unfinished))
    return dict(sorted(attempts.items(), reverse=True))


def _calls_by_step(desk: Desk, task_id: int) -> dict[tuple[int, int], list[ShownCall]]:
    left = INLINE_CHARS
    found: defaultdict[tuple[int, int], list[ShownCall]] = defaultdict(list)
    for call in reversed(desk.steps.calls(task_id)):
        parts = spoken(desk, call) if left > 0 else []
        left -= sum(len(text) for _, text in parts)
        found[call.attempt, call.step_no].insert(0, ShownCall(call=call, parts=parts))
    return found


def spoken(desk: Desk, call: Call) -> list[Part]:
    """The messages of a call and its reply, without secrets."""
    prompt = json.loads(desk.steps.artifact(call.prompt) or "[]")
    reply = desk.steps.artifact(call.reply) or ""
    return [*((str(role), str(text)) for role, text in prompt), ("reply", desk.events.mask(reply))]


def shown_change(task: Task, work: Work) -> list[ShownFile]:
    """The files that the last attempt changed, against those that the task brought along."""
    files = {**work.own_tests, **work.change}
    return [
        ShownFile(path=path, removed=text is None, lines=list(_diff(task.spec.files.get(path, ""), text or "")))
        for path, text in sorted(files.items())
    ]


def _diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    kinds = {"+": "added", "-": "gone", "@": "place"}
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=4)
    for number, line in enumerate(lines):
        if number >= 2:  # the two lines of file names
            yield kinds.get(line[0], "same"), line
