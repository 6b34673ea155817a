"""Priorities of tasks, retries of all failed ones, and forks at the terminal, with a daemon and without one."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from nightshift.client.tasks import parse_place
from nightshift.core.errors import StoreError
from nightshift.core.tasks.forecast import WorkSettings
from nightshift.core.tasks.states import Ending
from nightshift.server.context import AppContext
from tests.support.home import Home
from tests.support.worked_task import submit, work_on


def fail(context: AppContext, task_id: int) -> None:
    task = context.queue.claim("worker-1", only=task_id).result()
    assert task is not None
    context.queue.finish(task.id, task.fence, Ending.GAVE_UP).result()


def break_it() -> WorkSettings:
    raise StoreError("the database cannot be read")


def test_a_task_is_added_where_nothing_can_be_forecast(home: Home) -> None:
    with home.daemon(replace(home.context(), work=break_it)) as context:
        result = home.cli("add", "first")
        assert (result.code, result.out) == (0, "task 1 queued\n")
        assert "no forecast: the daemon answered with HTTP" in result.err
        assert context.queue.get(1).spec.description == "first"


def test_a_task_is_made_more_urgent(home: Home, context: AppContext) -> None:
    home.cli("add", "first")
    home.cli("add", "second")
    assert home.cli("--prioritise", "2=-5").out == "task 2 queued, priority -5\n"
    result = home.cli("--prioritise", "2=9", "--json")
    assert result.json == {"task_id": 2, "status": "queued", "priority": 9, "cancel_requested": False}
    assert home.cli("--prioritise", "9=1").code == 4
    claimed = context.queue.claim("worker-1").result()
    assert claimed is not None
    assert claimed.id == 2


@pytest.mark.parametrize("text", ["7", "x=1", "1=1000001"])
def test_what_is_no_task_and_priority_is_refused(home: Home, text: str) -> None:
    result = home.cli("--prioritise", text)
    assert result.code == 2
    assert "give a task and its priority" in result.err


def test_all_that_failed_is_queued_again(home: Home, context: AppContext) -> None:
    for text in ("first", "second", "third"):
        home.cli("add", text)
    home.cli("do the fourth", "--depends-on", "1")
    fail(context, 1)
    fail(context, 2)
    result = home.cli("--retry-failed")
    assert (result.code, result.out) == (0, "3 of 3 failed tasks queued again\n")
    assert home.cli("--retry-failed", "--json").json == {"tasks": []}
    assert [str(context.queue.get(task_id).status) for task_id in (1, 2, 3, 4)] == ["queued"] * 3 + ["blocked"]


def test_a_task_that_cannot_be_queued_again_is_named(home: Home, context: AppContext) -> None:
    home.cli("add", "first")
    home.cli("do the second", "--depends-on", "1")
    home.cli("add", "third")
    fail(context, 3)
    home.cli("--cancel", "1")  # the second task fails because of it
    result = home.cli("--retry-failed")
    assert (result.code, result.out) == (5, "1 of 2 failed tasks queued again\n")
    assert "task 2: depends on what did not succeed: task 1 (cancelled)" in result.err


def test_a_fork_begins_after_the_step_that_is_named_or_the_last(home: Home, context: AppContext) -> None:
    submit(context, "Write calc.py")
    work_on(context)
    result = home.cli("--fork", "1:3", "--remark", "Use the other sign.")
    assert result.code == 0, result.err
    assert result.out == "task 2 queued, continues after step 3 of attempt 1 of task 1\n"
    assert context.queue.get(2).spec.description.endswith("Use the other sign.")
    assert home.cli("--fork", "1", "--json").json["step_no"] == 5


def test_what_cannot_be_forked_has_its_own_exit_code(home: Home, context: AppContext) -> None:
    submit(context, "Write calc.py")
    for origin, code, message in (
        ("1", 4, "not started yet"),
        ("1:9:9", 4, "attempt 9"),
        ("7", 4, "7"),
        ("1:0:1", 2, "attempt"),
    ):
        result = home.cli("--fork", origin)
        assert (result.code, message in result.err) == (code, True), result.err
    work_on(context)
    assert home.cli("--fork", "1", "--model", "gpt-9").code == 2
    assert context.queue.find(limit=2) == [context.queue.get(1)]


@pytest.mark.parametrize(("text", "origin"), [("7", (7, None, None)), ("7:0", (7, None, 0)), ("7:2:12", (7, 2, 12))])
def test_a_place_is_a_task_a_step_or_a_step_of_an_attempt(
    text: str, origin: tuple[int, int | None, int | None]
) -> None:
    assert parse_place(text) == origin


@pytest.mark.parametrize("text", ["", "7:", "7:1:2:3", "٧"])
def test_what_is_no_place_is_a_usage_error(text: str) -> None:
    with pytest.raises(click.UsageError, match="fork takes"):
        parse_place(text)


@pytest.mark.parametrize("option", [("--repo", "/nope"), ("--test-command", "mkae test")])
def test_a_task_that_could_only_fail_here_is_refused_without_a_daemon(home: Home, option: tuple[str, str]) -> None:
    result = home.cli("Write calc.py", *option)
    assert result.code == 2
    assert result.err.startswith(f"error: {option[0][2:].replace('-', '_')}")
    assert home.cli("--history", "5", "--json").json == []


def test_words_that_came_over_the_standard_input_come_back_with_the_refusal(home: Home) -> None:
    result = home.run("-", "--repo", "/nope", stdin="Write calc.py\nwith add\n")
    assert (result.code, result.out) == (2, "")
    assert result.err == "not taken:\n  Write calc.py\n  with add\nerror: repo: there is no folder /nope\n"
