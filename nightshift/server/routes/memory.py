"""Serves lessons (searching, reading, retiring, export and import) and the measured value of memory as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flask import Response, stream_with_context

from nightshift.core.errors import NotLessons, UnknownLesson
from nightshift.server.bodies import BadBody
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import short
from nightshift.server.lesson_answers import (
    InUse,
    LearnedOn,
    Learning,
    LessonDetail,
    LessonRow,
    Lessons,
    LessonsIn,
    LessonsQuery,
    LessonUse,
    lesson_detail,
    lesson_row,
    uplift_of,
)
from nightshift.server.query import BadQuery
from nightshift.storage.memory import exchange, listing, recall_log
from nightshift.storage.memory.listing import Key, State, Wanted
from nightshift.storage.memory.vector_index import LessonKind

routes = Routes()

MOST_NEAR = 100
USES_SHOWN = 50
DAYS = 30
_ID = re.compile(r"(failure|pattern)-([1-9]\d{0,17})")


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
        rows = [lesson_row(lesson, context.mask) for lesson in listing.read_all(conn, keys)]
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
        lesson_row(lesson, context.mask, nearness=max(0.0, min(1.0, near[lesson.kind, lesson.id])))
        for lesson in listing.read_all(conn, list(near))
        if query.kind in {None, lesson.kind} and query.state in {None, lesson.state}
        if query.language in {"", lesson.language} and query.repo in {"", lesson.repo}
    ][: query.limit]


@routes.endpoint("GET", "/api/lesson/{lesson_id}")
def show_lesson(context: AppContext, lesson_id: str) -> LessonDetail:
    """Show a lesson with all its fields: the failure, its fix, and the uses of the lesson with their effect."""
    return _detail(context, _key(lesson_id))


@routes.endpoint("POST", "/api/lesson/{lesson_id}/retire")
def retire_lesson(context: AppContext, lesson_id: str) -> LessonDetail:
    """Retire a lesson, so that no attempt gets it any more."""
    key = _check_key(context, lesson_id)
    wait_for(context.memory().retire(*key))
    return _detail(context, key)


@routes.endpoint("POST", "/api/lesson/{lesson_id}/restore")
def restore_lesson(context: AppContext, lesson_id: str) -> LessonDetail:
    """Restore a retired lesson. Only attempts from now on count in its measured value."""
    key = _check_key(context, lesson_id)
    wait_for(context.memory().restore(*key))
    return _detail(context, key)


@routes.endpoint("GET", "/api/learning")
def show_learning(context: AppContext) -> Learning:
    """Show the content of the memory and its measured value.

    The value is given as solve rate, iterations and tokens with and without lessons.
    """
    conn = context.database.reader()
    counts, uplift = listing.states(conn), recall_log.uplift(conn)
    days = listing.count_learned_by_day(conn, context.clock(), DAYS)
    return Learning.from_values(
        uplift,
        embedder=short(context.status().embedder, context.mask),
        failures=_in_use(counts, "failure"),
        patterns=_in_use(counts, "pattern"),
        solve_rate=uplift_of(uplift.shown, uplift.control),
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


def _key(name: str) -> Key:
    match = _ID.fullmatch(name)
    if match is None:
        raise UnknownLesson(name)
    kind: LessonKind = "failure" if match[1] == "failure" else "pattern"
    return kind, int(match[2])


def _check_key(context: AppContext, name: str) -> Key:
    """Return the key of a lesson; raises `UnknownLesson` if the lesson does not exist."""
    key = _key(name)
    if listing.read(context.database.reader(), *key) is None:
        raise UnknownLesson(name)
    return key


def _detail(context: AppContext, key: Key) -> LessonDetail:
    conn = context.database.reader()
    lesson = listing.read(conn, *key)
    if lesson is None:
        raise UnknownLesson(f"{key[0]}-{key[1]}")
    uses = [
        LessonUse.from_values(use, description=short(use.description.strip().split("\n")[0], context.mask))
        for use in listing.uses(conn, *key, USES_SHOWN)
    ]
    return lesson_detail(lesson, context.mask, uses)


def _in_use(counts: dict[tuple[LessonKind, State], int], kind: LessonKind) -> InUse:
    return InUse(**{state.value: counts[kind, state] for state in State})
