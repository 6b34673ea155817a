"""Counts of well-formed and malformed tool calls of each model, separately for native calls and for calls in text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nightshift.core.tools import FormCounts, FormReport, KnownForms, ToolProtocol
from nightshift.storage.db.codec import storable
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection

_DATED = re.compile(r"-\d{4}[\d-]*")
"""Matches a date that vendors append to a model's name in their replies: `-2026-08-07`, `-20260807`."""


def add(conn: Connection, reports: Iterable[FormReport]) -> None:
    """Add the counts of well-formed and malformed calls, inside a write job."""
    for report in reports:
        conn.execute(
            "INSERT INTO tool_forms (backend, model, protocol, well, malformed) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET well = well + excluded.well, malformed = malformed + excluded.malformed",
            (
                storable(report.backend),
                storable(report.model),
                report.protocol,
                report.counts.well,
                report.counts.malformed,
            ),
        )


class ToolForms:
    """Reads the counts of tool calls; thread-safe.

    Args:
        db: the database.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    def read_counts(self, backend: str, model: str) -> KnownForms:
        """Return the counts of a model's calls, by their form. Names of the model with a vendor's date are included."""
        query = "SELECT model, protocol, well, malformed FROM tool_forms WHERE backend = ? AND substr(model, 1, ?) = ?"
        name, counts = storable(model), dict[ToolProtocol, FormCounts]()
        for answered, protocol, well, malformed in self._db.reader().execute(
            query, (storable(backend), len(name), name)
        ):
            if answered == name or _DATED.fullmatch(answered, len(name)):
                form = ToolProtocol(protocol)
                counts[form] = counts.get(form, FormCounts()) + FormCounts(well=well, malformed=malformed)
        return counts
