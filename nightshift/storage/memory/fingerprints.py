"""Stores functions that failed in earlier tasks, identified by their fingerprints (`core.code.function_shapes`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere

_BATCH = 500


def add(conn: Connection, failure: int, digests: Collection[str]) -> None:
    """Record that the functions with these fingerprints failed."""
    conn.executemany(
        "INSERT INTO failed_shapes (shape, failure) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(digest, failure) for digest in sorted(digests)],
    )


def forget(conn: Connection, digests: Collection[str]) -> None:
    """Delete, on all nodes, functions that passed later, because these functions did not cause the failure."""
    elsewhere.forget(conn, "shape", digests)
    conn.executemany("DELETE FROM failed_shapes WHERE shape = ?", [(digest,) for digest in digests])


def failures(conn: Connection, digests: Collection[str]) -> Mapping[str, int]:
    """Map each of these functions that failed before to the id of its newest lesson that is not retired."""
    lesson_ids, wanted = dict[str, int](), sorted(digests)
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        marks = ", ".join("?" * len(batch))
        select = (
            "SELECT s.shape, MAX(s.failure) FROM failed_shapes AS s JOIN failures AS f ON f.id = s.failure "  # noqa: S608  question marks only
            f"WHERE s.shape IN ({marks}) AND f.solved = 1 AND f.retired = 0 GROUP BY s.shape"
        )
        lesson_ids |= {str(row[0]): int(row[1]) for row in conn.execute(select, batch)}
    return lesson_ids
