"""The SQL of warnings: which functions (`memory.shapes`) failed before, and by which failure that is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from core.tasks import Change
from db.sqlite import Connection
from memory.shapes import shapes

MOST_EACH = 20
"""Functions of one failure; a change that rewrites more says nothing about any of them."""
_BATCH = 500


def shapes_of(change: Change) -> set[str]:
    """The fingerprints of all functions of a change."""
    return {one.digest for path, text in change.items() if text and path.endswith(".py") for one in shapes(text)}


def changed_by_fix(failing: Change, passing: Collection[str]) -> set[str]:
    """The functions of a change that failed which are no more there in the one that passed; none of too many."""
    found = shapes_of(failing) - set(passing)
    return found if len(found) <= MOST_EACH else set()


def add(conn: Connection, failure: int, digests: Collection[str]) -> None:
    """Note that these functions failed."""
    conn.executemany(
        "INSERT INTO failed_shapes (shape, failure) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(digest, failure) for digest in sorted(digests)],
    )


def forget(conn: Connection, digests: Collection[str]) -> None:
    """Take back what was noted of functions that have passed since: the fault lay elsewhere."""
    conn.executemany("DELETE FROM failed_shapes WHERE shape = ?", [(digest,) for digest in digests])


def failures(conn: Connection, digests: Collection[str]) -> Mapping[str, int]:
    """Those of the functions that failed before, each with the newest lesson on it that has not retired."""
    found, wanted = dict[str, int](), sorted(digests)
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        marks = ", ".join("?" * len(batch))
        select = (
            "SELECT s.shape, MAX(s.failure) FROM failed_shapes AS s JOIN failures AS f ON f.id = s.failure "  # noqa: S608  question marks only
            f"WHERE s.shape IN ({marks}) AND f.solved = 1 AND f.retired = 0 GROUP BY s.shape"
        )
        found |= {str(row[0]): int(row[1]) for row in conn.execute(select, batch)}
    return found
