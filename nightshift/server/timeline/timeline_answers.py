"""Answers of the API about the course of a task, as pydantic models."""

from __future__ import annotations

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Kind, Language
from nightshift.server.approvals import ApprovalRow
from nightshift.server.formatting import Passage
from nightshift.server.saying import SaidRow
from nightshift.server.schemas import Answer
from nightshift.storage.db.step_store import PhaseTime


class GivenFile(Answer):
    """A file that came with the task; `test` tells that it judges."""

    path: str
    chars: int
    test: bool


class Words(Answer):
    """Words and files of the task's owner."""

    description: Passage
    kind: Kind | None
    language: Language
    files: list[GivenFile]
    test_command: list[str]
    packages: list[str]


class ForkRow(Answer):
    """A fork and where it began: after a step of an attempt of `source`.

    `model` is asked first; empty: as settings say.
    """

    task_id: int
    source: int
    attempt: int
    step_no: int
    model: str


class PromptBrief(Answer):
    """How full the step's first prompt was, and what did not fit into it."""

    tokens: int
    limit: int
    left_out: int
    shortened: int
    omitted: int


class TimelineStep(Answer):
    """A finished step, without its texts.

    `next` is the phase that followed. `models` are those that answered, `unpriced` the calls whose cost is not known.
    `findings` counts what readers and gates found; `repeats` are warnings that code is written like code that failed
    before. `stuck` says why the attempt went in circles, `fresh` that a fresh context began. `lessons` counts those
    that its prompts held. `tools` counts tool calls, `tools_failed` those that were refused or went wrong.
    """

    attempt: int
    step_no: int
    iteration: int
    phase: Phase
    outcome: Outcome
    next: str
    note: str
    started_at: Moment
    duration_s: float
    passed: int | None
    failed: int | None
    total: int | None
    label: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    models: list[str]
    tools: int
    tools_failed: int
    prompt: PromptBrief | None
    findings: int
    repeats: list[str]
    lessons: int
    stuck: str
    fresh: bool


class TimelineTry(Answer):
    """One try of an attempt, 0 while only planning was done; `steps` is empty where they were pruned.

    `phases` are there in any case. `lessons` counts those recalled by then; null where that is not known.
    """

    iteration: int
    phases: tuple[PhaseTime, ...]
    passed: int | None
    failed: int | None
    total: int | None
    tokens_in: int
    tokens_out: int
    cost_usd: float
    lessons: int | None
    duration_s: float
    started_at: Moment
    ended_at: Moment
    steps: list[TimelineStep]


class AttemptBrief(Answer):
    """An attempt in one line."""

    attempt: int
    iterations: int
    duration_s: float
    tokens_in: int
    tokens_out: int
    cost_usd: float
    started_at: Moment
    ended_at: Moment


class NowRunning(Answer):
    """Work on the task now; `step_no` is the step that has not finished yet."""

    attempt: int
    step_no: int
    iteration: int
    phase: Phase | None
    worker: str
    since: Moment | None
    last_line: str
    calls: int
    tools: int


class Mark(Answer):
    """Something to know between the steps: a warning, an ask, a conflict, another model."""

    id: int
    at: Moment
    level: str
    event: str
    message: str
    attempt: int | None
    iteration: int | None
    phase: Phase | None


class RecallRow(Answer):
    """A lesson that was near to an attempt: `kind` and `item` name it.

    `arm` is what the attempt saw: the lesson (shown), nothing by lot (control), the others without this one
    (probation). `score` is how near it was, `age_days` its age then, where that is known.
    """

    attempt: int
    kind: str
    item: int
    about: str
    arm: str
    score: float
    age_days: float | None
    iteration: int | None
    phase: Phase | None
    solved: bool | None


class Timeline(Answer):
    """The course of a task, of which one attempt is told in full: `attempt`, 0 before the first.

    `tries` are those of that attempt, oldest first; `left_out` counts steps of it that are not told, the oldest ones.
    """

    task_id: int
    words: Words
    forked_from: ForkRow | None
    forks: list[ForkRow]
    attempts: list[AttemptBrief]
    attempt: int
    tries: list[TimelineTry]
    left_out: int
    running: NowRunning | None
    marks: list[Mark]
    recalls: list[RecallRow]
    asks: list[ApprovalRow]
    said: list[SaidRow]
    pruned: list[str]
