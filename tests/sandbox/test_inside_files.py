from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sandbox.inside import files


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(listed: list[tuple[str, bytes, bool]], **told: Any) -> tuple[dict[str, Any], io.BytesIO]:
    shown = [(path, len(content), wanted) for path, content, wanted in listed]
    return {"files": shown, "watched": [], "again": False, **told}, io.BytesIO(b"".join(c for _, c, _ in listed))


def test_what_was_packed_outside_is_read_inside(tmp_path: Path) -> None:
    header = json.dumps({"a": 1}).encode()
    (tmp_path / "in").write_bytes(b"%d\n%s" % (len(header), header) + b"rest")
    descriptor = os.open(tmp_path / "in", os.O_RDONLY)
    told, source = files.receive(descriptor)
    assert told == {"a": 1}
    assert source.read() == b"rest"
    os.close(descriptor)


def test_files_are_written_with_their_modes_and_unwanted_ones_are_passed_over() -> None:
    listed = [("a/b/c.py", b"one", True), ("gone", b"two", False), ("run", b"#!/bin/sh\n", True), ("t.py", b"", True)]
    told, source = job(listed, watched=["t.py"], again=True)
    before = os.umask(0o077)
    held, kept = files.unpack(told, source)
    os.umask(before)
    assert {p: Path(p).stat().st_mode & 0o777 for p in kept} == {"a/b/c.py": 0o644, "run": 0o755, "t.py": 0o444}
    assert Path("a").stat().st_mode & 0o777 == 0o755
    assert kept["a/b/c.py"] == Path("a/b/c.py").read_bytes() == b"one"
    assert not Path("gone").exists()
    assert held == {}


def test_files_for_later_are_held_back_and_nothing_of_them_is_on_disk() -> None:
    listed = [("a.py", b"one", True), ("tests/t.py", b"two", True), ("gone.py", b"three", False)]
    told, source = job(listed, watched=["tests/t.py"], again=True)
    held, kept = files.unpack(told, source, {"tests/t.py", "gone.py"})
    assert (held, kept) == ({"tests/t.py": b"two"}, {"a.py": b"one"})
    assert [str(path) for path in Path().rglob("*")] == ["a.py"]


def test_nothing_is_kept_where_nobody_asks_for_it() -> None:
    told, source = job([("a.py", b"one", True)])
    assert files.unpack(told, source) == ({}, {})
    assert Path("a.py").read_bytes() == b"one"


def test_a_cut_off_stream_ends_the_run() -> None:
    told, source = job([("a", b"whole", True)])
    source.truncate(2)
    with pytest.raises(SystemExit, match="cut off"):
        files.unpack(told, source)


def test_nothing_is_followed_or_overwritten(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("whole")
    Path("link").symlink_to("outside")
    for name in ("link", "outside"):
        with pytest.raises(FileExistsError):
            files.put(name, b"changed", {""})
    assert (tmp_path / "outside").read_text() == "whole"


def test_a_watch_is_silent_about_reading_and_about_other_files() -> None:
    files.put("tests/t.py", b"x", made := {""}, files.FIXED)
    watch = files.Watch(["tests/t.py"])
    assert Path("tests/t.py").read_text() == "x"
    files.put("tests/other.py", b"y", made)
    Path("tests/other.py").unlink()
    assert watch.touched() == []


@pytest.mark.parametrize(
    "touch",
    [
        lambda: Path("tests/t.py").chmod(0o644),
        lambda: Path("tests/t.py").unlink(),
        lambda: Path("tests/t.py").rename("tests/u.py"),
        lambda: Path("tests/u.py").hardlink_to("tests/t.py"),
        lambda: Path("tests").rename("other"),
        lambda: os.utime("tests/t.py", (1, 1)),
    ],
    ids=["mode", "removed", "renamed", "linked", "folder moved", "times"],
)
def test_a_watch_tells_of_every_touch(touch: Any) -> None:
    files.put("tests/t.py", b"x", {""}, files.FIXED)
    watch = files.Watch(["tests/t.py"])
    touch()
    assert watch.touched() == ["tests/t.py"]
