"""Writes the proof of a commit in a process of its own, beside a daemon or without one."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from bootstrap.git_beside import git_beside
from bootstrap.verify import repository_of
from config import Settings
from core.errors import StoreError
from core.masking import Masker
from db.commit_ledger import CommitLedger
from db.database import Database
from db.event_log import EventLog
from queue_manager import QueueManager
from sandbox import orphans
from server.proof.page import Proof, Subject, proof_of, subject_of


def make_proof(name: str, repo: Path | None, settings: Settings) -> Proof:
    """The proof of a commit of a repository, or of the daemon's own; arguments and errors as `verify_commit` has them.

    What was asked for and what it cost is told where this home made the commit.
    """
    where = str(repository_of(name, repo, settings))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=orphans.prefix("proof")))
        git = stack.enter_context(git_beside(settings, Path(folder)))
        commit = git.resolve(where, name)
        subject = _known(commit, settings.db_path) or Subject(repo=where, commit=commit)
        return proof_of(git, Subject(repo=where, commit=commit, task=subject.task), Masker(settings.secrets))


def _known(commit: str, path: Path) -> Subject | None:
    """The commit as the ledger of this home has it."""
    if not path.exists():
        return None
    try:
        with Database(path, readonly=True) as database:
            events = EventLog(database)
            found = CommitLedger(database, events).named(commit)
            return subject_of(QueueManager(database, events), found[0]) if found else None
    except StoreError:
        return None  # what git has can be told without the database
