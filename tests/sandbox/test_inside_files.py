from __future__ import annotations

import ctypes
import io
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from nightshift.sandbox.inside import files


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(listed: list[tuple[str, bytes]]) -> tuple[dict[str, Any], io.BytesIO]:
    shown = [(path, len(content)) for path, content in listed]
    return {"files": shown}, io.BytesIO(b"".join(content for _, content in listed))


def test_files_are_written_with_their_modes() -> None:
    contents = {"a/b/c.py": b"one", "run": b"#!/bin/sh\n", "t.py": b"", "a/d.py": b"two"}
    before = os.umask(0o077)
    files.write(contents.items(), ["t.py"])
    os.umask(before)
    modes = {"a/b/c.py": 0o644, "a/d.py": 0o644, "run": 0o755, "t.py": 0o444}
    assert {path: Path(path).stat().st_mode & 0o777 for path in contents} == modes
    assert Path("a").stat().st_mode & 0o777 == 0o755
    assert {path: Path(path).read_bytes() for path in contents} == contents


def test_files_are_written_over_what_lies_there() -> None:
    for path in ("sub/a.py", "sub/deep/b.py", "other/c.py", "t.py", "file"):
        files.put(path, b"old", {""})
    gone = ["sub/a.py", "sub/deep/b.py", "other/c.py", "file"]
    files.write({"other/c.py": b"new", "file/d.py": b"d"}.items(), ["t.py"], gone)
    assert {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()} == {
        "other/c.py": b"new", "file/d.py": b"d", "t.py": b"old",
    }  # fmt: skip
    assert not Path("sub").exists(), "git knows no empty folders"
    assert Path("t.py").stat().st_mode & 0o777 == 0o444


def test_a_cut_off_stream_ends_the_run() -> None:
    header, source = job([("a", b"whole")])
    source.truncate(2)
    with pytest.raises(SystemExit, match="cut off"):
        list(files.contents(header, source))


def test_nothing_is_followed_or_overwritten(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("whole")
    Path("link").symlink_to("outside")
    for name in ("link", "outside"):
        with pytest.raises(FileExistsError):
            files.put(name, b"changed", {""})
    assert (tmp_path / "outside").read_text() == "whole"


def test_a_watch_is_silent_about_reading_and_about_other_files() -> None:
    files.put("tests/t.py", b"x", folders := {""})
    watch = files.Watch(["tests/t.py"])
    assert Path("tests/t.py").read_text() == "x"
    files.put("tests/other.py", b"y", folders)
    Path("tests/other.py").unlink()
    assert watch.touched() == []


@pytest.mark.parametrize(
    "touch",
    [
        lambda: Path("tests/t.py").chmod(0o644),
        lambda: Path("tests/t.py").unlink(),
        lambda: Path("tests/u.py").hardlink_to("tests/t.py"),
        lambda: Path("tests").rename("other"),
    ],
    ids=["mode", "removed", "linked", "folder moved"],
)
def test_a_watch_tells_of_every_touch(touch: Any) -> None:
    files.put("tests/t.py", b"x", {""})
    watch = files.Watch(["tests/t.py"])
    touch()
    assert watch.touched() == ["tests/t.py"]


@pytest.mark.parametrize(("paths", "touched"), [([], []), (["tests/t.py"], ["tests/t.py"])])
def test_a_watch_that_the_kernel_refuses_compares_times(paths: list[str], touched: list[str]) -> None:
    files.put("tests/t.py", b"x", {""})
    ctypes.CDLL(None)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        watch = files.Watch(paths)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    Path("tests/t.py").unlink()
    assert watch.touched() == touched
