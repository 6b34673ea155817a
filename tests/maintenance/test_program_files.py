"""The daemon notices when files of its program are replaced, unless the new content is the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nightshift.maintenance import program_files
from nightshift.maintenance.program_files import ProgramFiles


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(program_files, "LOOK_S", 0.0)
    folder = tmp_path / "nightshift"
    (folder / "agent" / "prompts").mkdir(parents=True)
    (folder / "agent" / "machine.py").write_text("FIRST = 1\n")
    (folder / "agent" / "prompts" / "plan.md").write_text("Plan.\n")
    (tmp_path / "runner").mkdir()
    return folder


def pull(package: Path) -> None:
    """Replace a file by another one, as git does."""
    (package / "agent" / "new.py").write_text("FIRST = 2\n")
    (package / "agent" / "new.py").replace(package / "agent" / "machine.py")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pull, "1 files of the program were replaced"),
        (lambda package: (package / "agent" / "prompts" / "plan.md").unlink(), "were replaced"),
        (lambda package: shutil.rmtree(package.parent / "runner"), "runner is gone"),
        (lambda _: None, ""),
        (lambda package: os.utime(package / "agent" / "machine.py", (1, 1)), ""),
        (lambda package: (package / "agent" / "machine.pyc").write_text("x"), ""),
    ],
)
def test_an_exchange_is_noticed(package: Path, change: Callable[[Path], object], message: str) -> None:
    files = ProgramFiles(package, needed=[package.parent / "runner"])
    assert files.find_change() == ""
    change(package)
    assert message in files.find_change() if message else files.find_change() == ""
    if message:
        assert "restart" in files.find_change()
