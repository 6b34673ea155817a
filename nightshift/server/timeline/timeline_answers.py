"""Defines the API's answers about the course of a task."""

from __future__ import annotations

from dataclasses import dataclass

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Kind, Language
from nightshift.server.formatting import Passage
from nightshift.server.routes.approvals import ApprovalRow
from nightshift.server.schemas import Answer
from nightshift.storage.db.step_store import IterationRow


class GivenFile(Answer):
    """A file that was submitted with the task. `test` is true if it is a test that judges the change."""

    path: str
    chars: int
    test: bool


class Words(Answer):
    """The task as the owner submitted it: description, files and options."""

    description: Passage
    kind: Kind | None
    language: Language
    files: list[GivenFile]
    test_command: list[str]
    packages: list[str]


class ForkRow(Answer):
    """A fork.

    `source`, `attempt` and `step_no` give the step after which the fork started. `model` is the model that it asks
    first; if it is empty, the settings choose the model.
    """

    task_id: int
    source: int
    attempt: int
    step_no: int
    model: str


class PromptBrief(Answer):
    """Size of a step's first prompt, and the number of parts that did not fit into the prompt."""

    tokens: int
    limit: int
    left_out: int
    shortened: int
    omitted: int


class TimelineStep(Answer):
    """A finished step, without its texts.

    `next` is the phase that followed. `models` are the models that replied. `unpriced` counts the calls of unknown
    cost. `findings` counts the findings of readers and checks. `repeats` are warnings that new code resembles code that
    failed before. `stuck` says why the attempt was stuck in a loop. `fresh` is true if later prompts show a summary in
    place of the earlier tries. `lessons` counts the lessons in the step's prompts. `tools` counts tool calls, and
    `tools_failed` those that were refused or failed.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineTry(IterationRow):
    """One iteration of an attempt. Iteration 0 means that only planning was done.

    `steps` is empty if the steps were pruned; `phases` is set even then. `lessons` counts the lessons that were
    recalled by the end of the iteration, null if not known.
    """

    steps: list[TimelineStep]


class AttemptBrief(Answer):
    """An attempt with its number of iterations and its duration, without its steps."""

    attempt: int
    iterations: int
    duration_s: float


class NowRunning(Answer):
    """The work that is running on the task. `step_no` is the step that has not finished yet."""

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
    """A notable event between the steps.

    Examples are a warning, an answer of the owner, a conflict, and a change to another model.
    """

    id: int
    at: Moment
    level: str
    event: str
    message: str
    attempt: int | None
    iteration: int | None
    phase: Phase | None


class RecallRow(Answer):
    """A lesson that was similar to what an attempt was working on; `kind` and `item` identify it.

    `arm` says what the attempt saw. "shown" means that it saw this lesson. "control" means that it saw no lesson, by
    random choice. "probation" means that it saw the other lessons but not this one. `score` is the similarity.
    `age_days` is the age that the lesson had at that time, null if not known.
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


class SaidRow(Answer):
    """A message to a task. `attempt` is the attempt in which it was sent, 0 before the first attempt."""

    message_id: int
    attempt: int
    text: str
    interrupts: bool
    at: Moment


class Timeline(Answer):
    """The course of a task.

    `attempt` is the attempt whose steps are listed, 0 before the first attempt. `tries` are the iterations of that
    attempt, oldest first. `left_out` counts its oldest steps, which are not listed.
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
