"""Lessons and accepted work at the command line, with a daemon and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightshift.config.load import load_settings
from nightshift.core.clock import to_text, utc_now
from nightshift.storage.db.database import Database
from tests.support.home import Home

SECRET = "hunter22-hunter22"


def lesson(number: int, **more: str) -> str:
    """Return a line of an export file that contains a lesson of the kind `pattern`."""
    now = to_text(utc_now())
    result = {"kind": "pattern", "problem": f"Add {number}", "solution": f"+ {number}", "lesson": "use sum\u2028twice"}
    return json.dumps({**result, "created_at": now, "learned_at": now, **more}, ensure_ascii=False)


def lessons(home: Home, file: Path, *numbers: int, **more: str) -> Path:
    """Make a home that already has tasks, and an export file with lessons."""
    home.path.mkdir(exist_ok=True)
    home.context().database.close()
    file.write_text("".join(f"{lesson(number, **more)}\n" for number in numbers), encoding="utf-8")
    return file


def test_lessons_are_taken_once_and_written_as_they_came(home: Home, tmp_path: Path) -> None:
    file, copy = lessons(home, tmp_path / "in.jsonl", 1, 2), tmp_path / "out" / "copy.jsonl"
    taken = home.cli("--import-memory", str(file))
    assert (taken.code, taken.out) == (0, f"2 new of 2 lessons in {file}, 0 known before\n")
    file.write_text(file.read_text() + lesson(3), encoding="utf-8")
    assert home.cli("--import-memory", str(file), "--json").json == {"file": str(file), "new": 1, "known": 2}
    written = home.cli("--export-memory", str(copy))
    assert (written.code, written.out) == (0, f"3 lessons in {copy}\n")
    assert [json.loads(line)["problem"] for line in copy.read_text().split("\n")[:-1]] == ["Add 1", "Add 2", "Add 3"]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in copy.parent.iterdir()] == ["copy.jsonl"]


def test_lessons_are_taken_while_a_daemon_runs(home: Home, tmp_path: Path) -> None:
    file = lessons(home, tmp_path / "in.jsonl", 1)
    with home.daemon() as context:
        assert home.cli("--import-memory", str(file)).code == 0
        rows = context.database.reader().execute("SELECT problem FROM patterns").fetchall()
        assert [row[0] for row in rows] == ["Add 1"]


def test_tables_are_not_changed_under_a_daemon_of_an_older_version(home: Home, tmp_path: Path) -> None:
    file = lessons(home, tmp_path / "in.jsonl", 1)
    older = "DELETE FROM _sqlite_migrations WHERE name = '0006_learning'"
    with home.daemon() as context:
        context.database.write(lambda conn: conn.execute(older)).result()
        refused = home.cli("--import-memory", str(file))
        assert (refused.code, refused.out) == (1, "")
        assert "was written by an older Nightshift" in refused.err
        assert context.database.reader().execute("SELECT count(*) FROM patterns").fetchone()[0] == 0


def test_secrets_are_masked_on_the_way_out(home: Home, tmp_path: Path) -> None:
    file = lessons(home, tmp_path / "in.jsonl", 1, solution=f"log in with {SECRET}")
    home.cli("--import-memory", str(file))
    assert SECRET in home.run("--export-memory", "-").out
    assert SECRET not in home.run("--export-memory", "-", OPENAI_API_KEY=SECRET).out


def test_a_faulty_file_is_refused_whole_with_each_fault(home: Home, tmp_path: Path) -> None:
    file = lessons(home, tmp_path / "in.jsonl", 1)
    file.write_text(f"{file.read_text()}{{}}\n[]\n", encoding="utf-8")
    refused = home.cli("--import-memory", str(file))
    assert (refused.code, refused.out) == (2, "")
    assert f"{file} contains no lessons; nothing was imported" in refused.err
    assert "error: line 2: " in refused.err
    assert "error: line 3: must be a JSON object" in refused.err
    with Database(load_settings(home=home.path).db_path, readonly=True) as database:
        assert database.reader().execute("SELECT count(*) FROM patterns").fetchone()[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--import-memory", "/nowhere/x"), 2, "memory import: /nowhere/x: No such file or directory"),
        (("--export-memory", "/proc/x/y"), 1, "/proc/x/y cannot be written"),
        (("--export-memory", "a", "--import-memory", "b"), 2, "No such option"),
    ],
)
def test_what_cannot_be_read_or_written_is_named(
    home: Home, tmp_path: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    lessons(home, tmp_path / "in.jsonl", 1)
    result = home.cli(*arguments)
    assert (result.code, result.out) == (code, "")
    assert sentence in result.err
