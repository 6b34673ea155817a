"""A checkpoint that is asked for, as the API says it."""

from __future__ import annotations

from concurrent.futures import Future

from core.clock import Clock
from core.states import DaemonState
from db.database import Database
from server.context import AppContext, settled
from server.schemas import Answer
from taskqueue import checkpoints


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
