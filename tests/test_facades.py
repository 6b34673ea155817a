"""The owner's modules at the top level: they export the names that the owner's documents import, and little else."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FACADES = (
    "cli", "config", "git_manager", "main", "model_handler", "queue_manager", "server", "server.app", "task_executor",
    "test_runner", "weekly_summary",
)  # fmt: skip
MOST_LINES = 15
DOCUMENTED = (
    "from git_manager import git_manager",
    "from queue_manager import QueueManager",
    "from server.app import create_app",
    "from model_handler import BaseModelHandler",
    "from model_handler import ModelHandler",
    "from task_executor import TaskExecutor",
    "from task_executor import AutonomousCoder",
    "from test_runner import SuiteRunner",
    "from test_runner import CodeExecutor, TestResult",
    "from weekly_summary import write_report",
    "from config import Settings, load_settings",
    "from main import main",
    "from cli import main",
    "import server",
)
"""Imports from the owner's documents, and at least one import from each module."""


def path_of(facade: str) -> Path:
    path = ROOT / facade.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.mark.parametrize("statement", DOCUMENTED)
def test_an_import_of_the_owners_documents_works(statement: str) -> None:
    exec(statement, {})  # the statements are in this file


@pytest.mark.parametrize("name", FACADES)
def test_a_facade_says_what_is_behind_it_and_has_what_it_promises(name: str) -> None:
    text = path_of(name).read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip()]
    assert len(code) <= MOST_LINES
    assert "`nightshift/" in (ast.get_docstring(ast.parse(text)) or "")
    module = importlib.import_module(name)
    assert all(hasattr(module, promised) for promised in getattr(module, "__all__", ()))


def test_the_top_level_has_no_other_modules() -> None:
    there = {path.stem for path in ROOT.glob("*.py")} - {"conftest"}
    assert there == {name for name in FACADES if not name.startswith("server")}


def test_the_package_itself_loads_nothing_heavy() -> None:
    code = "import sys; before = set(sys.modules); import nightshift; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nightshift"]
