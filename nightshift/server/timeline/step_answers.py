"""Answers of the API about one step of a task, as pydantic models."""

from __future__ import annotations

from typing import Literal

from nightshift.core.clock import Moment
from nightshift.core.tasks.attempt_state import Reflection
from nightshift.core.tasks.brief import Brief
from nightshift.core.tasks.verdicts import CaseResult, Label, Result
from nightshift.server.diffs.hunks import Hunk
from nightshift.server.formatting import Passage
from nightshift.server.schemas import Answer, LogLine
from nightshift.server.timeline.task_reading import ShownFinding
from nightshift.server.timeline.timeline_answers import TimelineStep


class Said(Answer):
    """A part of a conversation: who said it, and what."""

    role: str
    said: Passage


class StepCall(Answer):
    """A model call. Without `parts` it has to be asked for alone; `text` is the address of all of it as plain text."""

    call_no: int
    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    finish: str
    at: Moment
    parts: list[Said]
    text: str


class StepToolCall(Answer):
    """A tool call, made by the reply of the model call `call_no`; `seq` is its number in that reply.

    `said` is what the model said before it, where it is the first of its reply. `hunks` show an edit, whose texts are
    not among the arguments then; their lines count from the edit's beginning. Texts that are cut come in full with
    their model call alone. `changed` tells that files are not as before.
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


class StepFile(Answer):
    """A file of the change as it is after the step; `status` is what the change does to the task's base or files.

    `here` tells that this step wrote it.
    """

    path: str
    status: Literal["written", "removed"]
    test: bool
    here: bool
    chars: int


class FailureRow(Answer):
    """One distinct failure, as models are told of it; unlike `core.tasks.verdicts.Failure`, texts may be cut."""

    id: str
    kind: str
    message: Passage
    frame: str
    excerpt: str
    output: Passage


class EvidenceRow(Answer):
    """Evidence of a verdict: `core.tasks.verdicts.Evidence`, with the number of tests in place of their ids."""

    tree: str
    sandbox: str
    label: Label
    python: str
    ids: int
    twins: int
    complete: bool
    held_out: int
    held_from: list[str]
    suites: dict[str, str]
    dropped: dict[str, str]
    notes: list[str]


class VerdictRow(Answer):
    """Verdict on a run of tests. `tests` are those that did not pass first; `left_out` counts those not told.

    `unseen` is for the owner alone: what held-out cases expect.
    """

    passed: bool
    reason: str
    duration_s: float
    counts: dict[Result, int]
    tests: list[CaseResult]
    left_out: int
    failures: list[FailureRow]
    weak: list[str]
    unseen: list[str]
    evidence: EvidenceRow


class LessonText(Answer):
    """A lesson that the attempt had in hand after the step."""

    kind: str
    item: int
    text: Passage
    score: float
    age_days: float


class StepDetail(Answer):
    """All of one step. `step` is null while it has not finished; then only its calls are known, of models and of tools.

    `plan`, `summary` and `feedback` are as they were after it, `brief` is there where words were read anew. `verdict`
    is null where the step ran no test. `lines` are the events of its time, the first two hundred.
    """

    task_id: int
    attempt: int
    step_no: int
    step: TimelineStep | None
    plan: Passage
    summary: str
    feedback: Passage
    brief: Brief | None
    thought: Reflection | None
    calls: list[StepCall]
    tools: list[StepToolCall]
    files: list[StepFile]
    packages: dict[str, str]
    verdict: VerdictRow | None
    findings: list[ShownFinding]
    lessons: list[LessonText]
    lines: list[LogLine]
