"""Lessons of one node reach the memory of all other nodes once, without secrets, with each node's own paths."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nightshift.core.clock import utc_now
from nightshift.core.errors import HubAway
from nightshift.core.shares import Share
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.git.manager import GitManager
from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.lessons import LessonExchange
from nightshift.remote.hub.repositories import SharedRepositories
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.memory import exchange, fingerprints, listing, recall_log, rows
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.lesson_standing import Standing, standing
from nightshift.storage.memory.listing import Listed, State
from nightshift.storage.memory.recall_log import Assignment, Recalled
from nightshift.storage.memory.store import LongTermMemory
from tests.support.daemon import git
from tests.support.git_repo import make_repo
from tests.support.postgres import PostgresServer, shared
from tests.support.ready_database import ready

TIME = "2026-03-01T12:00:00.000000Z"


@dataclass
class Learner:
    """A node with a memory of lessons; `repo` is its checkout of the shared repository."""

    db: Database
    memory: LongTermMemory
    lessons: LessonExchange
    repo: str
    faults: list[str]

    def learn(self, problem: str, repo: str = "") -> None:
        fields = {"problem": problem, "solution": f"solves {problem}", "repo": repo}
        line = json.dumps({"kind": "pattern", **fields, "created_at": TIME, "learned_at": TIME})
        self.db.write(lambda conn: exchange.take(conn, exchange.read(line))).result()

    def fail(self, signature: str, shapes: Sequence[str]) -> None:
        """Add a failure that a task of this node fixed."""

        def job(conn: Connection) -> None:
            rows.add_failures(conn, 1, 1, {signature: "an error"}, "", utc_now())
            ((item, _, _),) = rows.open_failures(conn, 1)
            rows.solve(conn, item, "a fix", "a lesson", utc_now())
            fingerprints.add(conn, item, shapes)

        self.db.write(job).result()

    def solve(self, task_id: int, problem: str) -> None:
        """Add the pattern of a solved task of this node, replacing the task's earlier patterns."""

        def job(conn: Connection) -> None:
            rows.drop_patterns(conn, task_id)
            rows.add_pattern(conn, task_id, problem, f"solves {problem}", "", utc_now())

        self.db.write(job).result()

    def attempt(self, number: int, item: int, *, shown: bool, solved: bool) -> None:
        """Add an attempt for which a pattern was relevant, and the attempt's result."""
        arm = Assignment.SHOWN if shown else Assignment.PROBATION

        def job(conn: Connection) -> None:
            task = "INSERT INTO tasks (id, status, priority, description, created_at) VALUES (?, 'queued', 0, '', '')"
            conn.execute(task, (number,))
            recall_log.add(conn, number, 1, [Recalled(kind="pattern", item=item, arm=arm, score=0.9)], utc_now())
            assert rows.conclude(conn, number, 1)
            lessons = [Lesson(id=item, text="", score=0.9, source="pattern")] * shown
            rows.count_uses(conn, lessons, number, 1, helped=solved, at=utc_now())
            self.memory._retire(conn, AttemptState(phase=Phase.COMMIT, base=""), number, solved)

        self.db.write(job).result()

    def item(self, problem: str) -> int:
        row = self.db.reader().execute("SELECT id FROM patterns WHERE problem = ?", (problem,)).fetchone()
        return int(row[0])

    def listed(self, problem: str) -> Listed:
        lesson = listing.read(self.db.reader(), "pattern", self.item(problem))
        assert lesson
        return lesson

    def knows(self) -> dict[str, str]:
        """Map the problem of each known pattern to the pattern's repository."""
        lessons = map(json.loads, exchange.lines(self.db.reader(), Masker()))
        return {lesson["problem"]: lesson["repo"] for lesson in lessons if lesson["kind"] == "pattern"}


@pytest.fixture
def nodes(database: SharedDatabase, tmp_path: Path) -> Iterator[tuple[Learner, Learner]]:
    with two(database, tmp_path) as learners:
        yield learners


@contextmanager
def two(database: SharedDatabase, folder: Path) -> Iterator[tuple[Learner, Learner]]:
    remote = folder / "shop.git"
    git(folder, "init", "-q", "--bare", str(remote))
    with ExitStack() as stack:
        yield learner(stack, database, folder / "a", remote), learner(stack, database, folder / "b", remote)


def learner(stack: ExitStack, database: SharedDatabase, folder: Path, remote: Path) -> Learner:
    repo = make_repo(folder / "shop", {"a.py": "1\n"})
    git(repo, "remote", "add", "origin", str(remote))
    author = Author(name="Test", email="test@example.org")
    manager = GitManager(workspace=folder / "workspace", author=author, auto_push=False, emit=lambda _: None)
    stack.callback(manager.close)
    db = stack.enter_context(Database(ready(folder / "a.sqlite")))
    memory, faults = LongTermMemory(db, choose("hashed"), emit=lambda _: None), list[str]()
    stack.callback(memory.close)

    lessons = LessonExchange(
        database, folder.name, db=db, state=StateStore(db), mask=Masker(["hunter2hunter2"]),
        repositories=SharedRepositories(manager, folder / "clones", lambda: [str(repo)]),
        hear=memory.hear, report=faults.append,
    )  # fmt: skip
    return Learner(db, memory, lessons, str(repo), faults)


def settle(*nodes: Learner) -> None:
    for _ in range(3):
        for node in nodes:
            node.lessons.turn()


def test_a_lesson_is_known_to_all_once_without_secrets_and_with_the_path_of_each_node(
    nodes: tuple[Learner, Learner], database: SharedDatabase
) -> None:
    first, second = nodes
    first.learn("off by one")
    second.learn("off by one")
    second.learn("wrong sign", repo=second.repo)
    settle(*nodes)
    assert first.knows() == {"off by one": "", "wrong sign": first.repo}
    assert second.knows() == {"off by one": "", "wrong sign": second.repo}
    assert database.rows("SELECT count(*) AS count FROM lessons") == [{"count": 2}]
    first.learn("log in with hunter2hunter2")
    first.lessons.turn()
    assert "hunter2hunter2" not in str(database.rows("SELECT line FROM lessons"))


def test_what_is_no_lesson_is_passed_over_and_told(nodes: tuple[Learner, Learner], database: SharedDatabase) -> None:
    first, second = nodes
    for number, line in enumerate(("no json", "[]", '{"kind": "pattern"}', '{"kind": "failure", "repo": ""}')):
        database.rows("SELECT share_lessons('a', %s::text[], %s::text[])", ([f"k{number}"], [line]))
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


ENDS = st.lists(st.tuples(st.integers(0, 1), st.booleans(), st.booleans()), max_size=60)


@given(ends=ENDS)
@example(ends=[(turn % 2, turn % 4 < 2, turn % 4 >= 2) for turn in range(48)])  # only both nodes' sum proves it useless
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nodes_judge_as_one_that_has_seen_what_all_have(
    server: PostgresServer, tmp_path: Path, ends: list[tuple[int, bool, bool]]
) -> None:
    with shared(server.ready()) as database, two(database, Path(tempfile.mkdtemp(dir=tmp_path))) as nodes:
        nodes[0].learn("shared")
        settle(*nodes)
        for number, (index, is_shown, solved) in enumerate(ends, 1):
            nodes[index].attempt(number, nodes[index].item("shared"), shown=is_shown, solved=solved)
            if number % 7 == 0:
                nodes[index].lessons.turn()
        settle(*nodes)
        counts = {arm: [solved for _, is_shown, solved in ends if is_shown is arm] for arm in (True, False)}
        shown, without = (Share(sum(counts[arm]), len(counts[arm])) for arm in (True, False))
        for node in nodes:
            lesson = node.listed("shared")
            assert (lesson.shown, lesson.withheld) == (shown, without)
            assert (lesson.times_used, lesson.helped) == (shown.whole, shown.part)
            expected = standing(shown, without, without) if ends else Standing.TRUSTED
            assert lesson.state == {"trusted": State.ACTIVE, "suspect": State.PROBATION}.get(expected, State.RETIRED)
            assert lesson.elsewhere == sum(1 for where, _, _ in ends if nodes[where] is not node)


def test_news_that_are_read_twice_change_nothing(nodes: tuple[Learner, Learner]) -> None:
    first, second = nodes
    first.learn("shared")
    first.fail("TypeError in add", ["s1"])
    first.solve(70, "old")
    settle(*nodes)
    first.solve(70, "new")
    for number in range(1, 5):
        first.attempt(number, first.item("shared"), shown=True, solved=True)
    settle(*nodes)

    def seen() -> object:
        conn = second.db.reader()
        tables = ("lesson_tallies", "failed_shapes", "forgotten")
        return [[tuple(row) for row in conn.execute(f"SELECT * FROM {table}")] for table in tables], second.knows()

    before = seen()
    for cursor in ("hub_lessons", "hub_tallies", "hub_shapes", "hub_forgotten"):  # as if killed before storing these
        StateStore(second.db).set(cursor, 0).result()
    settle(*nodes)
    assert seen() == before
    assert second.knows().keys() == {"shared", "new"}
