"""Writes the proof of a commit in a process of its own, beside a daemon or without one."""

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
    """The proof of a commit of a repository, or of the daemon's own; arguments and errors as `verify_commit` has them.

    What was asked for and what it cost is told where this home made the commit.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=orphans.prefix("proof")))
        git = stack.enter_context(git_beside(settings, Path(folder)))
        where, commit = locate(git, name, repo, settings)
        subject = Subject(repo=where, commit=commit, task=_task_of(commit, settings.db_path))
        return proof_of(git, subject, Masker(settings.secrets))


def _task_of(commit: str, path: Path) -> Task | None:
    """The task that a commit was made for, where the ledger of this home knows it."""
    if not path.exists():
        return None
    try:
        with Database(path, readonly=True) as database:
            events = EventLog(database)
            entries = CommitLedger(database, events).named(commit)
            return subject_of(QueueManager(database, events), entries[0]).task if entries else None
    except StoreError:
        return None  # what git has can be told without the database
