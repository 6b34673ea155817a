"""Every error of Nightshift has an exit code."""

from __future__ import annotations

import pytest

from nightshift.client.errors import DaemonGone, Exit, exit_of
from nightshift.core.errors import (
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
        (BrokenFile([]), Exit.USAGE),
        (DaemonGone(), Exit.DAEMON_DOWN),
        (UnknownTask(1), Exit.NOT_FOUND),
        (IllegalMove(), Exit.REFUSED),
        (StoreFull(), Exit.FAILED),
        (NightshiftError(), Exit.FAILED),
    ],
)
def test_an_error_means_an_exit_code(error: NightshiftError, code: Exit) -> None:
    assert exit_of(error) is code
