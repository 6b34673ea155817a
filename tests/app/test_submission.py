"""The choice of a new task's language by a process that can read the task's repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.app.submission import choose_language_here
from nightshift.config.load import Settings, load_settings
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Language
from tests.support.git_repo import git, make_repo

EXPRESS = {"package.json": "{}", "app.js": "", "scripts/tool.py": ""}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(home=tmp_path)


def choose(settings: Settings, **fields: object) -> Language:
    return choose_language_here(parse_spec({"description": "Fix the discount", **fields}), settings)


def test_the_files_of_the_repository_decide_from_any_folder_in_it(tmp_path: Path, settings: Settings) -> None:
    repo = make_repo(tmp_path / "shop", EXPRESS)
    assert choose(settings, repo=str(repo)) is Language.JAVASCRIPT
    assert choose(settings, repo=str(repo / "scripts")) is Language.JAVASCRIPT


def test_the_branch_that_the_task_starts_from_decides(tmp_path: Path, settings: Settings) -> None:
    repo = make_repo(tmp_path / "shop", EXPRESS)
    git(repo, "switch", "-qc", "rewrite")
    git(repo, "rm", "-q", "app.js", "package.json")
    (repo / "go.mod").write_text("module shop\n")
    (repo / "main.go").write_text("package main\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Rewrite")
    assert choose(settings, repo=str(repo)) is Language.GO
    assert choose(settings, repo=str(repo), base="main") is Language.JAVASCRIPT


def test_a_project_of_the_workspace_has_its_own_language(settings: Settings) -> None:
    make_repo(settings.workspace, {"shop/package.json": "{}", "shop/cart.js": "", "bank/bank.py": ""})
    assert choose(settings, project="shop") is Language.JAVASCRIPT
    assert choose(settings, project="bank") is Language.PYTHON
    assert choose(settings) is Language.PYTHON
