"""Reads reports from their folder.

The folder may contain other files. Only names that a report can have are accepted, so a name can never lead out of the
folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nightshift.report.weeks import last_moment


class UnknownReport(LookupError):
    """There is no report of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A stored report; `text` is its Markdown."""

    name: str
    written_at: datetime
    text: str


def list_names(folder: Path) -> list[str]:
    """List the names of all reports in a folder, sorted by span with the newest first; empty without a folder."""
    names = [path.stem for path in folder.glob("*.md") if last_moment(path.stem) is not None]
    return sorted(names, key=lambda name: (last_moment(name), name), reverse=True)


def read(folder: Path, name: str) -> Filed:
    """Read a report.

    Raises:
        UnknownReport: there is no report of that name.
    """
    path = folder / f"{name}.md"
    if last_moment(name) is None or not path.is_file():
        raise UnknownReport(f"there is no report {name!r}")
    written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return Filed(name=name, written_at=written_at, text=path.read_text(encoding="utf-8", errors="replace"))
