"""Approvals at the terminal, with a daemon and without one."""

from __future__ import annotations

from core.gates import Ask, AskKind
from core.states import Status
from server.desk import Desk
from tests.support.asking import package, wait_for
from tests.support.home import Home


def test_what_waits_is_listed_and_read_to_its_end(home: Home, desk: Desk) -> None:
    assert home.cli("--approvals").out == "nothing waits for your decision\n"
    home.cli("do it")
    wait_for(desk.queue, package("moonphase"), package("tidewave", " " + "long " * 60 + "end"))
    said = home.cli("--approvals")
    assert said.code == 0
    assert "package:moonphase" in said.out
    assert "1: May the task use the package moonphase?" in said.out
    assert "long end" in said.out
    rows = home.cli("--approvals", "--json").json["approvals"]
    assert [(row["approval_id"], row["granted"]) for row in rows] == [(1, None), (2, None)]


def test_approving_and_denying(home: Home, desk: Desk) -> None:
    home.cli("do it")
    wait_for(desk.queue, package("moonphase"), package("tidewave"))
    said = home.cli("--approve", "1")
    assert (said.code, said.out) == (0, "approval 1 granted: package:moonphase (task 1)\n")
    denied = home.cli("--deny", "2", "--answer", "use math", "--json").json
    assert (denied["granted"], denied["answer"]) == (False, "use math")
    assert desk.queue.get(1).status is Status.QUEUED


def test_a_question_is_answered(home: Home, desk: Desk) -> None:
    home.cli("do it")
    wait_for(desk.queue, Ask(kind=AskKind.QUESTION, subject="", question="Which port?"))
    assert home.cli("--approve", "1", "--answer", "80").out == "approval 1 answered: Which port? (task 1)\n"
    assert desk.queue.answers(1) == [("Which port?", "80")]


def test_what_cannot_be_decided_has_its_exit_code(home: Home, desk: Desk) -> None:
    home.cli("do it")
    wait_for(desk.queue, package("moonphase"))
    missing = home.cli("--approve", "9")
    assert (missing.code, missing.out) == (4, "")
    assert "there is no approval 9" in missing.err
    home.cli("--deny", "1")
    again = home.cli("--approve", "1")
    assert again.code == 5
    assert "was denied before" in again.err


def test_without_anything_there_is_nothing_to_decide(home: Home) -> None:
    assert home.cli("--approvals", "--json").json == {"approvals": []}
    assert home.cli("--approve", "1").code == 4
    assert not (home.path / "db").exists(), "asking makes no database"


def test_the_status_counts_what_waits(home: Home) -> None:
    desk = home.desk()
    home.cli("do it")
    wait_for(desk.queue, package("moonphase"))
    assert "1 open, see --approvals" in home.cli("--status").out
    assert home.cli("--status", "--json").json["approvals"] == 1
    desk.database.close()


def test_an_answer_belongs_to_a_decision(home: Home) -> None:
    said = home.cli("--status", "--answer", "x")
    assert said.code == 2
    assert "--answer belongs to --approve or --deny" in said.err


def test_packages_of_a_task_reach_the_queue(home: Home) -> None:
    desk = home.desk()
    assert home.cli("--package", "moonphase", "--package", "PyYAML", "do it").code == 0
    assert desk.queue.get(1).spec.packages == ("moonphase", "PyYAML")
    wrong = home.cli("--package", "a b; rm", "do it")
    assert wrong.code == 2
    desk.database.close()
