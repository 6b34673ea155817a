"""A linter of the repository, end to end: a change with a finding goes back to the model before its tests run."""

from __future__ import annotations

from pathlib import Path

from tests.support.answers import RIGHT, Answers, job
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

FILES = {"pyproject.toml": "[tool.ruff.lint]\nselect = ['F']\n", "old.py": "import sys\n"}


class Untidy(Answers):
    """A model whose first code has an unused import; `shown` lists its prompts for code."""

    def __init__(self) -> None:
        super().__init__(wrong_first=1, wrong="import os\n\n\n" + RIGHT)
        self.shown: list[str] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        if phase == "CODING":
            self.shown.append("\n".join(message["content"] for message in messages))
        return super().__call__(phase, messages)


def test_what_a_linter_requires_goes_back_to_the_model_and_the_tidy_change_is_committed(tmp_path: Path) -> None:
    repo, answers = make_repo(tmp_path / "shop", FILES), Untidy()
    with WireServer(answers) as server, Daemon(tmp_path / "home", settings_for(server)) as daemon:
        done = daemon.cli("--repo-settings", str(repo), "lint=required")
        assert done.returncode == 0, done.stderr
        (task,) = daemon.wait(daemon.submit(**job(1), repo=str(repo), lint="required"), within_s=300)
        events = daemon.get(f"/api/logs?task={task['task_id']}&limit=500")["events"]
    assert (task["ending"], task["iteration_count"]) == ("committed", 2), task["reason"]
    messages = [event["message"] for event in events if event["event"] == "gate_finding"]
    assert [text[:40] for text in messages] == ["ruff.F401 (block) in job_1.py:1: `os` im"]
    assert len([event for event in events if event["event"] == "suite_judged"]) == 1, "nothing ran before"
    assert "ruff.F401" not in answers.shown[0]
    assert "ruff.F401" in answers.shown[1]
    assert git(repo, "show", f"{task['commit']}:job_1.py") == RIGHT.format(n=1).rstrip("\n")
