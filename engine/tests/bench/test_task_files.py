from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.bench.task_files import choose_rows, read
from nightshift.core.errors import InvalidTask

GOOD: dict[str, Any] = {"id": "one", "files": {"a.py": "A = 1\n"}, "tests": {"test_a.py": "import a\n"}}


def write(folder: Path, *lines: object) -> Path:
    path = folder / "tasks.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def test_a_task_of_the_api_is_read_and_what_is_not_needed_is_passed_over(tmp_path: Path) -> None:
    task = GOOD | {
        "priority": 7,
        "metadata": {"from": "somewhere"},
        "limits": {"suite_s": 5},
        "right": {"a.py": "A = 2"},
    }
    (row,), bad = read(write(tmp_path, task))
    assert (row.name, row.spec.files, row.spec.tests, row.hidden) == ("one", GOOD["files"], GOOD["tests"], {})
    assert (row.spec.limits.suite_s, row.spec.priority, bad) == (5, 1, [])


@pytest.mark.parametrize("name", ["hidden_tests", "hidden", "hidden_test_files"])
def test_other_names_of_fields_are_known(tmp_path: Path, name: str) -> None:
    files, hidden = {"b.py": "B = 1\n"}, {"test_h.py": "import b\n"}
    task = {"key": "k", "start_files": files, "test_files": {"test_b.py": "import b\n"}, name: hidden}
    (row,), _ = read(write(tmp_path, task))
    assert (row.name, row.spec.files, list(row.spec.tests), row.hidden) == ("k", files, ["test_b.py"], hidden)


def test_bad_lines_are_told_with_their_field_and_do_not_stop_the_rest(tmp_path: Path) -> None:
    lines = [
        "{",
        GOOD,
        "[1]",
        {"files": {}},
        GOOD | {"files": {"/etc/a": ""}},
        GOOD | {"hidden": {"t.py": 1}},
        "",
        GOOD,
    ]
    rows, bad = read(write(tmp_path, *lines))
    assert [row.name for row in rows] == ["one", "one"]
    assert [(fault.line, fault.field) for fault in bad] == [
        (1, "line"), (3, "task"), (4, "tests"), (5, "files"), (6, "hidden.t.py"),
    ]  # fmt: skip
    assert "line 5: files: '/etc/a'" in str(bad[3])


def test_a_task_without_a_name_is_known_by_its_line_and_a_file_may_be_zipped(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" + json.dumps({**GOOD, "id": None}).encode()))
    (row,), _ = read(path)
    assert row.name == "line 2"


def test_some_are_chosen_by_name_and_number(tmp_path: Path) -> None:
    rows, _ = read(write(tmp_path, *(GOOD | {"id": name} for name in "abc")))
    assert [row.name for row in choose_rows(rows, [], 2)] == ["a", "b"]
    assert [row.name for row in choose_rows(rows, ["c", "a"], None)] == ["a", "c"]
    with pytest.raises(InvalidTask, match="no such task: x"):
        choose_rows(rows, ["x", "a"], None)
