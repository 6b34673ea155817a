"""What a task's page shows besides the task itself: its steps with every prompt and reply, and its change."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.tasks import Task
from core.work import Work
from db.step_rows import Call, StepRow
from server.desk import Desk
from server.task_reading import ShownFinding, shown_findings

INLINE_CHARS = 400_000
"""How much of prompts and replies stands on the page; the newest first, the rest is a link away."""

_KINDS = (("files whole", "whole"), ("files by outline", "outlined"), ("files by name", "named"))
_SHORTER = (("shortened", "shortened"), ("left out whole", "omitted"))

Part = tuple[str, str]
"""Who said it, and what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a prompt held and what was left out, as lines of (what, which)."""

    tokens: int
    limit: int
    lines: list[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A model call; without `parts` it is only linked. `held` is what its prompt held, where the step tells."""

    call: Call
    parts: list[Part]
    held: Held | None = None


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
        made = [_with_held(call, row) for call in calls.pop((row.attempt, row.step_no), [])]
        attempts[row.attempt].append(ShownStep(row=row, calls=made, findings=shown_findings(row.data)))
    for (attempt, _), unfinished in calls.items():
        attempts[attempt].append(ShownStep(row=None, calls=unfinished))
    return dict(sorted(attempts.items(), reverse=True))


def _with_held(shown: ShownCall, row: StepRow) -> ShownCall:
    """The call with what the step tells of its prompt; of many calls only the first are told of."""
    found = next((one for one in row.data.get("prompts", ()) if one.get("call") == shown.call.call_no), None)
    return replace(shown, held=_held(found)) if found else shown


def _held(one: Mapping[str, Any]) -> Held:
    lines: list[Part] = [("asked again", "as before, with the last reply and what was wrong with it")]
    if not one.get("again"):
        parts = ", ".join(f"{title} {tokens:,}" for title, tokens in one.get("sections", ()))
        lines = [("parts, in tokens", parts)]
        lines += [(name, _paths(one, key)) for name, key in _KINDS if one.get(key)]
        lines += [("files left out", f"{one['left_out']:,}")] if one.get("left_out") else []
        lines += [("lessons", ", ".join(f"#{number}" for number in one["lessons"]))] if one.get("lessons") else []
        lines += [(name, ", ".join(one[key])) for name, key in _SHORTER if one.get(key)]
    return Held(tokens=one.get("tokens", 0), limit=one.get("limit", 0), lines=lines)


def _paths(one: Mapping[str, Any], key: str) -> str:
    more = one.get(f"{key}_count", 0) - len(one[key])
    return ", ".join(one[key]) + (f" and {more} more" if more > 0 else "")


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
