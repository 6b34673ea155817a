"""What one node has learned is in the memory of all others, once, without secrets, and with their own paths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.clock import utc_now
from core.errors import HubAway
from core.masking import Masker
from core.revisions import Author
from db.database import Database
from db.state_store import StateStore
from git_manager import GitManager
from hub.connection import HubConnections
from hub.lessons import LessonExchange
from hub.nodes import Node, join
from hub.repositories import SharedRepositories
from memory import exchange
from memory.rows import Stored
from memory.store import _concerns
from tests.support.daemon import git
from tests.support.git_repo import make_repo
from tests.support.postgres import PostgresServer

TIME = "2026-03-01T12:00:00.000000Z"


@dataclass
class Learner:
    """A node with a memory; `repo` is its checkout of what all share."""

    db: Database
    lessons: LessonExchange
    repo: str
    faults: list[str]

    def learn(self, problem: str, repo: str = "") -> None:
        fields = {"problem": problem, "solution": f"solves {problem}", "repo": repo}
        line = json.dumps({"kind": "pattern", **fields, "created_at": TIME, "learned_at": TIME})
        self.db.write(lambda conn: exchange.take(conn, exchange.read(line))).result()

    def knows(self) -> dict[str, str]:
        """The repository of each problem."""
        return {one["problem"]: one["repo"] for one in map(json.loads, exchange.lines(self.db.reader(), Masker()))}


@pytest.fixture
def nodes(connections: HubConnections, tmp_path: Path) -> Iterator[tuple[Learner, Learner]]:
    remote = tmp_path / "shop.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    with ExitStack() as stack:
        yield tuple(stack.enter_context(_learner(connections, tmp_path / name, remote)) for name in "ab")  # type: ignore[misc]


class _learner(ExitStack):  # noqa: N801  a function that closes what it opens
    def __init__(self, connections: HubConnections, folder: Path, remote: Path) -> None:
        super().__init__()
        repo = make_repo(folder / "shop", {"a.py": "1\n"})
        git(repo, "remote", "add", "origin", str(remote))
        join(connections, Node(id=folder.name, name=folder.name))
        author = Author(name="Test", email="test@example.org")
        manager = GitManager(workspace=folder / "workspace", author=author, auto_push=False, emit=lambda _: None)
        self.callback(manager.close)
        db = self.enter_context(Database(folder / "a.sqlite"))
        faults = list[str]()
        lessons = LessonExchange(
            connections, folder.name, db=db, state=StateStore(db), mask=Masker(["hunter2hunter2"]),
            repositories=SharedRepositories(manager, folder / "clones", lambda: [str(repo)]), report=faults.append,
        )  # fmt: skip
        self._made = Learner(db, lessons, str(repo), faults)

    def __enter__(self) -> Learner:  # type: ignore[override]  # what it made is what is worked with
        return self._made


def test_a_lesson_is_known_to_all_once(nodes: tuple[Learner, Learner], connections: HubConnections) -> None:
    first, second = nodes
    first.learn("off by one")
    second.learn("off by one")
    second.learn("wrong sign")
    for _ in range(2):
        for node in nodes:
            node.lessons.turn()
    assert first.knows().keys() == second.knows().keys() == {"off by one", "wrong sign"}
    assert connections.rows("SELECT count(*) AS count FROM lessons") == [{"count": 2}]


def test_a_repository_has_the_path_that_it_has_on_each_node(nodes: tuple[Learner, Learner]) -> None:
    first, second = nodes
    first.learn("shop only", repo=first.repo)
    first.lessons.turn()
    second.lessons.turn()
    assert second.knows() == {"shop only": second.repo}
    assert first.repo != second.repo


def test_secrets_do_not_leave_their_node(nodes: tuple[Learner, Learner], connections: HubConnections) -> None:
    nodes[0].learn("log in with hunter2hunter2")
    nodes[0].lessons.turn()
    assert "hunter2hunter2" not in str(connections.rows("SELECT line FROM lessons"))


def test_what_is_no_lesson_is_passed_over_and_told(nodes: tuple[Learner, Learner], connections: HubConnections) -> None:
    first, second = nodes
    for number, line in enumerate(("no json", "[]", '{"kind": "pattern"}', '{"kind": "failure", "repo": ""}')):
        connections.rows("SELECT share_lessons('a', %s::text[], %s::text[])", ([f"k{number}"], [line]))
    first.learn("sound")
    first.lessons.turn()
    second.lessons.turn()
    assert second.knows().keys() == {"sound"}
    assert len(second.faults) == 4


def test_while_the_hub_is_away_nothing_is_lost(nodes: tuple[Learner, Learner], server: PostgresServer) -> None:
    first, second = nodes
    server.stop()
    try:
        first.learn("meanwhile")
        with pytest.raises(HubAway):
            first.lessons.turn()
    finally:
        server.start()
    first.lessons.turn()
    second.lessons.turn()
    assert second.knows().keys() == {"meanwhile"}


def test_a_lesson_of_a_repository_is_not_recalled_for_another_one(nodes: tuple[Learner, Learner]) -> None:
    first, second = nodes
    first.learn("shop only", repo=first.repo)
    first.lessons.turn()
    second.lessons.turn()
    (row,) = second.db.reader().execute("SELECT repo FROM patterns").fetchall()
    stored = Stored(
        kind="pattern", id=1, task_id=None, about="", lesson="", fix="", at=utc_now(), times_used=0, helped=0,
        language="python", repo=row["repo"], similarity=1.0,
    )  # fmt: skip
    assert _concerns(stored, "python", second.repo)
    assert not _concerns(stored, "python", "")
