"""Reports as they lie in their folder: the document itself as JSON beside its two renderings, for pages to draw.

A folder may hold reports of before the JSON was kept, and files of somebody else; only names that a report can have are
looked at, so a name can never lead out of the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from db.codec import decode, encode
from report.document import Page
from report.weeks import last_moment

KEPT = 128
"""So many reports stay in memory once they were read."""


class UnknownReport(LookupError):
    """There is no report of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report with the span that it is about, since ≤ t < until."""

    since: datetime
    until: datetime
    page: Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A report in its folder; `report` is None where only its renderings are there, or its JSON cannot be read."""

    name: str
    written_at: datetime
    report: Report | None


def as_text(report: Report) -> str:
    """The report as JSON, ending with a newline."""
    return encode(report) + "\n"


def names(folder: Path) -> list[str]:
    """The names of all reports in a folder, the newest span first; none where there is no folder."""
    found = [path.stem for path in folder.glob("*.md") if last_moment(path.stem) is not None]
    return sorted(found, key=lambda name: (last_moment(name), name), reverse=True)


def read(folder: Path, name: str) -> Filed:
    """One report.

    Raises:
        UnknownReport: there is none of that name.
    """
    path = path_of(folder, name)
    return Filed(name=name, written_at=_written_at(path), report=_report(path.with_suffix(".json")))


def path_of(folder: Path, name: str) -> Path:
    """Where the Markdown of a report is.

    Raises:
        UnknownReport: there is none of that name.
    """
    path = folder / f"{name}.md"
    if last_moment(name) is None or not path.is_file():
        raise UnknownReport(f"there is no report {name!r}")
    return path


def before(listed: Sequence[str], name: str) -> str | None:
    """The report before one, of those listed newest first, that is about a span named in the same way."""
    older = listed[listed.index(name) + 1 :] if name in listed else ()
    return next((other for other in older if len(other) == len(name)), None)


def _report(path: Path) -> Report | None:
    try:
        kept = path.stat()
    except OSError:
        return None
    return _decoded(path, kept.st_mtime_ns, kept.st_size)


@lru_cache(maxsize=KEPT)
def _decoded(path: Path, _mtime_ns: int, _size: int) -> Report | None:
    """The report in a file of this age and size; reading one takes milliseconds, and a list reads many."""
    try:
        return decode(Report, path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _written_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
