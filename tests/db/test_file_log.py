"""The log file: one line of JSON for each event, rotated."""

import json
from pathlib import Path

from core.events import Event, Kind, Level
from core.states import Phase
from db.file_log import FileLog
from tests.support.store import Store


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


def test_events_below_the_level_are_left_out(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "agent.log", level=Level.WARNING)
    log([Event(kind=Kind.CHECKPOINT, level=level) for level in Level])
    log.close()
    assert len((tmp_path / "agent.log").read_text().splitlines()) == 2
