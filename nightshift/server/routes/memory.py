"""Serves lessons (searching, reading, retiring, export and import) and the measured value of memory as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from flask import Response, stream_with_context
from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.core.errors import NotLessons, UnknownLesson
from nightshift.core.shares import Interval, Share, difference
from nightshift.server.bodies import BadBody
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import Mask, full_text, short
from nightshift.server.query import BadQuery, Query
from nightshift.server.schemas import Answer, Sent
from nightshift.storage.memory import exchange, listing, recall_log
from nightshift.storage.memory.listing import Listed, State, Wanted
from nightshift.storage.memory.vector_index import LessonKind

MAX_QUERY = 400
MAX_IMPORT = 20_000_000
MOST_NEAR = 100
USES_SHOWN = 50
DAYS = 30
_ID = re.compile(r"(failure|pattern)-([1-9]\d{0,17})")
routes = Routes()


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


class LessonDetail(LessonRow):
    """A lesson with all its fields.

    `fix` is a unified diff. `judged_from` is the time when the owner restored the lesson. `retired_by` is `owner`, or
    `measured` if the lesson was retired because it did not help. `retired_by` is empty if the lesson is in use or the
    reason is not known. `uses` are attempts at tasks that resemble the lesson. The `arm` of a use is the group of the
    random comparison that the attempt was assigned to; it decides how much of the lesson the attempt saw.
    """

    signature: str
    error: str
    failed_code: str
    fix: str
    created_at: Moment
    retired_at: Moment | None
    retired_by: str
    judged_from: Moment | None
    uses: list[listing.Use]


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

    `shown` are attempts that were to see lessons, `control` is a random control group that saw none. `solve_rate` is
    the rate of the first group minus that of the control group; null while a group is empty. `embedder` names the model
    that computes the vectors for the search by meaning.
    """

    embedder: str
    failures: InUse
    patterns: InUse
    shown: Share
    control: Share
    solve_rate: Interval | None
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


def _uplift_of(shown: Share, without: Share) -> Interval | None:
    """Return the solve rate of the attempts that saw a lesson minus that of those without it.

    None if one of the groups is empty.
    """
    return difference(shown, without) if shown.whole and without.whole else None


def _row(lesson: Listed, mask: Mask, nearness: float | None = None) -> LessonRow:
    return LessonRow.from_values(lesson, **_texts_of(lesson, mask), nearness=nearness)


def _texts_of(lesson: Listed, mask: Mask) -> dict[str, Any]:
    """Return the fields of a row that are not simply copied from the stored lesson: shortened and computed values."""
    first = next((line for line in lesson.about.split("\n") if line.strip()), "")
    return {
        "id": f"{lesson.kind}-{lesson.id}",
        "about": short(first, mask),
        "lesson": short(lesson.lesson, mask),
        "language": short(lesson.language, mask),
        "repo": short(lesson.repo, mask),
        "uplift": _uplift_of(lesson.shown, lesson.withheld),
    }


@routes.endpoint("GET", "/api/lessons")
def list_lessons(context: AppContext, query: LessonsQuery) -> Lessons:
    """List lessons.

    The lessons are listed page by page, optionally only those that contain a text. With `like`, the lessons closest in
    meaning to a text are listed.
    """
    conn = context.database.reader()
    if query.like.strip():
        rows = _near(context, query)
        count, after = len(rows), None
    else:
        wanted = Wanted(**query.model_dump(include={"kind", "state", "language", "repo", "text"}))
        keys, count = listing.page(conn, wanted, order=query.order, limit=query.limit, offset=query.offset)
        rows = [_row(lesson, context.mask) for lesson in listing.read_all(conn, keys)]
        after = query.offset + query.limit if query.offset + query.limit < count else None
    languages, repos = listing.places(conn)
    return Lessons(lessons=rows, found=count, next_offset=after, languages=languages, repos=repos)


def _near(context: AppContext, query: LessonsQuery) -> list[LessonRow]:
    """List the lessons that match the filter and are closest in meaning to a text.

    Retired lessons are not found, because they have no vector.
    """
    if query.text or query.offset:
        raise BadQuery({"like": "cannot be combined with `text` or `offset`: leave them out"})
    conn = context.database.reader()
    near = {(match.kind, match.item): match.similarity for match in context.memory().search(query.like, MOST_NEAR)}
    return [
        _row(lesson, context.mask, nearness=max(0.0, min(1.0, near[lesson.kind, lesson.id])))
        for lesson in listing.read_all(conn, list(near))
        if query.kind in {None, lesson.kind} and query.state in {None, lesson.state}
        if query.language in {"", lesson.language} and query.repo in {"", lesson.repo}
    ][: query.limit]


@routes.endpoint("GET", "/api/lesson/{lesson_id}")
def show_lesson(context: AppContext, lesson_id: str) -> LessonDetail:
    """Show a lesson with all its fields: the failure, its fix, and the uses of the lesson with their effect."""
    lesson, mask = _read(context, lesson_id), context.mask
    return LessonDetail.from_values(
        lesson,
        **_texts_of(lesson, mask),
        signature=full_text(lesson.signature, mask),
        error=full_text(lesson.about, mask),
        failed_code=full_text(lesson.code, mask),
        fix=full_text(lesson.fix, mask),
        uses=[
            replace(use, description=short(use.description.strip().split("\n")[0], mask))
            for use in listing.uses(context.database.reader(), lesson.kind, lesson.id, USES_SHOWN)
        ],
    )


@routes.endpoint("POST", "/api/lesson/{lesson_id}/retire")
def retire_lesson(context: AppContext, lesson_id: str) -> LessonDetail:
    """Retire a lesson, so that no attempt gets it any more."""
    lesson = _read(context, lesson_id)
    wait_for(context.memory().retire(lesson.kind, lesson.id))
    return show_lesson(context, lesson_id)


@routes.endpoint("POST", "/api/lesson/{lesson_id}/restore")
def restore_lesson(context: AppContext, lesson_id: str) -> LessonDetail:
    """Restore a retired lesson. Only attempts from now on count in its measured value."""
    lesson = _read(context, lesson_id)
    wait_for(context.memory().restore(lesson.kind, lesson.id))
    return show_lesson(context, lesson_id)


@routes.endpoint("GET", "/api/learning")
def show_learning(context: AppContext) -> Learning:
    """Show the content of the memory and its measured value: the solve rate with and without lessons."""
    conn = context.database.reader()
    counts, uplift = listing.states(conn), recall_log.uplift(conn)
    days = listing.count_learned_by_day(conn, context.clock(), DAYS)
    return Learning.from_values(
        uplift,
        embedder=short(context.status().embedder, context.mask),
        failures=_in_use(counts, "failure"),
        patterns=_in_use(counts, "pattern"),
        solve_rate=_uplift_of(uplift.shown, uplift.control),
        learned=[LearnedOn(day=day, lessons=count) for day, count in days],
    )


@routes.endpoint("GET", "/api/lessons/export", media="application/x-ndjson")
def export_lessons(context: AppContext) -> Response:
    """Export every lesson in use as JSON Lines, for import into another installation. Secrets are masked."""

    def lines() -> Iterator[str]:
        return (f"{line}\n" for line in exchange.lines(context.database.reader(), context.mask))

    name = f"lessons-{context.clock():%Y-%m-%d}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(stream_with_context(lines()), headers=headers, mimetype="application/x-ndjson")


@routes.endpoint("POST", "/api/lessons/import")
def import_lessons(context: AppContext, body: LessonsIn) -> exchange.Taken:
    """Import lessons as JSON Lines. On an error no lesson is imported. Lessons that exist already are skipped."""
    try:
        lessons = exchange.read(body.lines)
    except NotLessons as error:
        raise BadBody(f"lines: nothing was imported\n{error}") from None
    return wait_for(context.database.write(lambda conn: exchange.take(conn, lessons)))


def _read(context: AppContext, name: str) -> Listed:
    """Return the lesson with this name; raises `UnknownLesson` if it does not exist."""
    if match := _ID.fullmatch(name):
        kind: LessonKind = "failure" if match[1] == "failure" else "pattern"
        if lesson := listing.read(context.database.reader(), kind, int(match[2])):
            return lesson
    raise UnknownLesson(name)


def _in_use(counts: dict[tuple[LessonKind, State], int], kind: LessonKind) -> InUse:
    return InUse(**{state.value: counts[kind, state] for state in State})
