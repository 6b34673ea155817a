"""Every error of Nightshift has an exit code."""

from __future__ import annotations

import pytest

from nightshift.client.errors import DaemonGone, Exit, NotAllowed, NotFound, Stranger, exit_of
from nightshift.core.errors import (
    ConfigError,
    GitError,
    IllegalMove,
    InvalidTask,
    NightshiftError,
    StoreFull,
    UnknownTask,
)
from nightshift.queue.intake.marked_yaml import BrokenFile


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidTask({}), Exit.USAGE),
        (ConfigError([]), Exit.USAGE),
        (BrokenFile([]), Exit.USAGE),
        (DaemonGone(), Exit.DAEMON_DOWN),
        (Stranger(), Exit.DAEMON_DOWN),
        (NotFound(), Exit.NOT_FOUND),
        (UnknownTask(1), Exit.NOT_FOUND),
        (NotAllowed(), Exit.REFUSED),
        (IllegalMove(), Exit.REFUSED),
        (StoreFull(), Exit.FAILED),
        (GitError(), Exit.FAILED),
        (NightshiftError(), Exit.FAILED),
    ],
)
def test_an_error_means_an_exit_code(error: NightshiftError, code: Exit) -> None:
    assert exit_of(error) is code
