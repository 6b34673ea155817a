"""How long the test side of a split run waits for answers: a machine that others keep busy takes nothing from it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from nightshift.sandbox.inside.time_limits import TOO_LONG

connection: Any = import_module("nightshift.sandbox.inside.connection")  # which has no types
ROOT = Path(__file__).resolve().parents[2]
WORK = """import time


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "burnt"


def rest(seconds):
    time.sleep(seconds)
    return "rested"
"""
SERVE = """import sys

sys.path.insert(0, sys.argv[1])
from nightshift.sandbox.inside import served

served.run({"root": sys.argv[2], "environ": {}, "paths": ["."], "own": {}}, int(sys.argv[3]))
"""
SPIN = "while True:\n    pass\n"
SPINNING = 5
Program = subprocess.Popen[bytes]


@contextmanager
def on_one_processor(words: list[str], count: int = 1, passed: tuple[int, ...] = ()) -> Iterator[Program]:
    """Programs that share one processor; gives the last of them."""
    one = {min(os.sched_getaffinity(0))}
    started = []
    try:
        for _ in range(count):
            started.append(subprocess.Popen([sys.executable, "-c", *words], pass_fds=passed))
            os.sched_setaffinity(started[-1].pid, one)
        yield started[-1]
    finally:
        for each in started:
            each.kill()
            each.wait()


@contextmanager
def side(folder: Path) -> Iterator[Any]:
    """The connection to a code side that has a module `work`."""
    (folder / "work.py").write_text(WORK)
    here, there = socket.socketpair()
    with (
        here,
        there,
        on_one_processor([SERVE, str(ROOT), str(folder), str(there.fileno())], 1, (there.fileno(),)) as code,
    ):
        there.close()
        yield connection.Side(here.fileno(), code.pid)


def test_answers_that_others_keep_from_the_processor_are_waited_for(tmp_path: Path) -> None:
    with on_one_processor([SPIN], SPINNING), side(tmp_path) as code:
        work, began = code.request("import", "work"), time.monotonic()
        assert work.burn(1.5) == "burnt"
        assert time.monotonic() - began > connection.MOST_S, "nothing kept it from the processor"
        assert work.burn(0.01) == "burnt"
        assert not code.doubt


def test_answers_that_take_long_by_themselves_are_given_up(tmp_path: Path) -> None:
    with side(tmp_path) as code:
        work = code.request("import", "work")
        assert work.rest(connection.MOST_S + 0.1) == "rested"
        with pytest.raises(connection.Unsupported, match=rf"{TOO_LONG}: [4-9]\.\d s in \d calls"):
            work.rest(0)
