"""The browser libraries are exactly the pinned ones, and no other file can be added."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts.vendor import FOLDER, faults


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder: Path = shutil.copytree(FOLDER, tmp_path / "vendor")
    return folder


def change_it(path: Path, change: Any) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_the_vendored_files_are_as_pinned() -> None:
    assert list(faults(FOLDER)) == []


def test_a_change_by_hand_is_noticed(copy: Path) -> None:
    with (copy / "preact.js").open("a") as file:
        file.write("// harmless\n")
    assert list(faults(copy)) == ["preact.js was changed after it was vendored"]


def test_a_file_too_many_or_too_few_is_noticed(copy: Path) -> None:
    (copy / "more.js").write_text("1")
    (copy / "htm.js").unlink()
    (copy / "licences" / "preact.txt").unlink()
    messages = list(faults(copy))
    assert "more.js is not in the manifest" in messages
    assert "htm.js is missing" in messages
    assert "the licence of preact is missing" in messages


def test_a_lock_that_pins_something_else_is_noticed(copy: Path) -> None:
    def change(lock: dict[str, Any]) -> None:
        lock["packages"]["node_modules/htm"]["version"] = "3.1.2"
        del lock["packages"]["node_modules/preact"]["integrity"]
        lock["packages"]["node_modules/@preact/signals"]["resolved"] = "somewhere"

    change_it(copy / "package-lock.json", change)
    assert set(faults(copy)) == {
        "package.json names htm 3.1.1, the lock 3.1.2",
        "the lock has no digest of preact",
        "the lock names where node_modules/@preact/signals was downloaded",
    }
