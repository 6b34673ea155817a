"""Tasks and their results at the terminal, within eighty columns: failures, changes, and the brief."""

from __future__ import annotations

import re
import sys

import pytest

from nightshift.server.context import AppContext
from tests.support.daemon import git
from tests.support.home import ROOT, Home
from tests.support.terminal import Terminal
from tests.support.worked_task import submit, work_on


def test_a_failed_task_shows_first_which_test_failed_and_what_it_asserts_then_its_change(
    home: Home, context: AppContext
) -> None:
    submit(context, "Write add", files={"calc.py": "x = 1\n"})
    task = work_on(context, passes=False)
    result = home.cli("show", str(task.id))
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "AssertionError: test_calc.py::test_add (test_calc.py:5 in test_add)"
    assert lines[1:3] == ["  assert -1 == 5", "    where -1 = add(2, 3)"]
    head, change = result.out.split("Write add", 1)
    assert "status" in head
    assert "\n+def add(a, b):" in change
    assert change.rstrip().endswith(f"./cli.py diff {task.id}  ./cli.py retry {task.id}")
    assert "\n+def add(a, b):" in home.cli("diff", str(task.id)).out
    assert home.cli("diff", str(task.id), "--json").json["files"]
    assert home.cli("show", str(task.id), "--json").json["task_id"] == task.id


@pytest.mark.parametrize("own", [True, False], ids=["workspace", "repository"])
def test_without_a_daemon_a_change_is_held_against_its_commit(home: Home, own: bool) -> None:
    repo = home.path / "workspace" if own else home.path / "shop"
    repo.mkdir(exist_ok=True)
    git(repo, "init", "-q")
    (repo / "calc.py").write_text('"""Sums."""\n\n\ndef add(a, b):\n    return a - b\n')
    git(repo, "add", ".")
    git(repo, "-c", "user.name=a", "-c", "user.email=a@example", "commit", "-qm", "Begin")
    context = home.context()
    submit(context, "Mend add", **({} if own else {"repo": str(repo)}))
    reply = '"""Sums."""\n\n\ndef add(a, b):\n    return a + b\n'
    task = work_on(context, reply=reply, base=git(repo, "rev-parse", "HEAD"))
    context.database.close()
    for result in (home.cli("diff", str(task.id)), home.cli("show", str(task.id))):
        assert "-    return a - b" in result.out
        assert '+"""Sums."""' not in result.out
        assert "runs without a daemon" not in result.out


def test_the_brief_tells_what_failed_for_which_cause_and_what_to_type(home: Home, context: AppContext) -> None:
    submit(context, "Write add")
    task = work_on(context, passes=False)
    result = home.cli("brief")
    assert re.match(r"The last 24 hours: 0 landed, 1 failed", result.out)
    assert f"task {task.id}: Write add" in result.out
    assert f"./cli.py show {task.id}" in result.out
    assert home.cli("brief", "--read").code == result.code
    assert "1 failed" not in home.cli("brief").out
    assert home.cli("brief", "--since", "2020-01-01", "--json").json["failed"] == 1
    assert "--since: 'yesterday' is not a time" in home.cli("brief", "--since", "yesterday").err


def test_several_tasks_are_cancelled_and_queued_again_at_once(home: Home, context: AppContext) -> None:
    for number in (1, 2):
        submit(context, f"task {number}")
    assert home.cli("cancel", "1", "2").out == "task 1 cancelled\ntask 2 cancelled\n"
    result = home.cli("retry", "1", "9", "2")
    assert (result.code, result.out) == (4, "task 1 queued\ntask 2 queued\n")
    assert "there is no task 9" in result.err
    assert home.cli("retry").code == home.cli("retry", "1", "--failed").code == 2


def test_watching_the_status_goes_on_until_ctrl_c(home: Home) -> None:
    env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(home.path)}
    with Terminal([sys.executable, str(ROOT / "cli.py"), "status", "--watch"], env) as shown:
        shown.expect("no task was ever added")
        home.cli("add", "first")
        shown.expect("1 queued")
        shown.interrupt()
        assert shown.rest()[0] == 130
