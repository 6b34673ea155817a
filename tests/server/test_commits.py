"""Commits over the API: listing them, marking them as read, and asking for a revert."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest

from nightshift.core.clock import utc_now
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.remarks import Gravity, Remark
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.report.ranking import count_points
from nightshift.server.context import AppContext
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.app_context import Client
from tests.support.worked_task import submit

FIRST = Commit(
    task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="aa11" + "0" * 36, base="b" * 40, subject="Add",
    label="verified", integrated=True, target="refs/heads/main",
)  # fmt: skip


@pytest.fixture
def ledger(context: AppContext) -> StateStore:
    """Create three tasks; the first has one commit, the second two, the third none."""
    state = StateStore(context.database)
    for number in range(3):
        submit(context, f"task {number}")
    second = replace(FIRST, task_id=2, commit="aa22" + "0" * 36, integrated=False, target="")
    third = replace(second, commit="bb33" + "0" * 36, branch="agent/1-x-2")
    for commit in (FIRST, second, third):
        state.record_commit(commit).result()
    return state


def test_commits_are_listed_newest_first_page_by_page(client: Client, ledger: StateStore) -> None:
    page = client.get("/api/commits?limit=2").json
    assert [row["commit"][:4] for row in page["commits"]] == ["bb33", "aa22"]
    assert page["unread"] == 3
    rest = client.get(f"/api/commits?limit=2&after={page['next_after']}").json
    assert [(row["commit"][:4], row["target"]) for row in rest["commits"]] == [("aa11", "main")]
    assert rest["next_after"] is None
    assert [row["task_id"] for row in client.get("/api/commits?standing=1").json["commits"]] == [1]


def test_drafts_are_rows_of_their_own_with_the_tests_that_fail(client: Client, ledger: StateStore) -> None:
    signs = Signs(tests=5, tests_passed=3, failing=("test_a.py::test_x",))
    draft = replace(FIRST, task_id=3, commit="dd44" + "0" * 36, label="draft", integrated=False, target="", signs=signs)
    ledger.record_commit(draft).result()
    (row,) = client.get("/api/commits?drafts=1").json["commits"]
    assert (row["task_id"], row["label"], row["tests"], row["tests_passed"]) == (3, "draft", 5, 3)
    assert (row["failing"], row["base"]) == (["test_a.py::test_x"], "b" * 40)
    assert {row["task_id"] for row in client.get("/api/commits?drafts=0").json["commits"]} == {1, 2}
    assert {row["task_id"] for row in client.get("/api/commits?integrated=0").json["commits"]} == {2}
    assert client.get("/api/commits").json["unread"] == 3
    draft_row = client.get("/api/task/3").json["draft"]
    assert (draft_row["text"], draft_row["failing"]) == ("draft on agent/1-x: 3 of 5 tests pass", ["test_a.py::test_x"])
    assert draft_row["look"] == f"git -C /r diff {'b' * 12} agent/1-x"
    assert client.get("/api/task/1").json["draft"] is None


def test_marking_as_read_is_idempotent_and_shows_everywhere(client: Client, ledger: StateStore) -> None:
    first = client.post("/api/task/2/reviewed").json
    assert (len(first["commits"]), first["unread"]) == (2, 1)
    assert client.post("/api/task/2/reviewed").json == {"commits": [], "unread": 1}
    (left,) = client.get("/api/commits?unread=1").json["commits"]
    assert left["task_id"] == 1
    assert client.post("/api/commits/reviewed", {"commit": "AA11"}).json["unread"] == 0
    assert client.get("/api/commits?unread=1").json["commits"] == []


def test_what_was_marked_as_read_can_be_unread_again(client: Client, ledger: StateStore) -> None:
    read = client.post("/api/commits/reviewed", {"all": True}).json["commits"]
    taken = client.post("/api/commits/reviewed", {"undo": [row["id"] for row in read[:2]]}).json
    assert ([row["reviewed_at"] for row in taken["commits"]], taken["unread"]) == ([None, None], 2)
    assert client.post("/api/commits/reviewed", {"undo": [read[0]["id"]]}).json == {"commits": [], "unread": 2}
    assert client.post("/api/commits/reviewed", {"undo": [1], "all": True}).status == 400


def test_what_cannot_be_marked_is_told(client: Client, ledger: StateStore) -> None:
    assert "made no commit" in client.post("/api/task/3/reviewed").json["error"]
    assert client.post("/api/task/9/reviewed").status == 404
    assert "begins with cccc" in client.post("/api/commits/reviewed", {"commit": "cccc"}).json["error"]
    for body in ({}, {"commit": "aa11", "all": True}, {"commit": "x y"}, {"commit": "aa"}):
        assert client.post("/api/commits/reviewed", body).status == 400
    assert ledger.unread_count() == 3


def test_integrating_and_discarding_are_passed_on_and_refusals_say_what_force_would_do(
    client: Client, ledger: StateStore, context: AppContext
) -> None:
    assert client.request("POST", "/api/task/1/integrate").json["forced"] is False
    assert client.post("/api/task/1/integrate", {"force": True}).json["forced"] is True
    assert client.request("POST", "/api/task/1/discard").json["undo"].startswith("git -C /r branch agent/1-add ")
    for verb in ("integrate", "discard"):
        refused = client.request("POST", f"/api/task/2/{verb}")
        assert (refused.status, refused.json["fields"]) == (409, {})
        assert client.request("POST", f"/api/task/99/{verb}").status == 404
    assert client.post("/api/task/1/integrate", {"force": 1}).status == 400


def test_a_commit_waits_until_it_is_integrated_or_discarded(
    client: Client, ledger: StateStore, context: AppContext
) -> None:
    waiting = client.get("/api/commits?integrated=0").json["commits"]
    assert [(row["task_id"], row["waits"], row["discarded_at"]) for row in waiting] == [(2, True, None)] * 2
    entries = CommitLedger(context.database, context.events)
    entries.discard(entries.page(1, task_id=2)[0]).result()
    (left,) = client.get("/api/commits?integrated=0").json["commits"]
    newest = client.get("/api/commits?task=2").json["commits"][0]
    assert (left["id"] < newest["id"], newest["waits"]) == (True, False)
    assert newest["discarded_at"] == newest["reviewed_at"] is not None


def test_a_name_is_resolved_within_a_repository(client: Client, ledger: StateStore) -> None:
    def resolve(query: str) -> tuple[int, str | None, str | None]:
        got = client.get(f"/api/resolve?name={quote(query, safe='&=')}")
        return got.status, got.json.get("by"), got.json.get("commit")

    assert resolve("1") == resolve("#1") == (200, "task", FIRST.commit)
    assert resolve("3") == (200, "task", None)
    assert resolve("AA1") == (404, None, None), "four digits at least"
    assert resolve("AA11") == (200, "commit", FIRST.commit)
    assert resolve("1-x") == (409, None, None), "two tasks have a branch of that name"
    third = replace(FIRST, task_id=3, commit="cc44" + "0" * 36, branch="agent/3-x", repo="/other")
    ledger.record_commit(third).result()
    assert resolve("agent/3") == resolve("3-x&repo=/other/below") == (200, "branch", third.commit)
    assert resolve("agent/3&repo=/r")[0] == 404


LOSES = Remark(path="a.py", line=3, gravity=Gravity.CRITICAL, reason="it loses the last word")


@pytest.fixture
def risky(context: AppContext, ledger: StateStore) -> StateStore:
    """Add two commits: a risky one and a safe one.

    The risky commit has an open finding, is in the owner's repository, and belongs to a task that allows a rule.
    """
    submit(context, "log in", repo="/srv/shop", allow=["python.pickle"])
    signs = Signs(remarks=(LOSES,), own_tests=("test_a.py",), tests_passed=4, held_out=1, packages={"toolz": "1.0"})
    files = (ChangedFile(path="app/auth/login.py", added=90, removed=10),)
    grave = replace(FIRST, task_id=4, commit="cc44" + "0" * 36, repo="/srv/shop", label="self_tested", signs=signs)
    ledger.record_commit(replace(grave, files=files)).result()
    safe = replace(FIRST, task_id=3, commit="dd55" + "0" * 36, files=(ChangedFile(path="a.py", added=1, removed=0),))
    ledger.record_commit(replace(safe, signs=Signs(tests_passed=2))).result()
    return ledger


def test_each_commit_says_how_much_it_asks_to_be_read_and_why(client: Client, risky: StateStore) -> None:
    rows = {row["commit"][:4]: row for row in client.get("/api/commits").json["commits"]}
    risk = rows["cc44"]["risk"]
    assert (risk["level"], risk["points"]) == ("high", sum(reason["points"] for reason in risk["reasons"]))
    texts = [reason["text"] for reason in risk["reasons"]]
    assert texts[0].startswith("left open: ")
    for text in ("judged by tests that the agent wrote", "100 lines changed", "may break python.pickle"):
        assert text in texts
    assert {"in one of your repositories", "first to use toolz"} <= set(texts)
    assert any(text.startswith("touches sign-in") for text in texts)
    assert all(reason["why"] for reason in risk["reasons"])
    assert rows["dd55"]["risk"] == {"level": "low", "points": 0, "reasons": []}
    evidence = [rows["cc44"][name] for name in ("tests_passed", "held_out", "own_tests", "packages", "allowed")]
    assert evidence == [4, 1, ["test_a.py"], ["toolz 1.0"], ["python.pickle"]]
    assert rows["cc44"]["asked"] == "log in"
    assert [rows["aa11"][name] for name in ("tests_passed", "held_out", "own_tests")] == [None, None, []]


def test_the_riskiest_come_first_and_what_was_read_last(client: Client, risky: StateStore) -> None:
    def order(query: str = "") -> list[str]:
        return [row["commit"][:4] for row in client.get(f"/api/commits?order=risk{query}").json["commits"]]

    assert order() == ["cc44", "aa11", "aa22", "bb33", "dd55"]
    assert order("&limit=1") == ["cc44"]
    client.post("/api/commits/reviewed", {"commit": "cc44"})
    assert order() == ["aa11", "aa22", "bb33", "dd55", "cc44"]
    assert order("&unread=1&integrated=1") == ["aa11", "dd55"]
    refused = client.get("/api/commits?order=risk&after=3")
    assert (refused.status, "after" in refused.json["fields"]) == (400, True)


def test_the_riskiest_of_all_are_found_however_few_are_ranked_anew(
    context: AppContext, client: Client, risky: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the riskiest commits come first although only a few commits are ranked again.

    Those few include the commits with the most counted points, and the commits after which a test fails.
    """
    monkeypatch.setattr("nightshift.server.routes.commits.MOST", 2)
    ledger = CommitLedger(context.database, context.events)
    assert count_points(context.database, ledger, utc_now()) == 5
    assert count_points(context.database, ledger, utc_now()) == 0

    def first() -> list[str]:
        return [row["commit"][:4] for row in client.get("/api/commits?order=risk").json["commits"]]

    assert first() == ["cc44", "aa11"]
    data = {"commit": "dd55" + "0" * 36, "tests": ["test_a.py::test_b"]}
    context.events.emit(Event(kind=Kind.REGRESSION, message="fails", data=data))
    context.database.write(lambda conn: None).result()
    assert first() == ["cc44", "dd55", "aa11"]
