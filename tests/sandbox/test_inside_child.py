from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

import pytest

from nightshift.sandbox.inside import child

JOB = {"wall_s": 30.0, "output_bytes": 1 << 20, "token": "--mark--"}


def reporting(_job_fd: int, events: int, words: Sequence[str]) -> int:
    os.write(events, words[0].encode())
    os.write(1, words[1].encode())
    return 3


def waiting(job_fd: int, events: int, _words: Sequence[str]) -> int:
    os.write(events, child.read_all(job_fd))
    return 0


def test_a_child_is_watched_to_its_end() -> None:
    outcome = child.Child(reporting, ["event", "text"]).watch(JOB)
    assert outcome.pop("duration_s") >= 0
    assert outcome.pop("cpu_s") >= 0
    assert outcome == {"ended": "exited", "exit": 3, "events": "event", "output": {"": "text"}, "limit": ""}


def test_a_spared_child_goes_on_when_another_one_ends() -> None:
    first = child.Child(waiting, [])
    child.Child(reporting, ["event", "text"]).watch(JOB, spare=[first.pid])
    first.send(b"still here")
    assert first.watch(JOB)["events"] == "still here"


def burning(_job_fd: int, _events: int, words: Sequence[str]) -> int:
    """Use processor time in a tree of processes with this many levels. Each parent waits for one of its children."""
    if int(words[0]):
        for _ in range(2):
            if os.fork() == 0:
                burning(0, 0, [str(int(words[0]) - 1)])
        os.wait()
    while True:
        pass


def sleeping(_job_fd: int, _events: int, _words: Sequence[str]) -> int:
    while True:
        signal.pause()


def sipping(_job_fd: int, _events: int, _words: Sequence[str]) -> int:
    while True:
        time.sleep(0.1)
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass


def ending_workers(_job_fd: int, _events: int, _words: Sequence[str]) -> int:
    """Use processor time in one short-lived child process after another."""
    while True:
        if os.fork() == 0:
            until = time.process_time() + 0.05
            while time.process_time() < until:
                pass
            os._exit(0)
        os.wait()


CUT = {
    "the children of its children burn": (burning, "2", "processor"),
    "its children end again and again": (ending_workers, "", "processor"),
    "it waits for ever": (sleeping, "", "idle"),
    "it does a little for ever": (sipping, "", "clock"),
}


@pytest.mark.parametrize("name", CUT)
def test_a_child_is_cut_off_by_the_limit_that_it_reaches(name: str) -> None:
    work, word, limit = CUT[name]
    outcome = child.Child(work, [word]).watch(
        {**JOB, "cpu_s": 0.6, "idle_s": 0.6, "wall_s": 2.0 if limit == "clock" else 60.0}
    )
    assert (outcome["ended"], outcome["limit"], outcome["exit"]) == ("timeout", limit, None)
    assert (outcome["cpu_s"] >= 0.6) is (limit == "processor")


@pytest.mark.parametrize("sizes", [[10], [11], [7, 13, 21], [1] * 45])
def test_of_a_stream_the_ends_are_kept_and_the_rest_is_counted(sizes: list[int]) -> None:
    ends, text = child.Ends(10), bytes(range(sum(sizes)))
    for offset, size in zip([sum(sizes[:n]) for n in range(len(sizes))], sizes, strict=True):
        ends.extend(text[offset : offset + size])
    head, tail = ends.ends
    assert (head, len(ends)) == (text[:10], len(text))
    assert head + text[10 : 10 + ends.left_out] + tail == text
    assert len(tail) == min(10, max(0, len(text) - 10))


def test_the_output_of_a_flood_is_given_to_who_wants_its_ends() -> None:
    ends = child.Ends(4)
    outcome = child.Child(reporting, ["event", "a text of some length"]).watch(JOB, output=ends)
    assert (outcome["output"], ends.ends, ends.left_out) == ({}, (b"a te", b"ngth"), 13)


def shouting(_job_fd: int, _events: int, words: Sequence[str]) -> int:
    """Print output for a number of tests; `words` are that number and the bytes for each test."""
    for number in range(int(words[0])):
        os.write(1, b"--mark--test %d\n" % number)
        for _ in range(int(words[1]) >> 10):
            os.write(1, b"x" * 1024)
        os.write(1, b"--mark--\n")
    return 0


def test_a_run_may_print_any_amount_and_one_of_its_tests_may_not() -> None:
    assert child.Child(shouting, ["40", "100000"]).watch(JOB)["ended"] == "exited"
    outcome = child.Child(shouting, ["2", "4000000"]).watch(JOB)
    assert (outcome["ended"], outcome["limit"]) == ("flood", "output")
    assert outcome["output"] == {"test 0": "x" * 3000}


def chattering(_job_fd: int, events: int, _words: Sequence[str]) -> int:
    while True:
        os.write(events, b"x" * 4096)


def test_a_report_without_end_is_a_flood_of_its_own_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "EVENTS", 1 << 20)
    outcome = child.Child(chattering, []).watch(JOB)
    assert (outcome["ended"], outcome["limit"]) == ("flood", "report")
