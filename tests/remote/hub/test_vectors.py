"""One test suite for the vectors of a node and of a hub: both find the same lessons in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nightshift.remote.hub.vectors import HubVectors
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere, rows
from nightshift.storage.memory.embedders.base import multiply, scale
from nightshift.storage.memory.vector_index import LessonKind, Near, VectorIndex, VectorStore
from tests.support import postgres
from tests.support.postgres import PostgresServer

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vector

DIMS = 6
SPACE = "model:6"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "a.sqlite") as opened:
        yield opened


@pytest.fixture
def local(db: Database) -> VectorStore:
    return VectorIndex(db, SPACE)


@pytest.fixture
def shared(db: Database, server: PostgresServer) -> Iterator[HubVectors]:
    """Provide the vectors of a hub in which, as here, there are thirty lessons of each kind."""
    with psycopg.connect(server.url()) as conn:
        if not conn.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
            pytest.skip("the tests' PostgreSQL has no pgvector")
    url = server.ready()
    with postgres.shared(url) as database:
        store = HubVectors(database, "a", db, SPACE, DIMS)
        add_lessons(db, store)
        yield store
    server.drop(url)


ITEMS = range(1, 31)


def add_lessons(db: Database, store: HubVectors) -> None:
    keys = [f"{kind}{item}" for kind in rows.KINDS for item in ITEMS]

    def job(conn: Connection) -> None:
        for item in ITEMS:
            failure = (
                "INSERT INTO failures (id, signature, error, solved, created_at, fixed_at) VALUES (?, ?, '', 1, '', '')"
            )
            conn.execute(failure, (item, f"f{item}"))
            pattern = "INSERT INTO patterns (id, problem, solution, created_at) VALUES (?, ?, '', '')"
            conn.execute(pattern, (item, f"p{item}"))
        elsewhere.name(conn, [((kind, item), f"{kind}{item}") for kind in rows.KINDS for item in ITEMS])

    db.write(job).result()
    store._hub.rows("SELECT share_lessons('a', %s::text[], %s::text[])", (keys, keys))


def unit(*numbers: float) -> Vector:
    return scale([*numbers, *[0.0] * (DIMS - len(numbers))])


def find_items(store: VectorStore, vector: Vector, limit: int = 10, kind: LessonKind = "failure") -> list[int]:
    return [match.item for match in store.nearest(kind, vector, limit)]


NUMBERS = st.integers(-3, 3)
VECTORS = st.lists(NUMBERS, min_size=DIMS, max_size=DIMS).map(lambda numbers: unit(*numbers))
LESSONS = st.dictionaries(st.tuples(st.sampled_from(rows.KINDS), st.sampled_from(ITEMS)), VECTORS, max_size=30)


@given(lessons=LESSONS, query=VECTORS, kind=st.sampled_from(rows.KINDS), limit=st.integers(1, 12))
@example(lessons={("failure", item): unit(item % 2, 1) for item in ITEMS}, query=unit(1), kind="failure", limit=3)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_find_the_same_in_the_same_order(
    db: Database,
    local: VectorStore,
    shared: HubVectors,
    lessons: dict[tuple[LessonKind, int], Vector],
    query: Vector,
    kind: LessonKind,
    limit: int,
) -> None:
    db.write(lambda conn: conn.execute("DELETE FROM memory_vectors")).result()
    with shared._hub.connection() as conn:
        conn.execute("DELETE FROM lesson_vectors")
    stores: tuple[VectorStore, ...] = (local, shared)
    for (of, item), vector in lessons.items():
        for store in stores:
            store.add(of, [item], [vector])
    answers: list[list[Near]] = [store.nearest(kind, query, limit) for store in stores]
    expected = sorted((-multiply(vector, query), item) for (of, item), vector in lessons.items() if of == kind)
    assert answers[0] == answers[1]
    assert len(answers[0]) == min(limit, len(expected))
    assert [-match.similarity for match in answers[0]] == pytest.approx(
        [similarity for similarity, _ in expected[:limit]], abs=1e-6
    )


def test_what_the_hub_lacks_is_sent_once(db: Database, local: VectorStore, shared: HubVectors) -> None:
    local.add("failure", [1, 2], [unit(1), unit(0, 1)])
    shared.send()
    assert find_items(shared, unit(1)) == [1, 2]
    local.add("pattern", [5], [unit(1)])
    shared.send()
    assert find_items(shared, unit(1), kind="pattern") == [5]
    assert shared._hub.rows("SELECT count(*) AS count FROM lesson_vectors") == [{"count": 3}]
