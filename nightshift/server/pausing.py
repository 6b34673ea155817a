"""A checkpoint that is asked for, as the API says it."""

from __future__ import annotations

from concurrent.futures import Future

from nightshift.core.clock import Clock
from nightshift.core.tasks.states import DaemonState
from nightshift.queue import checkpoints
from nightshift.server.context import AppContext, settled
from nightshift.server.schemas import Answer
from nightshift.storage.db.database import Database


class CheckpointAsked(Answer):
    """Whether it will be held now; not where one is under way or waits for its owner already."""

    asked: bool
    state: DaemonState


def ask(database: Database, clock: Clock) -> Future[bool]:
    """Note it in the database, where the daemon finds it, or its next start does."""
    return database.write(lambda conn: checkpoints.ask(conn, clock()))


def checkpoint_asked(context: AppContext) -> CheckpointAsked:
    """Ask a running daemon for one.

    Raises:
        Busy: the database did not take it in time.
    """
    return CheckpointAsked(asked=settled(ask(context.database, context.clock)), state=context.status().state)
