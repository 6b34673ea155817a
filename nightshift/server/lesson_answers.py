"""Defines lessons as models of the API, masked and printable, and the measured value of memory as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from nightshift.core.clock import Moment
from nightshift.core.shares import Interval, Share, difference
from nightshift.server.formatting import Mask, full_text, short
from nightshift.server.query import Query
from nightshift.server.schemas import Answer
from nightshift.storage.memory.listing import Listed, State
from nightshift.storage.memory.recall_log import Assignment

MAX_QUERY = 400
MAX_IMPORT = 20_000_000


class LessonRow(Answer):
    """A lesson. `id` is `failure-12` or `pattern-3`; `about` is the error, or the task that was solved.

    `shown` counts the attempts that saw the lesson, and `withheld` those from which it was withheld at random. `uplift`
    is the difference of their solve rates, null while one side is empty. The attempts of all nodes of a hub count;
    `elsewhere` is the number of attempts on other nodes. `nearness` (0 to 1) is the similarity in a search by meaning.
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
    shown: Share
    withheld: Share
    elsewhere: int
    uplift: Interval | None
    nearness: float | None = None


class LessonUse(Answer):
    """An attempt that the lesson was close to. `iterations` and `tokens` are its totals, null until it has ended.

    `arm` says how much of the lesson the attempt saw.
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


class LessonDetail(LessonRow):
    """A lesson in full. `fix` is a unified diff; `judged_from` is the time when the owner restored the lesson.

    `retired_by` is `owner`, or `measured` if the lesson did not help; empty if it is in use or the reason is not known.
    """

    signature: str
    error: str
    failed_code: str
    fix: str
    created_at: Moment
    retired_at: Moment | None
    retired_by: str
    judged_from: Moment | None
    uses: list[LessonUse]


class Lessons(Answer):
    """A page of lessons. `found` counts all matching lessons; `next_offset` is null on the last page.

    `languages` and `repos` list the values for which lessons exist.
    """

    lessons: list[LessonRow]
    found: int
    next_offset: int | None
    languages: list[str]
    repos: list[str]


class InUse(Answer):
    """Number of lessons of one kind, by state."""

    active: int
    probation: int
    retired: int


class LearnedOn(Answer):
    """Number of lessons learned on one day (`2026-11-22`, UTC)."""

    day: str
    lessons: int


class Learning(Answer):
    """Measured value of memory: attempts that were to see lessons (`shown`) against a random control group (`control`).

    The estimates are differences, attempts with lessons minus attempts without: of the solve rate (null while a side is
    empty), of iterations and of tokens (null while a side has fewer than five attempts). `embedder` names the embedder
    that finds lessons.
    """

    embedder: str
    failures: InUse
    patterns: InUse
    shown: Share
    control: Share
    solve_rate: Interval | None
    iterations: Interval | None
    tokens: Interval | None
    learned: list[LearnedOn]


class LessonsIn(BaseModel):
    """Lessons as JSON Lines, in the format of the export."""

    model_config = ConfigDict(extra="forbid")

    lines: Annotated[str, Field(min_length=1, max_length=MAX_IMPORT)]


class LessonsQuery(Query):
    """Selection of lessons to list."""

    text: str = Field("", max_length=MAX_QUERY, description="only lessons that contain this text, ignoring case")
    like: str = Field("", max_length=MAX_QUERY, description="the lessons nearest in meaning, best first, 100 at most")
    kind: Literal["failure", "pattern"] | None = Field(None, description="only lessons of this kind")
    state: State | None = Field(None, description="only lessons in this state")
    language: str = Field("", max_length=40, description="only lessons for this language")
    repo: str = Field("", max_length=1000, description="only lessons from this repository")
    order: Literal["newest", "used"] = Field("newest", description="sort order")
    limit: int = Field(50, ge=1, le=100, description="maximum number of results")
    offset: int = Field(0, ge=0, le=1_000_000, description="number of results to skip")


def uplift_of(shown: Share, without: Share) -> Interval | None:
    """Return the difference of two solve rates; None if one side is empty."""
    return difference(shown, without) if shown.whole and without.whole else None


def lesson_row(lesson: Listed, mask: Mask, nearness: float | None = None) -> LessonRow:
    """Return a lesson as lists show it."""
    return LessonRow.from_values(lesson, **_texts_of(lesson, mask), nearness=nearness)


def lesson_detail(lesson: Listed, mask: Mask, uses: Sequence[LessonUse]) -> LessonDetail:
    """Return a lesson in full."""
    return LessonDetail.from_values(
        lesson,
        **_texts_of(lesson, mask),
        nearness=None,
        signature=full_text(lesson.signature, mask),
        error=full_text(lesson.about, mask),
        failed_code=full_text(lesson.code, mask),
        fix=full_text(lesson.fix, mask),
        uses=uses,
    )


def _texts_of(lesson: Listed, mask: Mask) -> dict[str, Any]:
    """Return the fields that differ from their stored values."""
    first = next((line for line in lesson.about.split("\n") if line.strip()), "")
    return {
        "id": f"{lesson.kind}-{lesson.id}",
        "about": short(first, mask),
        "lesson": short(lesson.lesson, mask),
        "language": short(lesson.language, mask),
        "repo": short(lesson.repo, mask),
        "uplift": uplift_of(lesson.shown, lesson.withheld),
    }
