"""Changed files as the trusted parent of a command reports them, whatever the files' times and sizes are."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from nightshift.sandbox.inside import changes, files


def unpack(texts: Mapping[str, str]) -> changes.Before:
    """Write the files into the working folder, and return their digests as the state before a command."""
    files.write(((path, text.encode()) for path, text in texts.items()), ())
    return changes.Before(
        {"digests": {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}}
    )


@pytest.fixture(autouse=True)
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_folders_that_changed_places_hold_other_files_of_the_same_size_and_time() -> None:
    for _ in range(200):  # repeats until both files get the same clock tick
        shutil.rmtree("one", ignore_errors=True)
        shutil.rmtree("two", ignore_errors=True)
        before = unpack({"one/x": "1", "two/x": "2"})
        if before.stamps["one/x"][1:] == before.stamps["two/x"][1:]:
            break
    before.newest += 1
    for old, new in (("one", "t"), ("two", "one"), ("t", "two")):
        Path(old).rename(new)
    assert changes.list_changes(before) == ({"one/x": "2", "two/x": "1"}, {})


def test_what_was_changed_while_the_clock_stood_still_is_read() -> None:
    before = unpack({"a": "1", "b": "2"})
    Path("a").write_text("3")
    before.stamps["a"] = changes.stamp(os.lstat("a"))
    before.newest = before.stamps["a"][2]
    assert changes.list_changes(before) == ({"a": "3"}, {})
