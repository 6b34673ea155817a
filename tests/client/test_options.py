"""Combinations of command-line options, and the ways to give the description of a new task."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.git_repo import make_repo
from tests.support.home import Home

ROOT = Path(__file__).resolve().parents[2]


def submit(home: Home, *arguments: str) -> dict[str, Any]:
    """Submit a task with these arguments, and return it as `--show` prints it."""
    result = home.cli(*arguments, "--json")
    assert result.code == 0, result.err
    task: dict[str, Any] = home.cli("--show", str(result.json["task_id"]), "--json").json
    return task


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--logs", "50", "task"), "unexpected extra argument (task)"),
        (("--status", "--history", "5"), "No such option"),
        (("--status", "--priority", "5"), "status does not take --priority; it works with add or run"),
        (("a task", "--follow"), "add does not take --follow; it works with logs"),
        (("fix", "the", "bug"), "put a task in quotes: 'fix' and 'the' are separate words"),
        (("--logs", "0"), "'0' is not a whole number from 1 to 1000"),
        (("--stat",), "--status"),
        (("--limit", "tokens=many", "do a"), "--limit: tokens: 'many' is not a number"),
        (("--not-before", "tomorrow", "do a"), "--not-before: 'tomorrow' is not a time"),
        (("--tests", "/no/such/file", "do a"), "/no/such/file: No such file or directory"),
    ],
)
def test_contradictions_are_refused_with_a_sentence_that_names_them(
    home: Home, arguments: tuple[str, ...], sentence: str
) -> None:
    result = home.cli(*arguments)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert not (home.path / "db").exists()


def test_every_field_of_a_task_can_be_given(home: Home) -> None:
    (home.path / "case.py").write_text("def test_a(): assert 1\n")
    home.cli("the first")
    case, repo = str(home.path / "case.py"), str(make_repo(home.path / "shop"))
    task = submit(
        home, "do it", "--priority", "5", "--repo", repo, "--base", "main", "--kind", "cli_tool",
        "--language", "javascript", "--tests", f"tests/test_a.py={case}", "--file", case, "--depends-on", "1",
        "--key", "k", "--limit", "iterations=3", "--limit", "wall_s=1.5", "--limit", "cpus=0.5",
        "--meta", "category=api",
        "--review", "--no-audit", "--clarify", "--integrate", "--allow", "python.socket", "--allow", "command.remote",
    )  # fmt: skip
    assert (task["priority"], task["kind"], task["language"], task["base"]) == (5, "cli_tool", "javascript", "main")
    assert (task["repo"], task["depends_on"], task["key"]) == (repo, [1], "k")
    assert (task["status"], task["metadata"]) == ("blocked", {"category": "api"})
    context = home.context()
    spec = context.queue.get(task["task_id"]).spec
    context.database.close()
    assert spec.tests == {"tests/test_a.py": "def test_a(): assert 1\n"}
    assert list(spec.files) == ["case.py"]
    assert (spec.limits.iterations, spec.limits.wall_s, spec.limits.cpus) == (3, 1.5, 0.5)
    assert (spec.review, spec.audit, spec.clarify, spec.integrate) == (True, False, True, True)
    assert spec.allow == ("python.socket", "command.remote")


def test_a_relative_file_keeps_its_path(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.path)
    (home.path / "pkg").mkdir()
    (home.path / "pkg" / "a=b.py").write_text("x = 1\n")
    task = submit(home, "do it", "--file", "pkg/a=b.py")
    context = home.context()
    assert context.queue.get(task["task_id"]).spec.files == {"pkg/a=b.py": "x = 1\n"}
    context.database.close()


def test_a_time_without_a_zone_is_the_typists_own(home: Home) -> None:
    task = submit(home, "do it", "--not-before", "2099-06-01T08:00")
    expected = datetime(2099, 6, 1, 8).astimezone()  # in this machine's time zone
    assert datetime.fromisoformat(task["not_before"]) == expected
    assert task["status"] == "scheduled"


@pytest.mark.parametrize(
    ("arguments", "kind", "priority"),
    [
        (("add", "-t", "do it", "-p", "web_app"), "web_app", 1),
        (("add", "-p", "data_pipeline", "do it"), "data_pipeline", 1),
        (("do it", "-p", "cli_tool", "--kind", "library"), "library", 1),
    ],
)
def test_a_task_may_be_given_as_the_documents_of_its_owner_have_it(
    home: Home, arguments: tuple[str, ...], kind: str | None, priority: int
) -> None:
    task = submit(home, *arguments)
    assert (task["description"], task["kind"], task["priority"]) == ("do it", kind, priority)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--help",), 0, "--workers N"),
        (("--status",), 3, "Offline"),
        (("--port=99999",), 2, "flask_port (FLASK_PORT): "),
        (("serve",), 2, "serve is not a command"),
    ],
)
def test_the_daemon_s_program_takes_flags_and_commands(
    tmp_path: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    argv = [sys.executable, str(ROOT / "main.py"), *arguments]
    env = {"NIGHTSHIFT_HOME": str(tmp_path), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, text in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr


def test_cases_and_an_oracle_are_read_from_files(home: Home) -> None:
    cases, oracle = home.path / "cases.yaml", home.path / "oracle.py"
    raising = "- {call: shop.total, args: [[]], raises: ValueError}"
    cases.write_text(f'- {{call: shop.total, args: [{{literal: "(1, 2)"}}]}}\n{raising}\n')
    oracle.write_text("def total(prices):\n    return sum(prices)\n")
    task = submit(home, "do it", "--cases", str(cases), "--oracle", str(oracle))
    context = home.context()
    spec = context.queue.get(task["task_id"]).spec
    context.database.close()
    assert [(case.call, case.args, case.raises) for case in spec.cases] == [
        ("shop:total", "((1, 2),)", ()), ("shop:total", "([],)", ("ValueError",)),
    ]  # fmt: skip
    assert spec.oracle == {"shop.py": oracle.read_text()}
    cases.write_text("call: shop.total\n")
    assert "must be a list" in home.cli("do it", "--cases", str(cases)).err
