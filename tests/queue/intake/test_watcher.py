"""The watcher on real files, changed as editors change them."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nightshift.queue.intake.marked_yaml import Fault
from nightshift.queue.intake.tasks_file import Reading
from nightshift.queue.intake.watcher import Watcher

GOOD = "tasks:\n  - first\n"
Heard = list[str] | str


class Ear:
    """Collects what a watcher says: descriptions of a good reading, or the faults as a text."""

    def __init__(self, path: Path) -> None:
        self.heard: queue.Queue[Heard] = queue.Queue()
        self.crashes: queue.Queue[Exception] = queue.Queue()
        self.watcher = Watcher(path, self._reading, self._faults, self.crashes.put, debounce_s=0.05, max_wait_s=0.5)

    def _reading(self, reading: Reading) -> bool:
        self.heard.put([entry.spec.description for entry in reading.entries])
        return True

    def _faults(self, faults: Sequence[Fault]) -> None:
        self.heard.put("; ".join(map(str, faults)))

    def next(self) -> Heard:
        return self.heard.get(timeout=5)

    def silent(self) -> bool:
        time.sleep(0.25)
        return self.heard.empty()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.yaml"
    path.write_text(GOOD)
    return path


@pytest.fixture
def ear(path: Path) -> Iterator[Ear]:
    ear = Ear(path)
    ear.watcher.start()
    yield ear
    ear.watcher.stop()


def test_the_first_reading_comes_at_once(ear: Ear) -> None:
    assert ear.next() == ["first"]


def test_a_change_in_place_is_read(ear: Ear, path: Path) -> None:
    ear.next()
    with path.open("a") as stream:
        stream.write("  - second\n")
    assert ear.next() == ["first", "second"]


def test_a_replaced_file_is_read(ear: Ear, path: Path) -> None:
    ear.next()
    new = path.with_name("tasks.yaml~")
    new.write_text("tasks: [other]")
    new.replace(path)
    assert ear.next() == ["other"]


def test_a_file_that_appears_later_or_again_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    ear = Ear(path)
    ear.watcher.start()
    assert ear.next() == []
    path.write_text(GOOD)
    assert ear.next() == ["first"]
    path.unlink()
    assert ear.next() == []
    path.write_text(GOOD)
    assert ear.next() == ["first"]
    ear.watcher.stop()


def test_the_target_of_a_symbolic_link_is_watched_too(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    target = tmp_path / "list.yaml"
    target.write_text(GOOD)
    link = tmp_path / "home" / "tasks.yaml"
    link.symlink_to(target)
    ear = Ear(link)
    ear.watcher.start()
    assert ear.next() == ["first"]
    target.write_text("tasks: [other]")
    assert ear.next() == ["other"]
    ear.watcher.stop()


def test_a_broken_file_is_told_and_the_last_good_reading_stays(ear: Ear, path: Path) -> None:
    ear.next()
    path.write_text("tasks:\n  - description: a\n    priority: x\nother: 1\n")
    assert ear.next() == "4:1: unknown key at the top; only `tasks` is known"
    assert [entry.spec.description for entry in ear.watcher.last.entries] == ["first"]
    path.write_text("tasks: [mended]")
    assert ear.next() == ["mended"]


def test_many_quick_writes_are_one_reading(ear: Ear, path: Path) -> None:
    ear.next()
    for number in range(20):
        path.write_text(f"tasks: [task {number}]")
    readings = [ear.next()]
    while readings[-1] != ["task 19"]:
        readings.append(ear.next())
    assert len(readings) < 10  # one, unless this machine was held up between two writes
    assert ear.silent()


def test_a_file_that_never_rests_is_read_all_the_same(ear: Ear, path: Path) -> None:
    ear.next()
    for number in range(100):
        path.write_text(f"tasks: [task {number}]")
        time.sleep(0.01)
    assert ear.next() != ["task 99"]


def test_other_files_and_a_mere_touch_are_not_readings(ear: Ear, path: Path) -> None:
    ear.next()
    path.with_name("other.yaml").write_text("tasks: [no]")
    path.touch()
    path.read_text()
    assert ear.silent()


def test_it_stops_twice_and_before_it_was_started(path: Path) -> None:
    ear = Ear(path)
    ear.watcher.stop()
    ear = Ear(path)
    ear.watcher.start()
    ear.watcher.stop()
    ear.watcher.stop()
    path.write_text("tasks: [late]")
    time.sleep(0.1)
    assert ear.next() == ["first"]
    assert ear.silent()


def test_a_missing_folder_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Ear(tmp_path / "none" / "tasks.yaml").watcher.start()


def test_a_callback_that_raises_ends_the_watcher_and_is_told(path: Path) -> None:
    ear = Ear(path)

    def broken(_: Reading) -> bool:
        raise OSError("no space left")

    watcher = Watcher(path, broken, lambda _: None, ear.crashes.put)
    watcher.start()
    assert str(ear.crashes.get(timeout=5)) == "no space left"
    watcher.stop()
