from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.inside import child

JOB = {"wall_s": 30.0, "output_bytes": 1 << 20, "token": "--mark--"}


def reporting(_told: int, events: int, words: Sequence[str]) -> int:
    os.write(events, words[0].encode())
    os.write(1, words[1].encode())
    return 3


def waiting(told: int, events: int, _words: Sequence[str]) -> int:
    os.write(events, child.read_all(told))
    return 0


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_a_child_is_watched_to_its_end() -> None:
    found = child.Child(reporting, ["event", "text"]).watch(JOB)
    assert found.pop("duration_s") >= 0
    assert found == {"ended": "exited", "exit": 3, "events": "event", "output": {"": "text"}}


def test_a_spared_child_goes_on_when_another_one_ends() -> None:
    first = child.Child(waiting, [])
    child.Child(reporting, ["event", "text"]).watch(JOB, spare=[first.pid])
    first.send(b"still here")
    assert first.watch(JOB)["events"] == "still here"


def test_a_child_that_is_discarded_leaves_no_process_and_no_descriptor() -> None:
    before = descriptors()
    unwanted = child.Child(waiting, [])
    unwanted.discard()
    assert descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(unwanted.pid, os.WNOHANG)
    unwanted.discard()


def test_output_is_told_apart_by_test_and_cut_from_the_front() -> None:
    token = b"--mark--"
    output = b"before" + token + b"a\nfirst" + token + b"\n" + token + b"b\n" + b"x" * 9000 + b"end"
    found = child.segments(output, token)
    assert found[""] == "before"
    assert found["a"] == "first"
    assert len(found["b"]) == child.SEGMENT
    assert found["b"].endswith("end")
