"""Programs that a foreground daemon runs must neither write to the owner's terminal nor type into it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import engine
from tests.support.sandboxes import ISOLATIONS, runtime

ROOT = Path(__file__).resolve().parents[2]
OPENS_IT = (  # the first terminal that a session leader opens becomes the session's terminal
    "import os, runpy, sys; os.setsid(); os.close(os.open(sys.argv[1], os.O_RDWR)); del sys.argv[1]; "
    "runpy.run_module('tests.support.hostile_terminal', run_name='__main__', alter_sys=True)"
)


def reach(name: str, folder: Path) -> bool:
    """Check whether a program reaches the terminal of the process that started it."""
    runtime()
    address = {"DOCKER_HOST": engine.host()} if name == "docker" else {}
    ours, theirs = pty.openpty()
    try:
        argv = [sys.executable, "-c", OPENS_IT, os.ttyname(theirs), name, str(folder)]
        done = subprocess.run(
            argv, cwd=ROOT, env={**os.environ, **address}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
            check=False,
        )  # fmt: skip
        challenge = done.stdout.strip()
        assert len(challenge) == 16, done.stderr
        return any(challenge in waiting(end) for end in (ours, theirs))
    finally:
        os.close(ours)
        os.close(theirs)


def waiting(descriptor: int) -> bytes:
    """Return the text that can be read from the terminal now."""
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 1000)
    except OSError:
        return b""


def test_a_bare_program_speaks_to_the_terminal(scratch: Path) -> None:
    assert reach("bare", scratch)


@pytest.mark.parametrize("name", ISOLATIONS)
def test_no_program_inside_reaches_the_terminal(name: str, scratch: Path) -> None:
    assert not reach(name, scratch)
