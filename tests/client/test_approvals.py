"""Approvals at the terminal, with a daemon and without one."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Status
from nightshift.server.context import AppContext
from tests.support.asking import package, wait_for
from tests.support.home import Home


def test_what_waits_is_listed_and_read_to_its_end(home: Home, context: AppContext) -> None:
    assert home.cli("--approvals").out == "nothing needs your decision\n"
    home.cli("do it")
    wait_for(context.queue, package("moonphase"), package("tidewave", " " + "long " * 60 + "end"))
    result = home.cli("--approvals")
    assert result.code == 0
    assert "package:moonphase" in result.out
    assert "1: May the task use the package moonphase?" in result.out
    assert "long end" in result.out
    rows = home.cli("--approvals", "--json").json["approvals"]
    assert [(row["approval_id"], row["granted"]) for row in rows] == [(1, None), (2, None)]


def test_approving_and_denying(home: Home, context: AppContext) -> None:
    home.cli("do it")
    wait_for(context.queue, package("moonphase"), package("tidewave"))
    result = home.cli("--approve", "1")
    assert (result.code, result.out) == (0, "approval 1 granted: package:moonphase (task 1)\n")
    denied = home.cli("--deny", "2", "--remark", "use math", "--json").json
    assert (denied["granted"], denied["answer"]) == (False, "use math")
    assert context.queue.get(1).status is Status.QUEUED


def question(text: str, default: str = "") -> Ask:
    return Ask(kind=AskKind.QUESTION, subject=f"question:{text[:5]}", question=text, default=default)


def test_a_question_is_answered(home: Home, context: AppContext) -> None:
    home.cli("do it")
    wait_for(context.queue, question("Which port?"))
    assert home.cli("--answer", "1", " 80\n").out == "approval 1 answered: Which port? (task 1): 80\n"
    assert [each.answer for each in context.queue.approvals(open_only=False, task_id=1)] == ["80"]
    assert context.queue.get(1).status is Status.QUEUED
    again = home.cli("--answer", "1", "81")
    assert (again.code, [each.answer for each in context.queue.approvals(open_only=False)]) == (5, ["80"])


def test_what_is_assumed_and_when_is_shown_and_taken_by_approving(home: Home, context: AppContext) -> None:
    home.cli("do it")
    wait_for(context.queue, question("Which port?", "8080"), package("moonphase"))
    result = home.cli("--approvals").out
    asked, other = home.cli("--approvals", "--json").json["approvals"]
    waited = datetime.fromisoformat(asked["assumed_at"]) - datetime.fromisoformat(asked["asked_at"])
    assert (asked["default"], waited) == ("8080", timedelta(hours=4))
    assert (other["default"], other["assumed_at"]) == ("", None)
    own = datetime.fromisoformat(asked["assumed_at"]).astimezone().isoformat(timespec="seconds")
    assert f"without an answer, used from {own}: 8080" in result
    assert home.cli("--approve", "1").out == "approval 1 answered: Which port? (task 1): 8080\n"
    assert context.queue.approvals(open_only=False, task_id=1)[0].answer == "8080"


def test_a_decision_takes_no_answer_and_a_question_no_remark(home: Home, context: AppContext) -> None:
    home.cli("do it")
    wait_for(context.queue, package("moonphase"), question("Which port?"))
    refused = home.cli("--answer", "1", "yes please")
    assert (refused.code, refused.out) == (5, "")
    assert "approval 1 asks for a decision (package), not for a text; approve or deny it" in refused.err
    other = home.cli("--approve", "2", "--remark", "80")
    assert other.code == 5
    assert "approval 2 is a question; it takes an answer, not a remark: ./cli.py answer 2" in other.err
    assert [row.granted for row in context.queue.approvals()] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--answer", "1", " "), "the answer is empty; ./cli.py approve 1 uses the default answer"),
        (("--answer", "1", "80", "--approve", "1"), "No such option"),
    ],
)
def test_an_answer_that_is_none_is_refused(home: Home, arguments: tuple[str, ...], sentence: str) -> None:
    result = home.cli(*arguments)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


def test_what_cannot_be_decided_has_its_exit_code(home: Home, context: AppContext) -> None:
    home.cli("do it")
    wait_for(context.queue, package("moonphase"))
    missing = home.cli("--approve", "9")
    assert (missing.code, missing.out) == (4, "")
    assert "there is no approval 9" in missing.err
    home.cli("--deny", "1")
    again = home.cli("--approve", "1")
    assert again.code == 5
    assert "already denied" in again.err


def test_without_anything_there_is_nothing_to_decide(home: Home) -> None:
    assert home.cli("--approvals", "--json").json == {"approvals": []}
    assert home.cli("--approve", "1").code == 4
    assert home.cli("--answer", "1", "80").code == 4
    assert not (home.path / "db").exists(), "asking makes no database"
