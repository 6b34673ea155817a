"""Defines the API's models of lessons, and of the measured value of memory as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.core.shares import Interval, Share, difference
from nightshift.server.formatting import Mask, full_text, short
from nightshift.server.query import Query
from nightshift.server.schemas import Answer, Sent
from nightshift.storage.memory.listing import Listed, State
from nightshift.storage.memory.recall_log import Assignment

MAX_QUERY = 400
MAX_IMPORT = 20_000_000


class LessonRow(Answer):
    """A lesson.

    `id` is, for example, `failure-12` or `pattern-3`. `about` is the error that the lesson is about, or the task that
    was solved. `shown` counts the attempts that saw the lesson, `withheld` the attempts from which it was withheld at
    random. `uplift` is the solve rate of the attempts that saw the lesson minus that of the attempts without it, null
    if one of these groups is empty. All counts include the attempts on other nodes of the hub; `elsewhere` is the
    number of those attempts. `nearness` (0 to 1) is the similarity to the text in a search by meaning.
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
    """An attempt at a task that resembles the lesson.

    `iterations` and `tokens` are the totals of the attempt, null until it has ended. `arm` is the group of the random
    comparison that the attempt was assigned to. The group decides how much of the lesson the attempt saw.
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
    """A lesson with all its fields.

    `fix` is a unified diff. `judged_from` is the time when the owner restored the lesson. `retired_by` is `owner`, or
    `measured` if the lesson was retired because it did not help. `retired_by` is empty if the lesson is in use or the
    reason is not known.
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
    """A page of lessons.

    `found` counts all matching lessons. `next_offset` is the `offset` of the next page, null on the last page.
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
    """Number of lessons that were learned on one day. `day` is a date in UTC, such as `2026-11-22`."""

    day: str
    lessons: int


class Learning(Answer):
    """Measured value of memory as a whole.

    `shown` are attempts that were to see lessons, `control` is a random control group that saw none. The estimates are
    the value of the first group minus that of the control group. `solve_rate` is null while a group is empty;
    `iterations` and `tokens` are null while a group has fewer than five attempts. `embedder` names the model that
    computes the vectors for the search by meaning.
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


class LessonsIn(Sent):
    """Lessons to import, as JSON Lines in the format of the export."""

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
    """Return the solve rate of the attempts that saw a lesson minus that of those without it.

    None if one of the groups is empty.
    """
    return difference(shown, without) if shown.whole and without.whole else None


def lesson_row(lesson: Listed, mask: Mask, nearness: float | None = None) -> LessonRow:
    """Return the lesson as a row of a list."""
    return LessonRow.from_values(lesson, **_texts_of(lesson, mask), nearness=nearness)


def lesson_detail(lesson: Listed, mask: Mask, uses: Sequence[LessonUse]) -> LessonDetail:
    """Return the lesson with all its fields. `uses` are the attempts at tasks that resemble the lesson."""
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
    """Return the fields of a row that are not simply copied from the stored lesson: shortened and computed values."""
    first = next((line for line in lesson.about.split("\n") if line.strip()), "")
    return {
        "id": f"{lesson.kind}-{lesson.id}",
        "about": short(first, mask),
        "lesson": short(lesson.lesson, mask),
        "language": short(lesson.language, mask),
        "repo": short(lesson.repo, mask),
        "uplift": uplift_of(lesson.shown, lesson.withheld),
    }
