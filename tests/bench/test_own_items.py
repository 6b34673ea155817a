"""Each task in `bench/data/own_items.yaml` is unsolved at its start and can be solved as described."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from nightshift.core.code.paths import is_test_path

PATH = Path(__file__).resolve().parents[2] / "bench" / "data" / "own_items.yaml"
ITEMS: list[dict[str, Any]] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
EDITS = [item for item in ITEMS if item["answer"] in item["files"]]
COMMANDS = {
    "python": (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
    "javascript": ("node", "--test"),
}
PASSED, FAILED, NOT_COLLECTED = 0, 1, 2
each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["id"])


def visible(item: Mapping[str, Any]) -> list[str]:
    return [path for path in item["files"] if is_test_path(path)]


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def exit_code(folder: Path, item: Mapping[str, Any], tests: Iterable[str]) -> tuple[int, str]:
    """Run these tests as a person would, and return the exit code and the output."""
    surroundings = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*COMMANDS[item["language"]], *tests]
    ran = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_there_are_ten_new_files_ten_edits_and_five_in_javascript() -> None:
    keys = {"id", "language", "description", "files", "answer", "hidden_tests", "reference"}
    assert all(set(item) == keys for item in ITEMS)
    assert len({item["id"] for item in ITEMS}) == len(ITEMS)
    kinds = [(item["language"], item in EDITS) for item in ITEMS]
    assert [kinds.count(("python", edit)) for edit in (False, True)] == [10, 10]
    assert [kinds.count(("javascript", edit)) for edit in (False, True)] == [3, 2]


def test_edits_are_of_50_to_200_lines_and_half_of_them_have_tests() -> None:
    assert all(50 <= item["files"][item["answer"]].count("\n") <= 200 for item in EDITS)
    assert sum(bool(visible(item)) for item in EDITS) == len(EDITS) // 2


@each_item
def test_the_words_name_the_file_and_nothing_shows_the_hidden_tests(item: dict[str, Any]) -> None:
    assert item["answer"] in item["description"]
    assert set(item["reference"]) == {item["answer"]}
    assert not set(item["hidden_tests"]) & set(item["files"])
    assert all(is_test_path(path) for path in item["hidden_tests"])
    assert item in EDITS or not visible(item)


@each_item
def test_the_reference_passes_all_tests(tmp_path: Path, item: dict[str, Any]) -> None:
    write(tmp_path, {**item["files"], **item["hidden_tests"], **item["reference"]})
    code, printed = exit_code(tmp_path, item, [*item["hidden_tests"], *visible(item)])
    assert code == PASSED, printed


@each_item
def test_the_hidden_tests_fail_before_and_the_visible_ones_do_not(tmp_path: Path, item: dict[str, Any]) -> None:
    write(tmp_path, {**item["files"], **item["hidden_tests"]})
    failed = NOT_COLLECTED if item["language"] == "python" and item not in EDITS else FAILED
    code, printed = exit_code(tmp_path, item, item["hidden_tests"])
    assert code == failed, printed
    if tests := visible(item):
        code, printed = exit_code(tmp_path, item, tests)
        assert code == PASSED, printed
