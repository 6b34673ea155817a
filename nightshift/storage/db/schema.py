"""The SQL of most migrations, which creates the tables. It was released, so it is never edited.

Times are texts in the form of `core.clock.to_text`, which sort in the order of time. JSON is stored as text. Long texts
are rows of `artifacts`, referenced by their digest. A task that must not be claimed has a status of its own, with its
own partial index. So a claim never has to skip rows, and its time does not grow. A task's specification may have
megabytes (files, tests), and SQLite rewrites a row as a whole at each heartbeat, so the specification is in a separate
table. A list of tasks is filtered and sorted by reading a single index. This index contains every column by which lists
are filtered or sorted, so ten thousand entries are read in two milliseconds, in any order. A separate index for each
order would have to be updated whenever a task changes its status.
"""

from __future__ import annotations

QUEUE = (
    """CREATE TABLE tasks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        status TEXT NOT NULL,
        priority INTEGER NOT NULL,
        key TEXT,
        description TEXT NOT NULL,
        ending TEXT,
        reason TEXT NOT NULL DEFAULT '',
        attempt INTEGER NOT NULL DEFAULT 0,
        tries INTEGER NOT NULL DEFAULT 0, -- attempts since a person last asked
        resume INTEGER NOT NULL DEFAULT 0, -- the next claim goes on with this attempt
        crashes INTEGER NOT NULL DEFAULT 0, -- since the last progress
        worker TEXT,
        fence INTEGER NOT NULL DEFAULT 0,
        lease_until TEXT,
        not_before TEXT, -- NULL while scheduled: until a model is back
        cancel_requested INTEGER NOT NULL DEFAULT 0,
        iterations INTEGER NOT NULL DEFAULT 0,
        commit_id TEXT,
        branch TEXT,
        spent TEXT NOT NULL DEFAULT '{}',
        created_at TEXT NOT NULL,
        started_at TEXT,
        ended_at TEXT)""",
    "CREATE INDEX tasks_ready ON tasks (priority DESC, id) WHERE status = 'queued'",
    "CREATE INDEX tasks_due ON tasks (not_before) WHERE status = 'scheduled'",
    "CREATE INDEX tasks_leased ON tasks (lease_until) WHERE status = 'running'",
    "CREATE UNIQUE INDEX tasks_key ON tasks (key) WHERE key IS NOT NULL",
    "CREATE INDEX tasks_status ON tasks (status, id)",
    "CREATE TABLE task_specs (task_id INTEGER PRIMARY KEY REFERENCES tasks (id), spec TEXT NOT NULL)",
    """CREATE TABLE task_dependencies (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        depends_on INTEGER NOT NULL REFERENCES tasks (id),
        PRIMARY KEY (task_id, depends_on)) WITHOUT ROWID""",
    "CREATE INDEX task_dependants ON task_dependencies (depends_on)",
    """CREATE TABLE approvals (
        id INTEGER PRIMARY KEY,
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL,
        question TEXT NOT NULL,
        answer TEXT,
        asked_at TEXT NOT NULL,
        answered_at TEXT)""",
    "CREATE INDEX approvals_task ON approvals (task_id)",
)

LOG = (
    """CREATE TABLE execution_logs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        level TEXT NOT NULL,
        kind TEXT NOT NULL,
        message TEXT NOT NULL,
        task_id INTEGER,
        attempt INTEGER,
        iteration INTEGER,
        phase TEXT,
        worker TEXT,
        data TEXT NOT NULL DEFAULT '{}')""",
    "CREATE INDEX execution_logs_task ON execution_logs (task_id, id) WHERE task_id IS NOT NULL",
    "CREATE INDEX execution_logs_bad ON execution_logs (id) WHERE level IN ('WARNING', 'ERROR')",
    "CREATE TABLE artifacts (digest TEXT PRIMARY KEY, chars INTEGER NOT NULL, body BLOB NOT NULL, at TEXT NOT NULL)",
)

STEPS = (
    """CREATE TABLE steps (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL,
        step_no INTEGER NOT NULL,
        iteration INTEGER NOT NULL,
        phase TEXT NOT NULL,
        outcome TEXT NOT NULL,
        note TEXT NOT NULL,
        data TEXT NOT NULL,
        work TEXT NOT NULL REFERENCES artifacts (digest),
        passed INTEGER,
        failed INTEGER,
        total INTEGER,
        started_at TEXT NOT NULL,
        ended_at TEXT NOT NULL,
        duration_s REAL NOT NULL,
        PRIMARY KEY (task_id, attempt, step_no))""",
    """CREATE TABLE iterations (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL,
        iteration INTEGER NOT NULL,
        phases TEXT NOT NULL, -- [[phase, outcome, seconds], …]
        passed INTEGER,
        failed INTEGER,
        total INTEGER,
        tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        cost_usd REAL NOT NULL,
        duration_s REAL NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT NOT NULL,
        PRIMARY KEY (task_id, attempt, iteration))""",
    """CREATE TABLE replies (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL,
        step_no INTEGER NOT NULL,
        call_no INTEGER NOT NULL,
        iteration INTEGER NOT NULL,
        phase TEXT NOT NULL,
        backend TEXT NOT NULL,
        model TEXT NOT NULL,
        tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        cost_usd REAL,
        latency_s REAL NOT NULL,
        finish TEXT NOT NULL,
        prompt TEXT NOT NULL REFERENCES artifacts (digest),
        reply TEXT NOT NULL REFERENCES artifacts (digest), -- the text
        rest TEXT NOT NULL, -- the completion without its text
        at TEXT NOT NULL,
        PRIMARY KEY (task_id, attempt, step_no, call_no))""",
)

MEMORY = (
    """CREATE TABLE failures (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task_id INTEGER,
        attempt INTEGER,
        signature TEXT NOT NULL, -- normalised: no addresses, numbers, paths
        error TEXT NOT NULL,
        code TEXT NOT NULL DEFAULT '', -- what failed, as a diff
        fix TEXT NOT NULL DEFAULT '',
        lesson TEXT NOT NULL DEFAULT '',
        language TEXT NOT NULL DEFAULT '',
        repo TEXT NOT NULL DEFAULT '',
        embedder TEXT NOT NULL DEFAULT '',
        embedding BLOB,
        solved INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL,
        fixed_at TEXT,
        last_used_at TEXT,
        times_used INTEGER NOT NULL DEFAULT 0,
        helped INTEGER NOT NULL DEFAULT 0,
        retired INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX failures_signature ON failures (signature)",
    "CREATE INDEX failures_task ON failures (task_id, attempt)",
    """CREATE TABLE patterns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task_id INTEGER,
        problem TEXT NOT NULL,
        solution TEXT NOT NULL,
        lesson TEXT NOT NULL DEFAULT '',
        language TEXT NOT NULL DEFAULT '',
        repo TEXT NOT NULL DEFAULT '',
        embedder TEXT NOT NULL DEFAULT '',
        embedding BLOB,
        created_at TEXT NOT NULL,
        last_used_at TEXT,
        times_used INTEGER NOT NULL DEFAULT 0,
        helped INTEGER NOT NULL DEFAULT 0,
        retired INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX patterns_task ON patterns (task_id)",
)

STATE = (
    """CREATE TABLE git_commits (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        task_id INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        repo TEXT NOT NULL,
        branch TEXT NOT NULL,
        commit_id TEXT NOT NULL,
        base TEXT NOT NULL,
        subject TEXT NOT NULL,
        label TEXT NOT NULL,
        model TEXT NOT NULL,
        iterations INTEGER NOT NULL,
        integrated INTEGER NOT NULL,
        UNIQUE (repo, commit_id))""",
    "CREATE INDEX git_commits_task ON git_commits (task_id)",
    """CREATE TABLE model_stats (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        task_id INTEGER,
        attempt INTEGER,
        phase TEXT NOT NULL,
        backend TEXT NOT NULL,
        model TEXT NOT NULL,
        tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        cost_usd REAL, -- NULL: the price is not known
        latency_s REAL NOT NULL)""",
    "CREATE INDEX model_stats_at ON model_stats (at)",
    "CREATE TABLE metrics (id INTEGER PRIMARY KEY, at TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL)",
    "CREATE INDEX metrics_name ON metrics (name, at)",
    "CREATE TABLE system_state (key TEXT PRIMARY KEY, value TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID",
)

# The second migration: a memory has one vector for each embedder, so the vectors get a table of their own.
VECTORS = (
    """CREATE TABLE memory_vectors (
        id INTEGER PRIMARY KEY,
        embedder TEXT NOT NULL,
        kind TEXT NOT NULL, -- failure or pattern
        item INTEGER NOT NULL, -- its id
        vector BLOB NOT NULL, -- float32, little endian, of length 1
        UNIQUE (embedder, kind, item))""",
    *(
        f"ALTER TABLE {table} DROP COLUMN {column}"
        for table in ("failures", "patterns")
        for column in ("embedder", "embedding")
    ),
)

# The third migration: a question states what a yes allows, and is answered with yes or no.
APPROVALS = (
    "ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'question'",
    "ALTER TABLE approvals ADD COLUMN subject TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE approvals ADD COLUMN granted INTEGER",  # NULL until it is answered
    "UPDATE approvals SET granted = 1 WHERE answered_at IS NOT NULL",
    "CREATE INDEX approvals_open ON approvals (task_id) WHERE granted IS NULL",
)

# The fourth migration: which replies of the built-in engine made a call to a model unnecessary, and the backend that
# would have been called.
SAVED = (
    "ALTER TABLE model_stats ADD COLUMN saved TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX git_commits_at ON git_commits (at)",
)

# The fifth migration: the reasons why claims are held back, by source, and the owner's actions on commits.
HOLDS = (
    """CREATE TABLE holds (
        source TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        since TEXT NOT NULL) WITHOUT ROWID""",
    """INSERT INTO holds (source, reason, since)
        SELECT CASE json_extract(value, '$.reason') WHEN 'checkpoint' THEN 'checkpoint' ELSE 'owner' END,
            json_extract(value, '$.reason'), json_extract(value, '$.since') FROM system_state WHERE key = 'pause'""",
    "DELETE FROM system_state WHERE key = 'pause'",
    "ALTER TABLE git_commits ADD COLUMN reviewed_at TEXT",
    "ALTER TABLE git_commits ADD COLUMN reverted_by TEXT",  # the commit that reverts it
    "ALTER TABLE git_commits ADD COLUMN target TEXT NOT NULL DEFAULT ''",  # full name of the branch with it
    "ALTER TABLE git_commits ADD COLUMN pushed_at TEXT",
    "ALTER TABLE git_commits ADD COLUMN files TEXT",  # [[path, lines added, removed], …]; NULL: not known
    "ALTER TABLE git_commits ADD COLUMN signs TEXT",  # of the attempt (storage.db.commit_signs); NULL: not known
    "ALTER TABLE iterations ADD COLUMN lessons INTEGER",  # number recalled for the attempt so far; NULL: not known
    "CREATE INDEX git_commits_unread ON git_commits (id) WHERE reviewed_at IS NULL",
    "CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL",
    "ALTER TABLE tasks ADD COLUMN spent_before TEXT NOT NULL DEFAULT '{}'",  # spent until the owner's last request
    "ALTER TABLE model_stats ADD COLUMN lost INTEGER NOT NULL DEFAULT 0",  # the reply broke off
    "CREATE INDEX model_stats_task ON model_stats (task_id) WHERE task_id IS NOT NULL",
    # Tasks whose steps and replies were deleted, and the setting that asked for it.
    """CREATE TABLE pruned_work (
        task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
        at TEXT NOT NULL,
        setting TEXT NOT NULL)""",
    "CREATE INDEX steps_work ON steps (work)",
    "CREATE INDEX replies_prompt ON replies (prompt)",
    "CREATE INDEX replies_reply ON replies (reply)",
    """CREATE INDEX execution_logs_artifact ON execution_logs (json_extract(data, '$.artifact'))
        WHERE substr(data, 1, 6) = '{"cut"'""",
    "ALTER TABLE task_specs ADD COLUMN digest TEXT NOT NULL DEFAULT ''",  # digest of the id and the text; '': not known
    # Attempts whose lessons were scored already. If the daemon dies before the task is finished, the attempt ends
    # twice, but must be scored only once.
    """CREATE TABLE concluded (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL,
        PRIMARY KEY (task_id, attempt)) WITHOUT ROWID""",
)

TABLES = (*QUEUE, *LOG, *STEPS, *MEMORY, *STATE)


# The sixth migration: outcomes of attempts, by the lessons that they were shown and by the models that they asked.

LEARNING = (
    """CREATE TABLE recalls (
        task_id INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        kind TEXT NOT NULL, -- failure or pattern
        item INTEGER NOT NULL, -- its id
        arm TEXT NOT NULL, -- shown; control: the attempt sees nothing; probation: this lesson is left out
        score REAL NOT NULL,
        at TEXT NOT NULL,
        solved INTEGER, -- NULL until the attempt has ended
        iterations INTEGER,
        tokens INTEGER,
        PRIMARY KEY (task_id, attempt, kind, item)) WITHOUT ROWID""",
    "CREATE INDEX recalls_item ON recalls (kind, item)",
    # Functions that failed and were then fixed, identified by a fingerprint that ignores names.
    """CREATE TABLE failed_shapes (
        shape TEXT NOT NULL,
        failure INTEGER NOT NULL, -- its id
        PRIMARY KEY (shape, failure)) WITHOUT ROWID""",
    # A vector's id is never used twice, so a copy of the table in memory recognises new vectors by their ids.
    """CREATE TABLE memory_vectors_kept (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        embedder TEXT NOT NULL,
        kind TEXT NOT NULL, -- failure or pattern
        item INTEGER NOT NULL, -- its id
        vector BLOB NOT NULL, -- float32, little endian, of length 1
        signs BLOB, -- its sketch (memory.signs); NULL where an earlier version wrote it
        UNIQUE (embedder, kind, item))""",
    """INSERT INTO memory_vectors_kept (id, embedder, kind, item, vector)
        SELECT id, embedder, kind, item, vector FROM memory_vectors""",
    "DROP TABLE memory_vectors",
    "ALTER TABLE memory_vectors_kept RENAME TO memory_vectors",
    "CREATE INDEX memory_signs ON memory_vectors (embedder, kind, id, signs)",
    "ALTER TABLE approvals ADD COLUMN fallback TEXT NOT NULL DEFAULT ''",  # assumed when nobody answers in time
    # The task's kind and the iteration of a call, because the results of a model are counted by kind of task.
    "ALTER TABLE model_stats ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE model_stats ADD COLUMN iteration INTEGER NOT NULL DEFAULT 0",
    # The models that an attempt asks. Decided once, so that a resumed attempt asks the same models.
    """CREATE TABLE model_routes (
        task_id INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        ladder TEXT NOT NULL, -- ["backend=model", …], the weakest first
        first TEXT NOT NULL, -- the one that begins
        cheap TEXT NOT NULL, -- the one for easy phases
        explored INTEGER NOT NULL, -- it was drawn by lot, to learn
        why TEXT NOT NULL,
        PRIMARY KEY (task_id, attempt)) WITHOUT ROWID""",
)


# The seventh migration: columns of lessons and questions, indexes for pages, and tasks that begin where another one
# stopped.

_TABLES = ("failures", "patterns")
_COLUMNS = (
    "standing TEXT NOT NULL DEFAULT 'trusted'",  # decided when an attempt that saw it ends (memory.lesson_standing)
    "retired_at TEXT",
    "retired_by TEXT NOT NULL DEFAULT ''",  # owner or measured; '': not recorded
    "judged_from TEXT NOT NULL DEFAULT ''",  # attempts before the owner restored the lesson do not count
)

LESSONS = (
    *(f"ALTER TABLE {table} ADD COLUMN {column}" for table in _TABLES for column in _COLUMNS),
    # A lesson that was learned in this database gets the language and the repository of its task.
    *(
        f"UPDATE {table} SET {column} = coalesce((SELECT json_extract(spec, '$.{column}') "  # noqa: S608  our own names
        f"FROM task_specs AS s WHERE s.task_id = {table}.task_id AND json_valid(spec)), '') WHERE task_id IS NOT NULL"
        for table in _TABLES
        for column in ("language", "repo")
    ),
    # Lists of lessons are read from these indexes alone, because the rows hold many pages of code and fixes.
    "CREATE INDEX failures_listed ON failures (solved, retired, standing, language, repo, fixed_at, times_used)",
    "CREATE INDEX patterns_listed ON patterns (retired, standing, language, repo, created_at, times_used)",
    "ALTER TABLE recalls ADD COLUMN ended_at TEXT",  # end of the attempt; NULL if an earlier version recorded it
    "ALTER TABLE approvals ADD COLUMN answered_by TEXT NOT NULL DEFAULT ''",  # owner or assumed; '': not recorded
)


COST = "coalesce(json_extract(spent, '$.cost_usd'), 0) + 0.0"
TOKENS = "coalesce(json_extract(spent, '$.tokens_in'), 0) + coalesce(json_extract(spent, '$.tokens_out'), 0)"
_FACTS = "kind = coalesce(json_extract(spec, '$.kind'), ''), repo = coalesce(json_extract(spec, '$.repo'), '')"

_LISTS = (
    "ALTER TABLE tasks ADD COLUMN kind TEXT NOT NULL DEFAULT ''",  # copied from the specification, as is repo
    "ALTER TABLE tasks ADD COLUMN repo TEXT NOT NULL DEFAULT ''",
    f"UPDATE tasks SET {_FACTS} FROM task_specs WHERE task_id = id",  # noqa: S608  a constant of this module
    # Whenever a specification is inserted (by the owner, or by a restore), the copies in its task's row are set.
    f"""CREATE TRIGGER task_specs_repeated AFTER INSERT ON task_specs WHEN json_valid(NEW.spec) BEGIN
        UPDATE tasks SET {_FACTS.replace("spec,", "NEW.spec,")} WHERE id = NEW.task_id; END""",  # noqa: S608  as above
    f"""CREATE INDEX tasks_listed ON tasks (
        status, priority, kind, repo, iterations, created_at, started_at, ended_at, {COST}, {TOKENS})""",
    "DROP INDEX tasks_ended",
    "CREATE INDEX tasks_outcomes ON tasks (ended_at, status, iterations) WHERE ended_at IS NOT NULL",
    # The columns are in the order in which charts are grouped (storage.db.series), so that nothing has to be sorted.
    """CREATE INDEX model_stats_days ON model_stats (
        substr(at, 1, 10), backend, model, at, tokens_in, tokens_out, cost_usd, latency_s, lost)""",
    "CREATE INDEX git_commits_repo ON git_commits (repo, integrated, reverted_by, pushed_at, at)",
)

PAGES = (
    # The step of another task at which a fork began, by the digest of the case file (steps.work) after that step.
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

# The eighth migration: how well models call tools, natively or as text.
FORMS = (
    """CREATE TABLE tool_forms (
        backend TEXT NOT NULL,
        model TEXT NOT NULL,
        protocol TEXT NOT NULL,
        well INTEGER NOT NULL, -- replies whose calls could be read
        malformed INTEGER NOT NULL,
        PRIMARY KEY (backend, model, protocol)) WITHOUT ROWID""",
)

# The ninth migration: the result of each tool call, identified by the reply that contains it and its number in that
# reply.
TOOLS = (
    """CREATE TABLE tool_calls (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL,
        step_no INTEGER NOT NULL,
        call_no INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        name TEXT NOT NULL,
        brief TEXT NOT NULL,
        arguments TEXT NOT NULL REFERENCES artifacts (digest), -- JSON
        result TEXT NOT NULL REFERENCES artifacts (digest), -- the text
        change TEXT REFERENCES artifacts (digest), -- the whole change after the call; NULL: as it was before
        ok INTEGER NOT NULL,
        took_s REAL NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (task_id, attempt, step_no, call_no, seq))""",
    "CREATE INDEX tool_calls_arguments ON tool_calls (arguments)",
    "CREATE INDEX tool_calls_result ON tool_calls (result)",
    "CREATE INDEX tool_calls_change ON tool_calls (change) WHERE change IS NOT NULL",
)

# The sixteenth migration: the project of each task, and the packages of commits that landed in each project.
PROJECTS = (
    "ALTER TABLE tasks ADD COLUMN project TEXT",  # '': root of the workspace; NULL: undecided or outside of it
    """UPDATE tasks SET project = (
        SELECT json_extract(spec, '$.project') FROM task_specs WHERE task_id = id AND json_valid(spec))""",
    # Before there were projects, everything landed at the root.
    "UPDATE system_state SET value = json_object('', json(value)) WHERE key = 'landed_packages'",
)

# The seventeenth migration: settings for all tasks of a repository (core.tasks.repository_settings).
REPOSITORY_SETTINGS = (
    """CREATE TABLE repository_settings (
        repo TEXT PRIMARY KEY, -- the folder of its checkout
        settings TEXT NOT NULL, -- JSON
        at TEXT NOT NULL) WITHOUT ROWID""",
)

# The eighteenth migration: earlier ends of tasks that were tried again, so that each end is counted at its own time.
EARLIER_ENDS = (
    """CREATE TABLE earlier_ends (
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        ended_at TEXT NOT NULL,
        status TEXT NOT NULL,
        iterations INTEGER NOT NULL)""",
    "CREATE INDEX earlier_ends_when ON earlier_ends (ended_at)",
)

# The nineteenth migration: forks whose commit stays on its branch, and tasks that land the result of a fork.
KEPT_FORKS = (
    "ALTER TABLE task_forks ADD COLUMN held INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE task_forks ADD COLUMN keeps INTEGER NOT NULL DEFAULT 0",
)

# The twentieth migration: indexes for the replay of a few hours on a page, by time and by task.
REPLAY = (
    """CREATE INDEX steps_when ON steps (
        ended_at, started_at, task_id, attempt, step_no, iteration, phase, outcome, passed, failed)""",
    "CREATE INDEX execution_logs_claims ON execution_logs (task_id, at, worker) WHERE kind = 'task_claimed'",
)

# The twenty-first migration: messages that the owner sent to a task while it was open.
TASK_MESSAGES = (
    """CREATE TABLE task_messages (
        id INTEGER PRIMARY KEY,
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        attempt INTEGER NOT NULL, -- 0: before the first
        text TEXT NOT NULL,
        interrupts INTEGER NOT NULL, -- the model's request under way is not waited for
        at TEXT NOT NULL)""",
    "CREATE INDEX task_messages_task ON task_messages (task_id)",
)

# The twenty-second migration: tasks in a hub's queue, and reports that must still be sent to the hub.
SHARED_TASKS = (
    "ALTER TABLE tasks ADD COLUMN hub_id INTEGER",
    "ALTER TABLE tasks ADD COLUMN hub_fence INTEGER",
    "CREATE UNIQUE INDEX tasks_hub ON tasks (hub_id) WHERE hub_id IS NOT NULL",
    "CREATE INDEX tasks_held ON tasks (hub_fence) WHERE hub_fence IS NOT NULL",
    """CREATE TABLE hub_outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task_id INTEGER NOT NULL REFERENCES tasks (id),
        what TEXT NOT NULL, -- submit, retry, cancel, withdraw, prioritise
        value INTEGER)""",
    "CREATE INDEX hub_outbox_task ON hub_outbox (task_id)",
)

# The twenty-third migration: data about lessons that the nodes of a hub exchange in addition to the lessons' texts
# (storage.memory.elsewhere).
LESSONS_ELSEWHERE = (
    """CREATE TABLE lesson_keys (
        kind TEXT NOT NULL, -- failure or pattern
        item INTEGER NOT NULL, -- its id
        key TEXT NOT NULL, -- what all nodes know it by
        PRIMARY KEY (kind, item)) WITHOUT ROWID""",
    "CREATE INDEX lesson_keys_key ON lesson_keys (key)",
    # Sums over all other nodes. They count attempts since a time (like `patterns.judged_from`).
    """CREATE TABLE lesson_tallies (
        key TEXT PRIMARY KEY, -- '': attempts from which any lesson was withheld
        judged_from TEXT NOT NULL,
        used INTEGER NOT NULL,
        helped INTEGER NOT NULL,
        shown INTEGER NOT NULL,
        shown_solved INTEGER NOT NULL,
        withheld INTEGER NOT NULL,
        withheld_solved INTEGER NOT NULL) WITHOUT ROWID""",
    # Lessons that were deleted and must not come back from another node.
    """CREATE TABLE forgotten (
        kind TEXT NOT NULL, -- lesson or shape
        key TEXT NOT NULL, -- the lesson's key, or the shape
        PRIMARY KEY (kind, key)) WITHOUT ROWID""",
)

# The twenty-fourth migration: drafts in the ledger of commits, and tasks whose next attempts begin with a draft.
DRAFTS = (
    "ALTER TABLE tasks ADD COLUMN draft_attempt INTEGER NOT NULL DEFAULT 0",  # next attempts begin with its draft
    "CREATE INDEX git_commits_drafts ON git_commits (task_id, at, repo) WHERE label = 'draft'",
)

# The twenty-fifth migration: commits whose branch the owner discarded.
DISCARDED = ("ALTER TABLE git_commits ADD COLUMN discarded_at TEXT",)

# The twenty-seventh migration: a row of the ledger of calls may be the sum of several calls of a day.
SUMMED_CALLS = (
    "ALTER TABLE model_stats ADD COLUMN calls INTEGER NOT NULL DEFAULT 1",
    "DROP INDEX model_stats_days",
    """CREATE INDEX model_stats_days ON model_stats (
        substr(at, 1, 10), backend, model, at, tokens_in, tokens_out, cost_usd, latency_s, lost, calls)""",
)

# The twenty-eighth migration: commits in the daemon's own workspace have no path, since the home folder may be moved.
OWN_COMMITS = (
    """UPDATE OR REPLACE git_commits SET repo = '' WHERE task_id IN (
        SELECT task_id FROM task_specs WHERE json_extract(spec, '$.repo') IS NULL)""",
)

# The twenty-ninth migration: indexes for time spans in reports and pages, so that no table is read completely.
SPANS = (
    "CREATE INDEX execution_logs_kind ON execution_logs (kind, at)",
    "CREATE INDEX failures_when ON failures (created_at)",
    "CREATE INDEX tasks_created ON tasks (created_at)",
)

# The thirtieth migration: commits are listed by risk, in points, which are counted after the commit (report.ranking).
RISK = (
    "ALTER TABLE git_commits ADD COLUMN points INTEGER",  # NULL: not counted yet, listed first
    """CREATE INDEX git_commits_risk ON git_commits
        ((reviewed_at IS NOT NULL OR reverted_by IS NOT NULL), coalesce(points, 1000) DESC, id)""",
    "CREATE INDEX git_commits_uncounted ON git_commits (id) WHERE points IS NULL",
)

# The thirty-first migration: drop a table that was never used. The figures it was meant for are in `iterations` and
# `model_stats`.
NO_METRICS = ("DROP TABLE metrics",)

# The thirty-second migration: an index for a query at the end of each attempt, about attempts from which a lesson was
# withheld.
WITHHELD = ("CREATE INDEX recalls_withheld ON recalls (task_id, attempt, solved, arm) WHERE arm <> 'shown'",)

# The twenty-sixth migration: vectors are compared directly, without sketches.
FLAT_VECTORS = ("DROP INDEX memory_signs", "ALTER TABLE memory_vectors DROP COLUMN signs")
