"""Reports as they lie in their folder: Markdown, HTML, and as JSON the figures that pages compare and plot.

A folder may hold reports of before the JSON was kept, and files of somebody else; only names that a report can have are
looked at, so a name can never lead out of the folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from nightshift.report.plots import Series
from nightshift.report.weeks import last_moment
from nightshift.storage.db.codec import decode, encode

KEPT = 128
"""So many reports stay in memory once they were read."""


class UnknownReport(LookupError):
    """There is no report of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure for a glance. `value` is what `shown` says in words, None where it is not known.

    `wanted` is 1 where more is better, -1 where less is, and 0 where neither can be said.
    """

    name: str
    shown: str
    value: float | None = None
    wanted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The span of a report, since ≤ t < until, its figures for a glance, and those that it compares with before."""

    since: datetime
    until: datetime
    facts: Sequence[Fact]
    trend: Sequence[Series] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A report in its folder; `report` is None where its JSON is not there or cannot be read."""

    name: str
    written_at: datetime
    report: Report | None
    text: str
    """The whole report, in Markdown."""


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
    text = path.read_text(encoding="utf-8", errors="replace")
    return Filed(name=name, written_at=_written_at(path), report=_report(path.with_suffix(".json")), text=text)


def path_of(folder: Path, name: str) -> Path:
    """Return the path of a report's Markdown.

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
    return _decode(path, kept.st_mtime_ns, kept.st_size)


@lru_cache(maxsize=KEPT)
def _decode(path: Path, _mtime_ns: int, _size: int) -> Report | None:
    """The report in a file of this age and size; reading one takes milliseconds, and a list reads many."""
    try:
        text = path.read_text(encoding="utf-8")
        return _of_before(text) or decode(Report, text)
    except (OSError, ValueError):
        return None


def _of_before(text: str) -> Report | None:
    """A report of the versions whose JSON held the whole document, `page`, drawn in blocks; None for a newer one."""
    found = json.loads(text)
    if not isinstance(found, dict) or "page" not in found:
        return None
    page = decode(_Page, encode(found.pop("page")))
    trend = [one for section in page.sections for block in section.blocks for one in block.series]
    return decode(Report, encode({**found, "facts": page.facts, "trend": trend}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    series: Sequence[Series] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    blocks: Sequence[_Block] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """The parts of an old document that are still read."""

    facts: Sequence[Fact]
    sections: Sequence[_Section]


def _written_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
