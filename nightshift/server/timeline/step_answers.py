"""Defines the API's answers about one step of a task."""

from __future__ import annotations

from typing import Literal

from nightshift.core.clock import Moment
from nightshift.core.tasks.attempt_state import Brief, Reflection
from nightshift.core.tasks.verdicts import CaseResult, Label, Result
from nightshift.server.diffs.hunks import Hunk
from nightshift.server.formatting import Passage
from nightshift.server.schemas import Answer, LogLine
from nightshift.server.timeline.task_reading import ShownFinding
from nightshift.server.timeline.timeline_answers import TimelineStep


class Said(Answer):
    """A part of a conversation. `role` is the role of the speaker, `said` is the text."""

    role: str
    said: Passage


class StepCall(Answer):
    """A model call.

    `parts` are its prompt and reply. `parts` is empty if the size limit of the answer was reached; the call must then
    be requested separately. `text` is the address of the whole call as plain text.
    """

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


class StepFile(Answer):
    """A file of the attempt's change as it is after the step.

    `status` says whether the change writes or removes the file, compared with the base or the submitted files. `here`
    is true if this step wrote the file.
    """

    path: str
    status: Literal["written", "removed"]
    test: bool
    here: bool
    chars: int


class FailureRow(Answer):
    """One distinct failure, as models see it. Unlike in `core.tasks.verdicts.Failure`, the texts may be cut."""

    id: str
    kind: str
    message: Passage
    frame: str
    excerpt: str
    output: Passage


class EvidenceRow(Answer):
    """Evidence of a verdict.

    The fields are those of `core.tasks.verdicts.Evidence`. Only `ids` differs: here it is the number of tests, there
    the list of their ids.
    """

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
    """Verdict on a run of tests.

    `tests` begins with the tests that did not pass. `left_out` counts the tests that are not listed. `unseen` holds the
    expected values of held-out cases; only the owner may see them.
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
    """A lesson that the attempt had after the step."""

    kind: str
    item: int
    text: Passage
    score: float
    age_days: float


class StepDetail(Answer):
    """One step with its texts.

    `step` is null until the step has finished; until then only its model calls and tool calls are known. `plan`,
    `summary` and `feedback` show the state after the step. `brief` is set if the step changed it. `verdict` is null if
    the step ran no test. `lines` are the first two hundred events during the step.
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
