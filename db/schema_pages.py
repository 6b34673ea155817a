"""The seventh migration: what pages ask for, and tasks that began where another one was.

Rules for its statements are those of `db.schema`.
"""

from __future__ import annotations

from db.schema_lessons import LESSONS

PAGES = (
    # Where a task began that is a fork: at the case file (steps.work) that a step of another task left behind.
    """CREATE TABLE task_forks (
        task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
        source INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        step_no INTEGER NOT NULL,
        model TEXT NOT NULL, -- who is asked first, by `backend=model`; '': as the settings say
        noted INTEGER NOT NULL, -- its owner added a remark
        work TEXT NOT NULL REFERENCES artifacts (digest))""",
    "CREATE INDEX task_forks_source ON task_forks (source)",
    "CREATE INDEX task_forks_work ON task_forks (work)",
    *LESSONS,
)
