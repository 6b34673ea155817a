"""Makes the proof of a commit in a separate process, with or without a running daemon."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from nightshift.app.git_beside import git_beside
from nightshift.app.verify import locate
from nightshift.config.load import Settings
from nightshift.core.errors import StoreError
from nightshift.core.tasks.task import Task
from nightshift.core.text.masking import Masker
from nightshift.queue.manager import QueueManager
from nightshift.sandbox import orphans
from nightshift.server.proof.page import Proof, Subject, proof_of, subject_of
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog


def make_proof(name: str, repo: Path | None, settings: Settings) -> Proof:
    """Return the proof of a commit; arguments and errors are those of `verify_commit`.

    The proof includes the task and its cost if this home made the commit.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=orphans.prefix("proof")))
        git = stack.enter_context(git_beside(settings, Path(folder)))
        where, commit = locate(git, name, repo, settings)
        subject = Subject(repo=where, commit=commit, task=_task_of(commit, settings.db_path))
        return proof_of(git, subject, Masker(settings.secrets))


def _task_of(commit: str, path: Path) -> Task | None:
    """Return the task that made a commit; None if the ledger of this home does not contain the commit."""
    if not path.exists():
        return None
    try:
        with Database(path, readonly=True) as database:
            events = EventLog(database)
            entries = CommitLedger(database, events).named(commit)
            return subject_of(QueueManager(database, events), entries[0]).task if entries else None
    except StoreError:
        return None  # without the database, the data in git are enough
