"""The log file has one line of JSON for each event, is rotated, and never stops the daemon by an error."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Phase
from nightshift.storage.db.file_log import FileLog
from tests.support.store import HandClock, Store


def test_each_event_is_a_line_with_the_same_keys(store: Store, tmp_path: Path) -> None:
    log = FileLog(tmp_path / "logs" / "agent.log")
    store.events.subscribe(log)
    step = Event(
        kind=Kind.STEP_FINISHED, message="två\nrader", task_id=3, iteration=2, phase=Phase.TESTING, data={"a": 1}
    )
    store.events.emit(step)
    store.events.emit(Event(kind=Kind.DAEMON_STOPPED))
    store.db.close()
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "logs" / "agent.log").read_text().splitlines()]
    assert lines[0] == {
        "timestamp": "2026-03-01T12:00:00.000000Z",
        "level": "INFO",
        "task_id": 3,
        "iteration": 2,
        "phase": "TESTING",
        "event": "step_finished",
        "message": "två\nrader",
        "data": {"a": 1},
        "attempt": None,
        "worker": None,
        "id": 1,
    }
    assert lines[1].keys() == lines[0].keys()


def test_the_file_is_rotated_by_size_and_old_ones_go(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "agent.log", max_bytes=2000, backups=2)
    for number in range(60):
        log([Event(kind=Kind.CHECKPOINT, message=f"event {number}")])
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["agent.log", "agent.log.1", "agent.log.2"]
    assert all(path.stat().st_size <= 2000 for path in files)
    assert "event 59" in files[0].read_text()


def numbers(path: Path) -> list[int]:
    """Return the event numbers of the lines in a file, each of which must be complete."""
    return [int(json.loads(text)["message"]) for text in path.read_text().splitlines()]


def write(log: FileLog, *messages: int, clock: HandClock | None = None) -> None:
    at = clock() if clock else None
    log([Event(kind=Kind.CHECKPOINT, message=str(number), at=at) for number in messages])


def test_the_file_is_begun_anew_by_age_also_over_a_restart(tmp_path: Path) -> None:
    clock, path = HandClock(), tmp_path / "agent.log"
    for day in range(12):
        log = FileLog(path, backups=3, days=9, clock=clock)
        write(log, day, clock=clock)
        log.close()
        clock.advance(86_400)
    assert [numbers(tmp_path / name) for name in sorted(file.name for file in tmp_path.iterdir())] == [
        [9, 10, 11],
        [6, 7, 8],
        [3, 4, 5],
        [0, 1, 2],
    ]


def test_a_line_that_a_power_cut_broke_off_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "agent.log"
    path.write_text('{"message": "1"}\n{"mess')
    log = FileLog(path)
    write(log, 2)
    log.close()
    first, broken, last = path.read_text().splitlines()
    assert (json.loads(first)["message"], broken, json.loads(last)["message"]) == ("1", '{"mess', "2")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of this process's files.

    As on a full disk, a write beyond the limit is cut, and the next write fails.
    """
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)


def test_a_full_disk_is_told_once_and_leaves_only_whole_lines(tmp_path: Path) -> None:
    messages: list[str] = []
    path = tmp_path / "agent.log"
    log = FileLog(path, report=messages.append)
    write(log, 1, 2)
    with largest_file(path.stat().st_size + 100):
        write(log, 3)
        write(log, 4)
        assert numbers(path) == [1, 2]
    write(log, 5)
    log.close()
    assert numbers(path) == [1, 2, 5]
    assert len(messages) == 1
    assert "agent.log cannot be written" in messages[0]
