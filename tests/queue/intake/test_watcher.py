"""The watcher of the task file, with real files that are changed in the ways editors change them."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from nightshift.queue.intake.marked_yaml import Fault
from nightshift.queue.intake.tasks_file import Reading
from nightshift.queue.intake.watcher import Watcher

GOOD = "tasks:\n  - first\n"
OTHER = "tasks: [other]\n"
Heard = list[str] | str


class Ear:
    """Collects the calls of a watcher: the task descriptions of each valid file, or the faults as a text."""

    def __init__(self, path: Path, *, rest_s: float = 0.4, look_s: float = 0.5) -> None:
        self.heard: queue.Queue[Heard] = queue.Queue()
        self.crashes: queue.Queue[Exception] = queue.Queue()
        self.watcher = Watcher(
            path, self._reading, self._faults, self.crashes.put, debounce_s=0.05, rest_s=rest_s, look_s=look_s
        )

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


def point(link: Path, target: Path) -> None:
    new = link.with_name("new link")
    new.symlink_to(target)
    new.replace(link)


def lie_behind(home: Path, at: str) -> Path:
    """Make a file that is reached through a link, and return the watched path; `at` says which part is the link."""
    (home / "old").mkdir()
    if at == "folder":
        (home / "old" / "tasks.yaml").write_text(GOOD)
        (home / "current").symlink_to("old")
        return home / "current" / "tasks.yaml"
    path = home / "tasks.yaml"
    (home / "list.yaml").write_text(GOOD)
    if at == "target":
        path.symlink_to("list.yaml")
    else:
        path.hardlink_to(home / "list.yaml")
    return path


def leave_dangling(home: Path, path: Path) -> None:
    point(path, home / "disk" / "tasks.yaml")
    time.sleep(0.2)
    (home / "disk").mkdir()
    (home / "disk" / "tasks.yaml").write_text(OTHER)


def exchange_folder(home: Path, path: Path) -> None:
    (home / "new").mkdir()
    (home / "new" / "tasks.yaml").write_text(OTHER)
    point(path.parent, home / "new")
    time.sleep(1.2)
    with (home / "new" / "tasks.yaml").open("a") as stream:
        stream.write("\n")


def write_without_an_event(home: Path, path: Path) -> None:
    """Write the file through a hard link in another folder, so that the watcher of its own folder gets no event."""
    (home / "old" / "list.yaml").hardlink_to(path)
    (home / "old" / "list.yaml").write_text(OTHER)


def put_a_pipe(_home: Path, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)
    time.sleep(0.2)
    path.unlink()
    path.write_text(OTHER)


@pytest.mark.parametrize(
    ("at", "harm"),
    [
        ("target", leave_dangling),
        ("folder", exchange_folder),
        ("hard", write_without_an_event),
        ("hard", put_a_pipe),
    ],
)
def test_a_file_is_read_whatever_becomes_of_its_path(
    tmp_path: Path, at: str, harm: Callable[[Path, Path], object]
) -> None:
    path = lie_behind(tmp_path, at)
    ear = Ear(path)
    ear.watcher.start()
    assert ear.next() == ["first"]
    harm(tmp_path, path)
    while (heard := ear.next()) != ["other"]:
        assert heard == [] or "cannot be read" in heard or "regular" in heard
    path.resolve().write_text(GOOD)
    assert ear.next() == ["first"]
    ear.watcher.stop()


def test_what_sees_changes_is_begun_again(ear: Ear, path: Path) -> None:
    ear.next()
    observer = ear.watcher._observer
    assert observer is not None
    next(iter(observer.emitters)).stop()
    path.write_text(OTHER)
    assert ear.next() == ["other"]
    ear.silent()
    assert ear.watcher._observer is not observer


WHOLE = "tasks:\n  - Delete the temporary files of the export\n  - description: Sort\n    priority: 3\n"


@pytest.mark.parametrize("cut", [25, WHOLE.index("    prio")])
@pytest.mark.parametrize("how", ["written slowly", "written slowly, a new file", "in two writes"])
def test_half_a_file_is_no_reading(tmp_path: Path, cut: int, how: str) -> None:
    if how == "in two writes" and WHOLE[cut - 1] == "\n":
        pytest.skip("a closed file that ends with a line is whole")
    path = tmp_path / "tasks.yaml"
    if "new" not in how:
        path.write_text(GOOD)
    ear = Ear(path, rest_s=60)
    ear.watcher.start()
    assert ear.next() == ([] if "new" in how else ["first"])
    if how == "in two writes":
        path.write_text(WHOLE[:cut])
        time.sleep(0.3)
        with path.open("a") as stream:
            stream.write(WHOLE[cut:])
    else:
        with path.open("w") as stream:
            stream.write(WHOLE[:cut])
            stream.flush()
            time.sleep(0.3)
            stream.write(WHOLE[cut:])
    assert ear.next() == ["Delete the temporary files of the export", "Sort"]
    ear.watcher.stop()


def test_a_file_in_another_encoding_is_told_without_a_rest(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(GOOD)
    ear = Ear(path, rest_s=60)
    ear.watcher.start()
    ear.next()
    new = path.with_name("new")
    new.write_bytes(WHOLE.encode("utf-16"))
    new.replace(path)
    assert isinstance(ear.next(), str)
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
    assert len(readings) < 10  # a single reading, unless the machine paused between two writes
    assert ear.silent()


def test_a_callback_that_raises_ends_the_watcher_and_is_told(path: Path) -> None:
    ear = Ear(path)

    def broken(_: Reading) -> bool:
        raise OSError("no space left")

    watcher = Watcher(path, broken, lambda _: None, ear.crashes.put)
    watcher.start()
    assert str(ear.crashes.get(timeout=5)) == "no space left"
    watcher.stop()
