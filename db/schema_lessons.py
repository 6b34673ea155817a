"""What the seventh migration (`db.schema_pages`) adds for lessons and for what is asked of the owner.

Rules for its statements are those of `db.schema`.
"""

from __future__ import annotations

_TABLES = ("failures", "patterns")
_COLUMNS = (
    "standing TEXT NOT NULL DEFAULT 'trusted'",  # decided when an attempt ends that it was near to (memory.uplift)
    "retired_at TEXT",
    "retired_by TEXT NOT NULL DEFAULT ''",  # owner or measured; '': not noted
    "judged_from TEXT NOT NULL DEFAULT ''",  # attempts before this time say nothing: its owner restored it
)

LESSONS = (
    *(f"ALTER TABLE {table} ADD COLUMN {column}" for table in _TABLES for column in _COLUMNS),
    # A lesson of this database has the language and the repository of its task.
    *(
        f"UPDATE {table} SET {column} = coalesce((SELECT json_extract(spec, '$.{column}') "  # noqa: S608  our own names
        f"FROM task_specs AS s WHERE s.task_id = {table}.task_id AND json_valid(spec)), '') WHERE task_id IS NOT NULL"
        for table in _TABLES
        for column in ("language", "repo")
    ),
    # Lists of lessons are read from these alone: beside them lie code and fixes of many pages each.
    "CREATE INDEX failures_listed ON failures (solved, retired, standing, language, repo, fixed_at, times_used)",
    "CREATE INDEX patterns_listed ON patterns (retired, standing, language, repo, created_at, times_used)",
    "ALTER TABLE recalls ADD COLUMN ended_at TEXT",  # of the attempt; NULL where an earlier version noted its end
    "ALTER TABLE approvals ADD COLUMN answered_by TEXT NOT NULL DEFAULT ''",  # owner or assumed; '': not noted
)
