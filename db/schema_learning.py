"""The sixth migration: what became of attempts by what they were shown, and by which models they asked.

Rules for its statements are those of `db.schema`.
"""

from __future__ import annotations

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
    # Functions that failed and that a fix changed, by a fingerprint that no name counts for (memory.shapes).
    """CREATE TABLE failed_shapes (
        shape TEXT NOT NULL,
        failure INTEGER NOT NULL, -- its id
        PRIMARY KEY (shape, failure)) WITHOUT ROWID""",
    # A vector's id is never given again, so that a copy in memory knows what is new by its id alone.
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
    # For which kind of task a call was, and in which try: what is known of a model is known of it for a kind.
    "ALTER TABLE model_stats ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE model_stats ADD COLUMN iteration INTEGER NOT NULL DEFAULT 0",
    # Which models an attempt asks: decided once, so that it asks the same ones when it is resumed.
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
