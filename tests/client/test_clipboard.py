"""`add --clipboard` takes the text from the program that is there, and says what to install where none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.home import Home


def put(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs."""
    found = tmp_path / "programs"
    found.mkdir()
    monkeypatch.setenv("PATH", str(found))
    return found


def added(home: Home) -> str:
    context = home.context()
    (task,) = context.queue.find()
    context.database.close()
    return task.spec.description


def test_the_text_comes_from_the_first_program_that_works(home: Home, programs: Path) -> None:
    put(programs, "wl-paste", "echo no display >&2; exit 1")
    put(programs, "xclip", "printf 'Mend\\r\\nthis\\n'")
    assert home.cli("add", "--clipboard").code == 0
    assert added(home) == "Mend\nthis"


def test_words_stand_before_what_the_clipboard_holds(home: Home, programs: Path) -> None:
    put(programs, "pbpaste", "echo 'ValueError: 7'")
    assert home.cli("add", "--clipboard", "See to this:").code == 0
    assert added(home) == "See to this:\n\nValueError: 7"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("", "install wl-clipboard"),
        ("exit 0", "is empty"),
        ("printf '\\377'", "has no text"),
        ("echo no display >&2; exit 1", "no display"),
    ],
)
def test_without_a_text_nothing_is_added_and_it_is_said_why(home: Home, programs: Path, script: str, says: str) -> None:
    if script:
        put(programs, "xsel", script)
    done = home.cli("add", "--clipboard")
    assert done.code != 0
    assert says in done.err
    context = home.context()
    assert context.queue.find() == []
    context.database.close()
