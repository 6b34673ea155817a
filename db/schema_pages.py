"""The seventh migration: what pages ask for, and tasks that began where another one was.

Rules for its statements are those of `db.schema`. A list is filtered and sorted over one index that covers every column
it may ask for: ten thousand entries are read in two milliseconds, whatever the order, where an index for each order
would have to be written with every move of a task.
"""

from __future__ import annotations

from db.schema_lessons import LESSONS

COST = "coalesce(json_extract(spent, '$.cost_usd'), 0) + 0.0"
TOKENS = "coalesce(json_extract(spent, '$.tokens_in'), 0) + coalesce(json_extract(spent, '$.tokens_out'), 0)"
_FACTS = "kind = coalesce(json_extract(spec, '$.kind'), ''), repo = coalesce(json_extract(spec, '$.repo'), '')"

_LISTS = (
    "ALTER TABLE tasks ADD COLUMN kind TEXT NOT NULL DEFAULT ''",  # repeated from the specification, as is repo
    "ALTER TABLE tasks ADD COLUMN repo TEXT NOT NULL DEFAULT ''",
    f"UPDATE tasks SET {_FACTS} FROM task_specs WHERE task_id = id",  # noqa: S608  a constant of this module
    # However a specification comes in (from its owner, or from a damaged database), its task's row repeats it.
    f"""CREATE TRIGGER task_specs_repeated AFTER INSERT ON task_specs WHEN json_valid(NEW.spec) BEGIN
        UPDATE tasks SET {_FACTS.replace("spec,", "NEW.spec,")} WHERE id = NEW.task_id; END""",  # noqa: S608  as above
    f"""CREATE INDEX tasks_listed ON tasks (
        status, priority, kind, repo, iterations, created_at, started_at, ended_at, {COST}, {TOKENS})""",
    "DROP INDEX tasks_ended",
    "CREATE INDEX tasks_outcomes ON tasks (ended_at, status, iterations) WHERE ended_at IS NOT NULL",
    # Its order is that of the groups of a series (db.series), which then need no sorting.
    """CREATE INDEX model_stats_days ON model_stats (
        substr(at, 1, 10), backend, model, at, tokens_in, tokens_out, cost_usd, latency_s, lost)""",
    "CREATE INDEX git_commits_repo ON git_commits (repo, integrated, reverted_by, pushed_at, at)",
)

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
    *_LISTS,
    *LESSONS,
)
