"""A Go task, end to end: the real daemon, a scripted model, `go test` in the sandbox, and a commit at the end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.sandbox.go_program import ENV
from tests.support import golang
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer

TESTS = """package total

import "testing"

func TestTotal(t *testing.T) {
	for _, c := range []struct{ in []int; want int }{{nil, 0}, {[]int{3, 4}, 4}} {
		if got := Total(c.in); got != c.want {
			t.Errorf("Total(%v) = %d, want %d", c.in, got, c.want)
		}
	}
}
"""
RIGHT = """package total

// Total adds up the numbers above three.
func Total(numbers []int) int {
	sum := 0
	for _, n := range numbers {
		if n > 3 {
			sum += n
		}
	}
	return sum
}
"""
MOD = "module example.org/total\n\ngo 1.18\n"


class Model:
    """Writes code that does not parse, then wrong code, then right code; records the requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        self.asked.append((phase, "\n".join(message["content"] for message in messages)))
        if phase == "CODING":
            count = sum(name == "CODING" for name, _ in self.asked)
            code = [RIGHT.replace("n > 3", "n > > 3"), RIGHT.replace("n > 3", "n >= 3"), RIGHT][min(count, 3) - 1]
            mod = f"```text path=go.mod\n{MOD}```\n\n"
            return f"Summary: Sum what is above three\n\n{mod}```go path=total.go\n{code}```"
        thought = {"root_cause": "the boundary is let through", "suggested_fix": "compare strictly"}
        return "1. Write Total." if phase == "PLANNING" else json.dumps(thought)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def daemon(tmp_path: Path, model: Model) -> Iterator[Daemon]:
    assert golang.runtime().go
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as running:
        yield running


def passes_bare_go(repo: Path, commit: str, folder: Path) -> bool:
    go = golang.runtime().go
    assert go
    folder.mkdir()
    archive = subprocess.run(["git", "-C", str(repo), "archive", commit], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    env = {**ENV, "HOME": str(folder.parent), "GOROOT": go.root, "PATH": "/usr/bin:/bin"}
    done = subprocess.run([go.path, "test", "-vet=off", "./..."], cwd=folder, env=env, capture_output=True, check=False)
    return done.returncode == 0


def test_a_go_task_ends_as_a_commit_that_go_confirms(daemon: Daemon, model: Model, tmp_path: Path) -> None:
    (task,) = daemon.wait(
        daemon.submit(description="Write Total in total.go", language="go", tests={"total_test.go": TESTS})
    )
    assert (task["status"], task["ending"]) == ("done", "committed"), task["reason"]
    assert task["iterations"][-1]["iteration"] == 3
    workspace = daemon.home / "workspace"
    assert git(workspace, "show", f"{task['commit']}:total.go") + "\n" == RIGHT
    prompts = [prompt for phase, prompt in model.asked if phase == "CODING"]
    assert "`go test` runs the tests of each package" in prompts[0]
    assert "Total([3 4]) = 7, want 4" in prompts[-1]
    assert passes_bare_go(workspace, task["commit"], tmp_path / "bare")
