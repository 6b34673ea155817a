"""A checkpoint that is asked for, as the API says it."""

from __future__ import annotations

from nightshift.core.tasks.states import DaemonState
from nightshift.server.context import AppContext, wait_for
from nightshift.server.schemas import Answer


class CheckpointAsked(Answer):
    """Whether it will be held now; not where one is under way or waits for its owner already."""

    asked: bool
    state: DaemonState


def checkpoint_asked(context: AppContext) -> CheckpointAsked:
    """Ask a running daemon for one.

    Raises:
        Busy: the database did not take it in time.
    """
    return CheckpointAsked(asked=wait_for(context.reads.ask_checkpoint(context.clock())), state=context.status().state)
