"""Lessons as the API shows them, without secrets and printable, and what memory as a whole is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.clock import Moment
from core.shares import Interval, Share, difference
from core.states import Phase
from memory.listing import Listed, State
from memory.recall_log import Assignment
from server.diffs.lesson_diffs import RowKind, fixed_files
from server.formatting import Mask, short, whole
from server.query import Query
from server.schemas import Answer

MAX_QUERY = 400
MAX_IMPORT = 20_000_000


class Solved(Answer):
    """Attempts, and how many of them were solved."""

    part: int
    whole: int


class Estimate(Answer):
    """A difference, with lessons less without, and its 95 % confidence interval."""

    estimate: float
    low: float
    high: float


class LessonRow(Answer):
    """A lesson. `id` is `failure-12` or `pattern-3`; `about` the error, or the task that it solved.

    `shown` counts the attempts that saw it, `withheld` those that it was kept from by lot; `uplift` is the difference
    of their solve rates, null while one side is empty. `nearness` (0 to 1) tells how it was found by meaning.
    """

    id: str
    kind: Literal["failure", "pattern"]
    about: str
    lesson: str
    language: str
    repo: str
    task_id: int | None
    state: State
    learned_at: Moment
    last_used_at: Moment | None
    times_used: int
    helped: int
    shown: Solved
    withheld: Solved
    uplift: Estimate | None
    nearness: float | None = None


class FixRow(Answer):
    """A line of a fix; `parts` are pairs of class and text, as everywhere."""

    kind: RowKind
    old: int | None
    new: int | None
    parts: list[tuple[str, str]]


class FixFile(Answer):
    """What the fix changed in one file; `path` is empty where the stored text names none."""

    path: str
    rows: list[FixRow]


class LessonUse(Answer):
    """An attempt that the lesson was near to. `iterations` and `tokens` are what it took, null until it has ended.

    `arm` tells what the attempt saw of it; `seen_in` where, as far as the log goes back.
    """

    task_id: int
    description: str
    attempt: int
    arm: Assignment
    score: float
    at: Moment
    solved: bool | None
    iterations: int | None
    tokens: int | None
    seen_in: list[SeenIn]


class SeenIn(Answer):
    """The try and the phase before which a lesson was recalled."""

    iteration: int | None
    phase: Phase | None


class LessonDetail(LessonRow):
    """A lesson in full. `fix` turns what failed into what passed; `judged_from` is when its owner restored it.

    `retired_by` is `owner`, or `measured` where it did not help; empty where it is in use or that is not known.
    """

    signature: str
    error: str
    failed_code: str
    fix: list[FixFile]
    created_at: Moment
    retired_at: Moment | None
    retired_by: str
    judged_from: Moment | None
    uses: list[LessonUse]


class Lessons(Answer):
    """A page of lessons. `found` counts all that are wanted; `next_offset` is null on the last page.

    `languages` and `repos` are those that there are lessons from.
    """

    lessons: list[LessonRow]
    found: int
    next_offset: int | None
    languages: list[str]
    repos: list[str]


class InUse(Answer):
    """How many lessons there are of a kind."""

    active: int
    probation: int
    retired: int


class LearnedOn(Answer):
    """How many lessons were learned on a day (`2026-11-22`, UTC)."""

    day: str
    lessons: int


class Learning(Answer):
    """What memory is worth: attempts that were to see lessons (`shown`) beside those that saw none by lot (`control`).

    The estimates are differences, with lessons less without: of the solve rate (null while a side is empty), of
    iterations and of tokens (null while a side has fewer than five attempts). `embedder` says who finds lessons.
    """

    embedder: str
    failures: InUse
    patterns: InUse
    shown: Solved
    control: Solved
    solve_rate: Estimate | None
    iterations: Estimate | None
    tokens: Estimate | None
    learned: list[LearnedOn]


class Imported(Answer):
    """How many lessons of a file are new here, and how many were known."""

    new: int
    known: int


class LessonsIn(BaseModel):
    """Lessons as JSON Lines, as they are exported."""

    model_config = ConfigDict(extra="forbid")

    lines: Annotated[str, Field(min_length=1, max_length=MAX_IMPORT)]


class LessonsQuery(Query):
    """Which lessons to list."""

    text: str = Field("", max_length=MAX_QUERY, description="only those that hold this text, in any case")
    like: str = Field("", max_length=MAX_QUERY, description="those nearest in meaning, best first, 100 at most")
    kind: Literal["failure", "pattern"] | None = Field(None, description="only those of this kind")
    state: State | None = Field(None, description="only those in this state")
    language: str = Field("", max_length=40, description="only those of this language")
    repo: str = Field("", max_length=1000, description="only those of this repository")
    order: Literal["newest", "used"] = Field("newest", description="what comes first")
    limit: int = Field(50, ge=1, le=100, description="at most so many")
    offset: int = Field(0, ge=0, le=1_000_000, description="so many are passed over")


def solved(share: Share) -> Solved:
    """Counts as they are sent."""
    return Solved(part=share.part, whole=share.whole)


def estimate(found: Interval | None) -> Estimate | None:
    """An interval as it is sent."""
    return Estimate(estimate=found.estimate, low=found.low, high=found.high) if found else None


def uplift_of(shown: Share, without: Share) -> Estimate | None:
    """The difference of two solve rates; None while one side is empty, for then it says nothing."""
    return estimate(difference(shown, without)) if shown.whole and without.whole else None


def lesson_row(one: Listed, mask: Mask, nearness: float | None = None) -> LessonRow:
    """A lesson as lists show it."""
    return LessonRow(**_facts(one, mask), nearness=nearness)


def lesson_detail(one: Listed, mask: Mask, uses: Sequence[LessonUse]) -> LessonDetail:
    """A lesson in full."""
    files = [
        FixFile(path=file.path, rows=[FixRow.model_validate(row) for row in file.rows])
        for file in fixed_files(whole(one.fix, mask))
    ]
    return LessonDetail(
        **_facts(one, mask),
        signature=whole(one.signature, mask),
        error=whole(one.about, mask),
        failed_code=whole(one.code, mask),
        fix=files,
        created_at=one.created_at,
        retired_at=one.retired_at,
        retired_by=one.retired_by,
        judged_from=one.judged_from,
        uses=list(uses),
    )


def _facts(one: Listed, mask: Mask) -> dict[str, Any]:
    first = next((line for line in one.about.split("\n") if line.strip()), "")
    return {
        "id": f"{one.kind}-{one.id}",
        "kind": one.kind,
        "about": short(first, mask),
        "lesson": short(one.lesson, mask),
        "language": short(one.language, mask),
        "repo": short(one.repo, mask),
        "task_id": one.task_id,
        "state": one.state,
        "learned_at": one.learned_at,
        "last_used_at": one.last_used_at,
        "times_used": one.times_used,
        "helped": one.helped,
        "shown": solved(one.shown),
        "withheld": solved(one.withheld),
        "uplift": uplift_of(one.shown, one.withheld),
    }
