"""Asks the running daemon for a checkpoint on behalf of the API."""

from __future__ import annotations

from nightshift.core.tasks.states import DaemonState
from nightshift.server.context import AppContext, wait_for
from nightshift.server.schemas import Answer


class CheckpointAsked(Answer):
    """Result of asking for a checkpoint.

    `asked` is false if a checkpoint is already running or waits for the owner.
    """

    asked: bool
    state: DaemonState


def checkpoint_asked(context: AppContext) -> CheckpointAsked:
    """Ask the running daemon for a checkpoint.

    Raises:
        Busy: the database did not accept the request in time.
    """
    return CheckpointAsked(asked=wait_for(context.reads.ask_checkpoint(context.clock())), state=context.status().state)
