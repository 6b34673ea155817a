"""The command line sets and shows the settings of a repository, and refuses invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightshift.app.commands.repository_settings import value_of
from nightshift.core.tasks.repository_settings import HELP
from tests.support.git_repo import make_repo
from tests.support.home import Home


@pytest.fixture
def repo(tmp_path: Path) -> str:
    folder = tmp_path.with_name(f"{tmp_path.name}-shop")
    return str(make_repo(folder, {"pyproject.toml": "[tool.ruff]\n", "go.mod": "module x\n", "Makefile": "test:\n"}))


def show(out: str) -> dict[str, list[str]]:
    rows = [line.split() for line in out.splitlines()]
    return {row[0]: row[1:] for row in rows if row and row[0] in HELP}


def test_found_and_set_values_are_shown_with_where_they_come_from(home: Home, repo: str) -> None:
    first = home.cli("--repo-settings", repo)
    assert first.code == 0
    assert show(first.out)["test_command"] == ["make", "test", "Makefile:1"]
    done = home.cli("--repo-settings", repo, "wall_s=60", "test_command=make 'a b'", "linters=none", "review=on")
    rows = show(done.out)
    assert rows["wall_s"] == ["60", "set", "here"]
    assert rows["test_command"] == ["make", "'a", "b'", "set", "here"]
    assert rows["linters"] == ["none", "set", "here"]
    assert rows["review"] == ["on", "set", "here"]
    back = home.cli("--repo-settings", repo, "wall_s=", "test_command=")
    assert show(back.out)["wall_s"][-1] == "settings"
    assert show(back.out)["test_command"] == ["make", "test", "Makefile:1"]


def test_steps_for_another_agent_are_shown_as_the_draft_of_a_setup_script(home: Home, tmp_path: Path) -> None:
    steps = "jobs: {copilot-setup-steps: {steps: [{run: make tools}, {uses: actions/checkout@v5}]}}\n"
    folder = tmp_path.with_name(f"{tmp_path.name}-steps")
    out = home.cli("--repo-settings", str(make_repo(folder, {".github/workflows/copilot-setup-steps.yml": steps}))).out
    _, _, draft = out.partition("Setup steps for another agent are never run")
    assert [line.strip() for line in draft.splitlines()[1:5]] == [
        "#!/bin/bash", "set -e", "make tools", "# left out: actions/checkout@v5",
    ]  # fmt: skip


@pytest.mark.parametrize(("word", "message"), [
    ("wall_s=x", "wall_s: Input should be a valid number"), ("review=maybe", "on or off"),
    ("test_command=make 'x", "No closing quotation"),
])  # fmt: skip
def test_what_cannot_be_understood_is_refused_with_its_name(home: Home, repo: str, word: str, message: str) -> None:
    refused = home.cli("--repo-settings", repo, word)
    assert (refused.code, message in refused.err) == (2, True), refused.err


@pytest.mark.parametrize(("name", "text", "value"), [
    ("review", "OFF", False), ("cost_usd", "0.5", 0.5), ("test_paths", "a, b c", ["a", "b", "c"]),
    ("packages", "none", []), ("tokens", "many", "many"),
])  # fmt: skip
def test_each_value_is_read_as_its_kind(name: str, text: str, value: Any) -> None:
    assert value_of(name, text) == value
