"""A month in one workspace: ten small programs, then changes, a removal, and documentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.story import CHANGED, MADE, Tale
from tests.support.wire_server import WireServer


class Author:
    """A model that answers each task as the story says, whatever else the prompt contains.

    `asked` lists the task and phase of each request.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        text = "\n".join(message["content"] for message in messages)
        tale = min((story for story in MADE + CHANGED if story.words in text), key=lambda story: text.find(story.words))
        self.asked.append((tale.words, phase))
        if phase == "CLARIFYING":
            return json.dumps({"goal": tale.words})
        if phase == "PLANNING":
            packages = "\nPackages: flask" if any("flask" in each for each in tale.files.values()) else ""
            return f"Project: {tale.project} - {tale.words}\n1. {', '.join(tale.files) or 'nothing'}{packages}"
        if phase == "REFLECTING":
            return json.dumps({"root_cause": "unknown", "suggested_fix": "none"})
        sent = tale.files if phase == "CODING" else tale.tests
        gone = [f"```text path={path} delete\n```" for path in tale.removes]
        return "\n\n".join([f"Summary: {tale.words}"[:70], *map(_block, sent, sent.values()), *gone])


def _block(path: str, text: str) -> str:
    return f"````{path.rpartition('.')[2]} path={path}\n{text}````"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Author]]:
    """A clone of the workspace after all twenty tasks."""
    folder, author = tmp_path_factory.mktemp("story"), Author()
    wanted = ("PIP_", "HTTP_", "HTTPS_", "NO_PROXY", "SSL_CERT")
    theirs = {name: value for name, value in os.environ.items() if name.upper().startswith(wanted)}
    with WireServer(author) as server, Daemon(folder / "home", settings_for(server, **theirs)) as daemon:
        begun = [_submit(daemon, tale) for tale in MADE]
        until(lambda: bool(daemon.get("/api/approvals?open=1")["approvals"]), within_s=300)
        (asked,) = daemon.get("/api/approvals?open=1")["approvals"]
        assert asked["subject"] == "package:flask"
        daemon.ask("POST", f"/api/approvals/{asked['approval_id']}", {"granted": True})  # one answer for three projects
        tasks = daemon.wait(*begun, within_s=300)
        for tale in CHANGED:
            tasks += daemon.wait(_submit(daemon, tale), within_s=120)
        ends = [(task["ending"], task["iteration_count"], task["reason"]) for task in tasks]
        assert [end[:2] for end in ends] == [("committed", 1)] * len(ends), ends
        for task, tale in zip(tasks, MADE + CHANGED, strict=True):
            if tale.removes:
                verified = daemon.cli("--verify", task["commit"])
                assert verified.returncode == 0, verified.stdout + verified.stderr
        clone = folder / "clone"
        git(folder, "clone", "-q", str(daemon.home / "workspace"), str(clone))
        yield clone, author


PROJECTS = {tale.project.replace("_", "-") for tale in MADE + CHANGED} - {
    tale.project for tale in CHANGED if tale.removes
}
"""Names of the projects that no task removes."""


def _submit(daemon: Daemon, tale: Tale) -> int:
    script = any(path.endswith(".mjs") for path in tale.files)
    return daemon.submit(description=tale.words, **({"language": "javascript"} if script else {}))


def test_no_task_takes_a_request_more_than_its_phases(workspace: tuple[Path, Author]) -> None:
    _, author = workspace
    for tale in MADE + CHANGED:
        asked = [phase for words, phase in author.asked if words == tale.words and phase != "CLARIFYING"]
        assert asked in (["PLANNING", "CODING", "TESTING"], ["PLANNING", "CODING"]), (tale.words, asked)


def test_each_program_has_a_folder_of_its_own(workspace: tuple[Path, Author]) -> None:
    clone, _ = workspace
    folders = {path.name for path in clone.iterdir() if path.name[0] != "."}
    assert folders == PROJECTS
    assert "def complete(" in (clone / "todo" / "todo.py").read_text()


def test_a_fresh_clone_installs_and_passes(workspace: tuple[Path, Author], tmp_path: Path) -> None:
    clone, _ = workspace
    assert "flask" in (clone / "books" / "requirements.txt").read_text().lower()
    for folder in sorted(clone / name for name in PROJECTS):
        if (folder / "package.json").exists():
            argv, libraries = ["node", "--test"], tmp_path
        else:
            libraries = tmp_path / folder.name
            pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(libraries)]
            subprocess.run([*pip, "-r", str(folder / "requirements.txt")], check=True)
            argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(libraries), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (folder.name, done.stdout, done.stderr)


def test_its_readmes_are_true(workspace: tuple[Path, Author]) -> None:
    clone, _ = workspace
    todo, books = ((clone / name / "README.md").read_text() for name in ("todo", "books"))
    for command in ("add", "done", "remove", "list"):
        assert f"python todo.py {command}" in todo
    for route in ("GET /books", "POST /books", "DELETE /books/1", "GET /health"):
        assert route in books
