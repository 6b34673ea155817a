"""The code side of a split run is separated from the test side.

Each attempt is real and is also made without the restriction, where it succeeds.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightshift.sandbox.inside import landlock
from tests.support.sandboxes import runtime

SOURCE = Path(landlock.__file__).read_text()
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534} if os.getuid() == 0 else {}
"""Options of a process that runs as the user nobody, because root may read everything."""


@pytest.fixture
def other() -> Iterator[int]:
    """The id of a waiting process of the same user."""
    with subprocess.Popen(
        [*runtime().python, "-c", "print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **NOBODY,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        process.kill()


def try_out(work: str, *, restricted: bool) -> str:
    """Run an attempt in a separate process, and return `done` or the name of the error."""
    first = "assert restrict()" if restricted else ""
    attempt = f"try:\n    {work}\n    print('done')\nexcept OSError as error:\n    print(type(error).__name__)\n"
    code = f"{SOURCE}\n{first}\n{attempt}"
    done = subprocess.run([*runtime().python, "-c", code], capture_output=True, text=True, check=True, **NOBODY)
    return str(done.stdout).strip()


@pytest.mark.parametrize(
    "work",
    [
        "os.open('/proc/{pid}/mem', os.O_RDONLY)",
        "os.readlink('/proc/{pid}/fd/0')",
    ],
)  # fmt: skip
def test_memory_and_descriptors_of_a_process_outside_are_closed(work: str, other: int) -> None:
    assert try_out(work.format(pid=other), restricted=False) == "done"
    assert try_out(work.format(pid=other), restricted=True) == "PermissionError"


def test_a_process_outside_gets_no_signal(other: int) -> None:
    assert try_out(f"os.kill({other}, 0)", restricted=False) == "done"
    assert try_out(f"os.kill({other}, 0)", restricted=True) == "PermissionError"
    assert try_out("os.kill(os.getpid(), 0)", restricted=True) == "done"


def test_files_are_what_they_were(folder: Path) -> None:
    folder.chmod(0o777)
    path = str(folder)
    moved = (
        f"os.mkdir({path + '/a'!r}); open({path + '/x'!r}, 'w').close(); "
        f"os.rename({path + '/x'!r}, {path + '/a/x'!r}); os.link({path + '/a/x'!r}, {path + '/y'!r})"
    )
    assert try_out(moved, restricted=True) == "done"


def test_it_is_tried_before_it_is_relied_on() -> None:
    left = "try:\n        os.waitpid(-1, os.WNOHANG)\n    except ChildProcessError:\n        print('none left')"
    assert try_out(f"print(holds())\n    {left}", restricted=False).split() == ["True", "none", "left", "done"]
    without = "globals()['restrict'] = lambda: True; print(holds())"
    assert try_out(without, restricted=False).split() == ["False", "done"]
