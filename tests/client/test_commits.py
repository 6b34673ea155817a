"""Commits at the terminal, with a daemon and without one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nightshift.server.context import AppContext
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.home import Home

FIRST = Commit(
    task_id=1, attempt=1, repo="/srv/r", branch="agent/1-x", commit="aa11" + "0" * 36, base="b" * 40, subject="Add it",
    label="verified", integrated=True, target="refs/heads/main",
)  # fmt: skip


def enter(home: Home, context: AppContext, *commits: Commit) -> None:
    for number in {commit.task_id for commit in commits}:
        assert home.cli(f"task {number}").code == 0
    for commit in commits:
        StateStore(context.database).record_commit(commit).result()


def test_unread_commits_are_listed_with_what_to_do(home: Home, context: AppContext) -> None:
    assert home.cli("--unread").out == "you have read every commit\n"
    left = replace(FIRST, task_id=2, commit="bb22" + "0" * 36, integrated=False, target="", label="self_tested")
    enter(home, context, FIRST, left)
    out = home.cli("--unread").out
    lines = out.splitlines()
    assert lines[1].split()[:4] == ["2", "bb22000000", "self", "tested"]
    assert "agent/1-x" in lines[1]
    assert "main" in lines[2]
    assert "./cli.py review TASK --read" in out
    assert "./cli.py revert TASK" in out
    assert "and 1 more" in home.cli("--unread", "1").out
    assert [row["task_id"] for row in home.cli("--unread", "--json").json["commits"]] == [2, 1]


def test_reading_is_noted_by_task_by_commit_and_for_all(home: Home, context: AppContext) -> None:
    enter(home, context, FIRST, *(replace(FIRST, task_id=n, commit=f"cc{n}{n}" + "0" * 36) for n in (2, 3)))
    assert "3 commits, see ./cli.py review" in home.cli("--status").out
    assert home.cli("--reviewed", "1").out == "1 commit marked as read, 2 left\n"
    assert home.cli("--reviewed", "1").out == "none of it was unread, 2 left\n"
    assert home.cli("--reviewed", "CC22").out == "1 commit marked as read, 1 left\n"
    assert home.cli("--reviewed", "all").out == "1 commit marked as read, 0 left\n"
    assert "unread" not in home.cli("--status").out


def test_what_is_unknown_has_its_own_exit_code(home: Home, context: AppContext) -> None:
    enter(home, context, FIRST)
    assert home.cli("no commit").code == 0
    for name, message in (("9", "9"), ("2", "made no commit"), ("dddd", "begins with dddd")):
        result = home.cli("--reviewed", name)
        assert (result.code, message in result.err) == (4, True), result.err
    assert home.cli("--undo", "--yes").code != 0


def test_a_home_without_a_database_has_nothing_to_read_or_to_undo(home: Home) -> None:
    assert home.cli("--unread").out == "you have read every commit\n"
    assert home.cli("--reviewed", "all").code == 0
    assert home.cli("--revert", "1").code == 4
    result = home.cli("--undo", "--yes")
    assert (result.code, "no integrated commit" in result.err) == (4, True)
    assert not (home.path / "db").exists()


@pytest.mark.parametrize("command", ["show", "revert", "review"])
def test_every_command_on_a_commit_takes_the_same_names(home: Home, context: AppContext, command: str) -> None:
    """Check that each command accepts every name of a commit.

    The output for any other name of the first task's commit equals the output for the task's number.
    """
    second = replace(FIRST, task_id=2, commit="aa22" + "0" * 36, branch="agent/2-y", subject="Other")
    enter(home, context, FIRST, second)
    (home.path / "workspace").mkdir()
    by_number = home.cli(command, "1")
    for name in ("#1", "aa11", "AA11" + "0" * 36, "agent/1-", "1-x", "agent/1-x"):
        assert home.cli(command, name) == by_number, name
    for name in ("aa", "aaff", "zz", "77"):
        assert home.cli(command, name).code == 4, name
    for name, both in (("agent/", ("agent/1-x", "agent/2-y")),):
        result = home.cli(command, name)
        assert result.code == 5, name
        assert all(each in result.err for each in both)


def test_a_number_is_a_task_first_and_both_are_named_where_both_fit(home: Home, context: AppContext) -> None:
    enter(home, context, replace(FIRST, commit="1234f" + "0" * 35))
    assert home.cli("show", "1234", "--json").json["task_id"] == 1, "there is no task 1234"
    context.database.write(lambda conn: conn.execute("UPDATE sqlite_sequence SET seq = 1233")).result()
    assert home.cli("task of a large number").code == 0
    result = home.cli("show", "1234")
    assert (result.code, home.cli("show", "999999").code) == (5, 4)
    assert all(each in result.err for each in ("task 1234 (", "commit 1234f0000000 of task 1", "'#1234'")), result.err
    assert home.cli("show", "#1234", "--json").json["task_id"] == 1234
