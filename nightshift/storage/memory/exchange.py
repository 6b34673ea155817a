"""Exports and imports lessons as JSON Lines, to move them between machines. Secrets are masked in the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from nightshift.core.clock import from_text, to_text
from nightshift.core.errors import NotLessons
from nightshift.core.text.faults import WHY_CHARS, cut
from nightshift.core.text.masking import Masker
from nightshift.core.text.plain_data import read_json
from nightshift.storage.db.codec import encode, to_json_value
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory.elsewhere import Item
from nightshift.storage.memory.lessons import MAX_CODE, MAX_ERROR, MAX_FIX, MAX_LESSON
from nightshift.storage.memory.vector_index import LessonKind

MAX_LINES = 200_000
MAX_LINE_VALUES = 1000
MAX_FAULTS = 20
_SLACK = 200
_FAILURES = (
    "SELECT id, retired, signature, error, code, fix, lesson, language, repo, created_at, fixed_at AS learned_at "
    "FROM failures WHERE solved = 1 AND retired <= ? ORDER BY id"
)
_PATTERNS = (
    "SELECT id, retired, problem, solution, lesson, language, repo, created_at, created_at AS learned_at "
    "FROM patterns WHERE retired <= ? ORDER BY id"
)

Text = Annotated[str, Field(min_length=1, max_length=MAX_CODE)]


class _LessonIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lesson: Annotated[str, Field(max_length=MAX_LESSON + _SLACK)] = ""
    language: Annotated[str, Field(max_length=40)] = ""
    repo: Annotated[str, Field(max_length=1000)] = ""
    created_at: AwareDatetime
    learned_at: AwareDatetime


class FailureIn(_LessonIn):
    """A failure with its fix."""

    kind: Literal["failure"]
    signature: Annotated[str, Field(min_length=1, max_length=MAX_ERROR)]
    error: Annotated[str, Field(max_length=MAX_ERROR + _SLACK)]
    code: Annotated[str, Field(max_length=MAX_CODE)] = ""
    fix: Annotated[str, Field(max_length=MAX_FIX + _SLACK)]


class PatternIn(_LessonIn):
    """A lesson on how a task was solved."""

    kind: Literal["pattern"]
    problem: Text
    solution: Text


_LINE: TypeAdapter[FailureIn | PatternIn] = TypeAdapter(Annotated[FailureIn | PatternIn, Field(discriminator="kind")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The numbers of a file's lessons that were new in this database, and that were known already."""

    new: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A lesson of this database, and the JSON line that it is exported as."""

    item: Item
    is_retired: bool
    line: str


def lines(conn: Connection, masker: Masker) -> Iterator[str]:
    """Yield every lesson in use as a line of JSON: failures first, then patterns, each oldest first."""
    return (entry.line for entry in entries(conn, masker, retired=False))


def entries(conn: Connection, masker: Masker, *, retired: bool = True) -> Iterator[Entry]:
    """Yield every lesson in use, failures before patterns, each oldest first.

    With `retired`, the retired lessons are included.
    """
    selects: dict[LessonKind, str] = {"failure": _FAILURES, "pattern": _PATTERNS}
    for kind, select in selects.items():
        for row in conn.execute(select, (int(retired),)):
            fields = dict(zip(row.keys(), tuple(row), strict=True))
            item, is_retired = fields.pop("id"), bool(fields.pop("retired"))
            fields["learned_at"] = fields["learned_at"] or fields["created_at"]
            line = encode(masker.mask_data(to_json_value({"kind": kind, **fields})))
            yield Entry(item=(kind, item), is_retired=is_retired, line=line)


def mark(conn: Connection) -> tuple[object, ...]:
    """Return a value that changes whenever a lesson is added. This is much faster than reading the lessons."""
    failures = "SELECT count(*), max(id), max(fixed_at) FROM failures WHERE solved = 1 AND retired = 0"
    patterns = "SELECT count(*), max(id) FROM patterns WHERE retired = 0"
    return (*conn.execute(failures).fetchone(), *conn.execute(patterns).fetchone())


def read(text: str) -> list[FailureIn | PatternIn]:
    """Parse the lessons of a file.

    Raises:
        NotLessons: a line is not a lesson; the message names up to 20 faults, and no lesson is returned.
    """
    lessons, faults = list[FailureIn | PatternIn](), list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if number > MAX_LINES:
            faults.append(f"line {number}: there are more than {MAX_LINES} lines; split the file")
            break
        try:
            lessons.append(_LINE.validate_python(_parse(line)))
        except ValueError as error:
            faults.append(f"line {number}: {_reason(error)}")
            if len(faults) == MAX_FAULTS:
                break
    if faults:
        raise NotLessons("\n".join(faults))
    return lessons


def _parse(line: str) -> Mapping[str, Any]:
    data = read_json(line, most_values=MAX_LINE_VALUES)
    if not isinstance(data, dict):
        raise ValueError("must be a JSON object")
    for name in ("created_at", "learned_at"):
        if isinstance(data.get(name), str):
            data[name] = from_text(data[name])
    return data


def _reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return cut(f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}", WHY_CHARS)
    return str(error)


def take(conn: Connection, lessons: Sequence[FailureIn | PatternIn]) -> Taken:
    """Store lessons inside a write job, except those whose problem and solution are stored already.

    The stored lessons belong to no task. Their counts of uses begin at zero, because the counts on the other machine do
    not apply here.
    """
    new = sum(_failure(conn, lesson) if isinstance(lesson, FailureIn) else _pattern(conn, lesson) for lesson in lessons)
    return Taken(new=new, known=len(lessons) - new)


def _failure(conn: Connection, lesson: FailureIn) -> bool:
    if conn.execute(
        "SELECT 1 FROM failures WHERE signature = ? AND fix = ?", (lesson.signature, lesson.fix)
    ).fetchone():
        return False
    conn.execute(
        "INSERT INTO failures (signature, error, code, fix, lesson, language, repo, solved, created_at, fixed_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
        (
            lesson.signature,
            lesson.error,
            lesson.code,
            lesson.fix,
            lesson.lesson,
            lesson.language,
            lesson.repo,
            *_times(lesson),
        ),
    )
    return True


def _pattern(conn: Connection, lesson: PatternIn) -> bool:
    select = "SELECT 1 FROM patterns WHERE problem = ? AND solution = ?"
    if conn.execute(select, (lesson.problem, lesson.solution)).fetchone():
        return False
    conn.execute(
        "INSERT INTO patterns (problem, solution, lesson, language, repo, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (lesson.problem, lesson.solution, lesson.lesson, lesson.language, lesson.repo, _times(lesson)[1]),
    )
    return True


def _times(lesson: _LessonIn) -> tuple[str, str]:
    """Return when a lesson was created and when it was learned. Future times are replaced by the current time."""
    now = datetime.now(UTC)
    return to_text(min(lesson.created_at, now)), to_text(min(lesson.learned_at, now))
