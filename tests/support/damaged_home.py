"""Homes whose files a test can damage, with lessons and optionally with the vector tables of the old sqlite-vec schema.

The module can also run a task that fails once and then passes.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from nightshift.app.store import StoreServices, open_store
from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.storage.db import backups
from nightshift.storage.db.sqlite import connect
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.store import LongTermMemory
from nightshift.storage.memory.vector_index import provide_distance
from tests.support.lived_home import DATABASE, Files, Ticking, settings_of

ERROR = "unsupported operand type(s) for +: 'int' and 'str'"
PAGE = 4096
_EVIDENCE = Evidence(tree="", sandbox="", label=Label.TESTS_PASSED)


def make_home(home: Path, *, lessons: int = 3, vector_tables: bool = False) -> Files:
    """Use a home until it has lessons and a backup. Return its files, and remove the folder itself."""
    with ExitStack() as stack:
        store = open_store(settings_of(home), stack, Ticking())
        for number in range(lessons):
            assert fail_and_fix(store, f"add the prices of basket {number}")[0] is Status.DONE
    database = settings_of(home).db_path
    if vector_tables:
        _go_back(database)
    backups.make(database, settings_of(home).backups_dir, Ticking()(), keep=4, daily=0)
    files = {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    shutil.rmtree(home)
    return files


def put(home: Path, files: Files) -> None:
    """Replace the contents of a home's folder with these files."""
    shutil.rmtree(home, ignore_errors=True)
    for name, raw in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(raw)


def fail_and_fix(store: StoreServices, description: str) -> tuple[Status, Sequence[Lesson]]:
    """Run a task whose tests fail once and then pass.

    Return its status, and the lessons that it recalled when it failed.
    """
    memory = LongTermMemory(store.db, choose("hashed"), emit=store.events.emit, control_share=0.0)
    task_id = store.queue.submit(TaskSpec(description=description, priority=100)).result().task_id
    task = store.queue.claim("worker-1", only=task_id).result()
    assert task is not None
    failure = Failure(id="t.py::test_total", kind="TypeError", message=ERROR, frame="shop.py:3 in total")
    failed = Verdict(passed=False, reason="1 failed", evidence=_EVIDENCE, failures=(failure,))
    tries = (Try(iteration=1, digest="d", failing=(), feedback="", reflection=Reflection(suggested_fix="int first")),)
    work = AttemptState(
        phase=Phase.REFLECTING, base="", change={"shop.py": "total = sum(x)\n"}, verdict=failed, tries=tries
    )
    passing = AttemptState(phase=Phase.COMMIT, base="", change={"shop.py": "total = sum(map(int, x))\n"}, tries=tries)

    async def learn() -> Sequence[Lesson]:
        await memory.remember(work, task_id, description)
        recalled = await memory.recall(f"TypeError: {ERROR}", 3, task_id=task_id)
        await memory.conclude(passing, task_id, solved=True)
        return recalled

    recalled = asyncio.run(learn())
    memory.close()
    return store.queue.finish(task.id, task.fence, Ending.COMMITTED, commit="c" * 40).result().status, recalled


def _go_back(database: Path) -> None:
    """Bring back the vector table and the sketches that the migration `0026_flat_vectors` removed."""
    with closing(connect(database)) as conn:
        conn.execute("ALTER TABLE memory_vectors ADD COLUMN signs BLOB")
        conn.execute("CREATE INDEX memory_signs ON memory_vectors (embedder, kind, id, signs)")
        provide_distance(conn)
        conn.execute(
            "CREATE VIRTUAL TABLE vec_hashed USING vec0(id INTEGER PRIMARY KEY, "
            "embedding FLOAT[384] DISTANCE_METRIC=cosine, kind TEXT, +item INTEGER)"
        )
        conn.execute("INSERT INTO vec_hashed SELECT id, vector, kind, item FROM memory_vectors")
        conn.execute("DELETE FROM _sqlite_migrations WHERE name = '0026_flat_vectors'")


def root_of(files: Files, folder: Path, table: str) -> int:
    """Return the number of a table's root page in the database file of a home."""
    folder.mkdir(exist_ok=True)
    (folder / "look.sqlite").write_bytes(files[DATABASE])
    with closing(connect(folder / "look.sqlite", readonly=True)) as conn:
        return int(conn.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0])
