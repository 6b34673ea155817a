"""One task in the foreground without a daemon: all components run in the command line's own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.answers import TESTS, Answers, job
from tests.support.daemon import git, settings_for
from tests.support.home import Home
from tests.support.wire_server import WireServer


def arguments(home: Home) -> list[str]:
    """Return command line arguments that run the first scripted job."""
    tests = home.path / "test_job_1.py"
    tests.write_text(TESTS.format(n=1))
    return ["--run", str(job(1)["description"]), "--tests", str(tests)]


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Home:
    (tmp_path / "home").mkdir()
    return Home(path=tmp_path / "home", capture=capsys)


def test_a_task_that_passes_is_committed_and_exits_with_0(home: Home) -> None:
    with WireServer(Answers(wrong_first=1)) as server:
        result = home.run(*arguments(home), **settings_for(server, GIT_AUTO_PUSH="false"))
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert "task_claimed" in result.out
    assert sum("step_finished" in line for line in lines) >= 5
    commit = git(home.path / "workspace", "rev-parse", "main")
    assert lines[-1].startswith(f"task 1 done: commit {commit[:10]} on agent/1-")
    assert "(2 iterations, " in lines[-1]
    assert home.cli("--show", "1", "--json").json["commit"] == commit


def test_a_task_that_never_passes_exits_with_1_and_its_reason(home: Home) -> None:
    with WireServer(Answers(wrong_first=1000)) as server:
        result = home.run(
            *arguments(home), "--limit", "iterations=2", "--json", **settings_for(server, GIT_AUTO_PUSH="false")
        )
    assert result.code == 1, result.err
    assert (result.json["status"], result.json["commit"]) == ("failed", None)
    assert result.json["reason"]
