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


@pytest.mark.parametrize("sizes", [[3], [10], [11], [20], [7, 13, 21], [1] * 45, [200]])
def test_of_a_stream_the_ends_are_kept_and_the_rest_is_counted(sizes: list[int]) -> None:
    ends, text = child.Ends(10), bytes(range(sum(sizes)))
    for place, size in zip([sum(sizes[:n]) for n in range(len(sizes))], sizes, strict=True):
        ends.extend(text[place : place + size])
    head, tail = ends.ends
    assert (head, len(ends)) == (text[:10], len(text))
    assert head + text[10 : 10 + ends.left_out] + tail == text
    assert len(tail) == min(10, max(0, len(text) - 10))


def test_the_output_of_a_flood_is_given_to_who_wants_its_ends() -> None:
    ends = child.Ends(4)
    found = child.Child(reporting, ["event", "a text of some length"]).watch(JOB, output=ends)
    assert (found["output"], ends.ends, ends.left_out) == ({}, (b"a te", b"ngth"), 13)


def test_output_is_told_apart_by_test_and_cut_from_the_front() -> None:
    token = b"--mark--"
    output = b"before" + token + b"a\nfirst" + token + b"\n" + token + b"b\n" + b"x" * 9000 + b"end"
    found = child.segments(output, token)
    assert found[""] == "before"
    assert found["a"] == "first"
    assert len(found["b"]) == child.SEGMENT
    assert found["b"].endswith("end")
