"""Forks at the terminal, with a daemon and without one."""

from __future__ import annotations

import click
import pytest

from client.forks import place_of
from server.desk import Desk
from tests.support.home import Home
from tests.support.worked_task import submit, work_on


def test_a_fork_begins_after_the_step_that_is_named_or_the_last(home: Home, desk: Desk) -> None:
    submit(desk, "Write calc.py")
    work_on(desk)
    said = home.cli("--fork", "1:3", "--remark", "Use the other sign.")
    assert said.code == 0, said.err
    assert said.out == "task 2 queued, begins after step 3 of attempt 1 of task 1\n"
    assert desk.queue.get(2).spec.description.endswith("Use the other sign.")
    assert home.cli("--fork", "1", "--json").json["step_no"] == 5


def test_what_cannot_be_forked_is_said_with_its_own_exit_code(home: Home, desk: Desk) -> None:
    submit(desk, "Write calc.py")
    for place, code, told in (
        ("1", 4, "not begun yet"),
        ("1:9:9", 4, "attempt 9"),
        ("7", 4, "7"),
        ("1:0:1", 2, "attempt"),
    ):
        said = home.cli("--fork", place)
        assert (said.code, told in said.err) == (code, True), said.err
    work_on(desk)
    assert home.cli("--fork", "1", "--model", "gpt-9").code == 2
    assert desk.queue.find(limit=2) == [desk.queue.get(1)]


def test_a_fork_of_nothing_is_not_found(home: Home) -> None:
    assert home.cli("--fork", "1").code == 4


@pytest.mark.parametrize(("text", "place"), [("7", (7, None, None)), ("7:0", (7, None, 0)), ("7:2:12", (7, 2, 12))])
def test_a_place_is_a_task_a_step_or_a_step_of_an_attempt(text: str, place: tuple[int, int | None, int | None]) -> None:
    assert place_of(text) == place


@pytest.mark.parametrize("text", ["", "x", "7:", ":7", "7:1:2:3", "7:-1", "٧"])
def test_what_is_no_place_is_a_usage_error(text: str) -> None:
    with pytest.raises(click.UsageError, match="--fork takes"):
        place_of(text)
