"""A plan splits a task: two parts run in parallel, and one after both; the real daemon is killed meanwhile."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.submission import parse_spec
from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer

NAMES = ("left", "right", "both")
TESTS = {
    "test_left.py": "from left import left\n\n\ndef test_left():\n    assert left(3) == 6\n    assert left(5) == 10\n",
    "test_right.py": "from right import right\n\n\ndef test_right():\n    assert [right(3), right(5)] == [9, 25]\n",
    "test_both.py": "from both import both\n\n\ndef test_both():\n    assert both(3) == 15\n    assert both(5) == 35\n",
}
CODE = {
    "left": "def left(n):\n    return n * 2\n",
    "right": "def right(n):\n    return n * n\n",
    "both": "from left import left\nfrom right import right\n\n\ndef both(n):\n    return left(n) + right(n)\n",
}
WHOLE = "Write left, right and both, each in a module of its own, as the tests say."


def subtask(name: str, *after: int) -> dict[str, Any]:
    return {
        "description": f"Write the function `{name}(n)` in {name}.py, which takes and returns an integer.",
        "files": [f"{name}.py"],
        "tests": [f"test_{name}.py"],
        "depends_on": list(after),
    }


PLAN = json.dumps({"subtasks": [subtask("left"), subtask("right"), subtask("both", 1, 2)]})


class Model:
    """A model that splits the whole task and writes its parts.

    Attributes:
        codings: The part of each request for code, with "" for the whole task.
        wrong: The parts for which the model writes wrong code.
    """

    def __init__(self) -> None:
        self.codings: list[str] = []
        self.wrong: set[str] = set()

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        text = messages[1]["content"]
        name = next((name for name in NAMES if f"Write the function `{name}(n)`" in text), "")
        if phase == "PLANNING":
            return "1. Write it." if name or "subtasks failed" in text else PLAN
        if phase == "CODING":
            self.codings.append(name)
            return "\n\n".join(self._block(block_name, part=bool(name)) for block_name in ([name] if name else NAMES))
        return '{"root_cause": "x", "suggested_fix": "y"}'

    def _block(self, name: str, *, part: bool) -> str:
        code = f"def {name}(n):\n    return None\n" if part and name in self.wrong else CODE[name]
        return f"```python path={name}.py\n{code}```"


def split(daemon: Daemon, **more: Any) -> int:
    return daemon.submit(description=WHOLE, tests=TESTS, split=True, **more)


def children(daemon: Daemon, parent_id: int) -> list[dict[str, Any]]:
    return list(daemon.get(f"/api/task/{parent_id}")["children"])


def shares(home: Path, parent_id: int) -> list[tuple[int, float]]:
    """Return the limits of each part: the number of model calls, and dollars."""
    path = home / "db" / "agent_logs.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as conn:
        specs = conn.execute("SELECT spec FROM task_specs WHERE task_id > ?", (parent_id,)).fetchall()
    return [(limits["model_calls"], limits["cost_usd"]) for (spec,) in specs if (limits := json.loads(spec)["limits"])]


def history(home: Path) -> list[str]:
    """Return the subjects of the commits in the daemon's workspace, oldest first, without the initial commit."""
    return git(home / "workspace", "log", "--reverse", "--format=%s").splitlines()[1:]


def test_two_parts_run_side_by_side_a_third_after_both_and_all_are_judged_together(tmp_path: Path) -> None:
    model = Model()
    with WireServer(model) as server, Daemon(tmp_path, settings_for(server)) as daemon:
        server.fail_next("hang", 2, phase="CODING")
        parent_id = split(daemon, limits={"model_calls": 13, "cost_usd": 4.0})
        server.until(lambda: sum(request.fault == "hang" for request in server.requests) == 2, 30)
        asked = [request.messages[1]["content"] for request in server.requests if request.fault == "hang"]
        assert {name for name in NAMES for text in asked if f"`{name}(n)`" in text} == {"left", "right"}
        assert [child["status"] for child in children(daemon, parent_id)] == ["running", "running", "blocked"]
        daemon.kill()
        daemon.start()
        (task,) = daemon.wait(parent_id)
        assert (task["status"], task["attempt"], task["spent"]["model_calls"]) == ("done", 1, 1)
        assert [phase["outcome"] for phase in task["iterations"][0]["phases"]] == ["split", "ok", "ok"]
        assert [child["status"] for child in task["children"]] == ["done"] * 3
        assert sorted(model.codings) == ["both", "left", "right"]
        assert model.codings[-1] == "both"
        last = daemon.get(f"/api/task/{task['children'][2]['task_id']}")
        assert (last["parent"], last["priority"]) == (parent_id, 2)
        assert last["depends_on"] == [child["task_id"] for child in task["children"][:2]]
        assert shares(tmp_path, parent_id) == [(3, 1.0)] * 3  # one share is for the whole task
        shown = daemon.cli("--show", str(parent_id)).stdout
        assert all(f"{child['task_id']} (done)" in shown for child in task["children"])
    assert len(history(tmp_path)) == 3


def test_when_a_part_fails_the_whole_is_planned_anew_in_one_piece_on_what_the_others_made(tmp_path: Path) -> None:
    model = Model()
    model.wrong = {"right"}
    with WireServer(model) as server, Daemon(tmp_path, settings_for(server)) as daemon:
        parent_id = split(daemon, limits={"iterations": 2})
        (task,) = daemon.wait(parent_id)
        assert (task["status"], task["ending"]) == ("done", "committed")
        ends = {child["description"].split("`")[1]: child["ending"] for child in task["children"]}
        assert ends == {"left(n)": "committed", "right(n)": "gave_up", "both(n)": "dependency"}
        plans = [r.messages for r in server.requests if r.phase == "PLANNING" and "subtasks failed" in str(r.messages)]
        assert len(plans) == 1
        assert "2 of 3 subtasks failed" in plans[0][1]["content"]
        assert "# Splitting the task" not in plans[0][0]["content"]
        shown = git(tmp_path / "workspace", "show", "--stat", "--format=", task["commit"])
        assert "right.py" in shown
        assert "left.py" not in shown  # the part was committed before
    assert len(history(tmp_path)) == 2


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"repo": "/somewhere", "tests": TESTS}, "own workspace"),
        ({"tests": {}}, "needs tests"),
        ({"tests": TESTS, "files": {"a.py": ""}}, "files of its own"),
        ({"tests": TESTS, "key": "split:1:1:1"}, "belong to subtasks"),
    ],
)
def test_what_cannot_be_split_is_refused_and_says_why(more: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidTask, match=why):
        parse_spec({"description": WHOLE, "split": True, **more})
