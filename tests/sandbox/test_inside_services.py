"""The trusted parent notices that a service of a run has ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from nightshift.sandbox.inside.services import _is_dying  # services need a sandbox, so only this check runs here


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that gets no processor time until the test's process yields.

    Both processes share one core, and this one has the lowest priority.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    process = subprocess.Popen(["sleep", "60"])
    try:
        os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
        yield process
    finally:
        os.sched_setaffinity(0, before)
        process.kill()
        process.wait()


def test_a_service_that_was_killed_is_gone_even_where_it_has_not_come_to_its_end(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert not _is_dying(sleeper.pid)
    os.kill(sleeper.pid, signal.SIGKILL)
    assert _is_dying(sleeper.pid)
