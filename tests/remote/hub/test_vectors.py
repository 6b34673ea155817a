"""One test suite for the vectors of a node and of a hub: both find the same lessons in the same order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nightshift.core.clock import utc_now
from nightshift.core.errors import HubAway, HubRefused
from nightshift.remote.hub import shared_schema
from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.vectors import HubVectors, SharedVectors
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere, rows
from nightshift.storage.memory.embedders import Choice, HashedEmbedder
from nightshift.storage.memory.embedding_space import EmbeddingSpaces
from nightshift.storage.memory.vector_index import LessonKind, Near, VectorIndex, VectorStore
from tests.support import postgres
from tests.support.postgres import PostgresServer, servers

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors

DIMS = 6
SPACE = "model:6"


@pytest.fixture(scope="module")
def vectors_server(server: PostgresServer) -> PostgresServer:
    with psycopg.connect(server.url()) as conn:
        if not conn.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
            pytest.skip("the tests' PostgreSQL has no pgvector")
    return server


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "a.sqlite") as opened:
        yield opened


@pytest.fixture
def local(db: Database) -> VectorStore:
    return VectorIndex(db, SPACE)


@pytest.fixture
def shared(db: Database, vectors_server: PostgresServer) -> Iterator[VectorStore]:
    url = vectors_server.ready()
    with postgres.shared(url) as database:
        yield HubVectors(database, "a", db, SPACE, DIMS)
    vectors_server.drop(url)


@pytest.fixture(params=["local", "shared"], ids=["sqlite-vec", "pgvector"])
def store(request: pytest.FixtureRequest, db: Database) -> VectorStore:
    vector_store: VectorStore = request.getfixturevalue(request.param)
    add_lessons(db, vector_store)
    return vector_store


ITEMS = range(1, 31)


def add_lessons(db: Database, store: VectorStore) -> None:
    """Add thirty lessons of each kind, known both here and in the hub."""

    def job(conn: Connection) -> None:
        at = "2026-03-01T12:00:00.000000Z"
        for item in ITEMS:
            conn.execute(
                "INSERT OR IGNORE INTO failures (id, signature, error, solved, created_at, fixed_at) "
                "VALUES (?, ?, '', 1, ?, ?)",
                (item, f"f{item}", at, at),
            )
            conn.execute(
                "INSERT OR IGNORE INTO patterns (id, problem, solution, created_at) VALUES (?, ?, '', ?)",
                (item, f"p{item}", at),
            )
        elsewhere.name(conn, [((kind, item), f"{kind}{item}") for kind in rows.KINDS for item in ITEMS])

    db.write(job).result()
    if isinstance(store, HubVectors):
        keys = [f"{kind}{item}" for kind in rows.KINDS for item in ITEMS]
        store._hub.rows("SELECT share_lessons('a', %s::text[], %s::text[])", (keys, keys))


def unit(*numbers: float) -> Vectors:
    row = np.zeros(DIMS, dtype=np.float32)
    row[: len(numbers)] = numbers
    return row / (np.linalg.norm(row) or 1)


def stack(*vectors: Vectors) -> Vectors:
    return np.stack(vectors)


def find_items(store: VectorStore, vector: Vectors, limit: int = 10, kind: LessonKind = "failure") -> list[int]:
    return [match.item for match in store.nearest(kind, vector, limit)]


def test_the_nearest_come_first_with_their_cosine(store: VectorStore) -> None:
    store.add("failure", [4, 3, 2, 1], stack(unit(1), unit(1, 1), unit(0, 1), unit(-1)))
    near = store.nearest("failure", unit(1), 10)
    assert [(match.kind, match.item, round(match.similarity, 5)) for match in near] == [
        ("failure", 4, 1.0), ("failure", 3, 0.70711), ("failure", 2, 0.0), ("failure", 1, -1.0),
    ]  # fmt: skip
    assert find_items(store, unit(1), 2) == [4, 3]


def test_kinds_do_not_meet(store: VectorStore) -> None:
    store.add("failure", [1], stack(unit(1)))
    store.add("pattern", [1, 2], stack(unit(0, 1), unit(1)))
    assert (find_items(store, unit(1)), find_items(store, unit(1), kind="pattern")) == ([1], [2, 1])


def test_of_equal_ones_the_older_come_first_also_at_the_limit(store: VectorStore) -> None:
    store.add("failure", [9, 3, 7, 1, 5, 2], stack(*[unit(1, 1)] * 5, unit(1)))
    assert find_items(store, unit(1), 3) == [2, 1, 3]


def test_nothing_is_found_where_nothing_is(store: VectorStore) -> None:
    assert find_items(store, unit(1)) == []


def test_a_text_in_which_nothing_counts_is_near_to_nothing(store: VectorStore) -> None:
    store.add("failure", [2, 1], stack(unit(1), unit(0, 1)))
    assert [(match.item, match.similarity) for match in store.nearest("failure", np.zeros(DIMS, np.float32), 5)] == [
        (1, 0.0), (2, 0.0),
    ]  # fmt: skip


NUMBERS = st.integers(-3, 3)
VECTORS = st.lists(NUMBERS, min_size=DIMS, max_size=DIMS).map(lambda numbers: unit(*numbers))
LESSONS = st.dictionaries(st.tuples(st.sampled_from(rows.KINDS), st.sampled_from(ITEMS)), VECTORS, max_size=30)


@given(lessons=LESSONS, query=VECTORS, kind=st.sampled_from(rows.KINDS), limit=st.integers(1, 12))
@example(lessons={("failure", item): unit(item % 2, 1) for item in ITEMS}, query=unit(1), kind="failure", limit=3)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_find_the_same_in_the_same_order(
    emptied: Callable[[], Sequence[VectorStore]],
    lessons: dict[tuple[LessonKind, int], Vectors],
    query: Vectors,
    kind: LessonKind,
    limit: int,
) -> None:
    stores = emptied()
    for (of, item), vector in lessons.items():
        for store in stores:
            store.add(of, [item], vector[None])
    answers: list[list[Near]] = [store.nearest(kind, query, limit) for store in stores]
    expected = sorted(
        (
            (-float(vector.astype(float) @ query.astype(float)), item)
            for (of, item), vector in lessons.items()
            if of == kind
        )
    )
    assert answers[0] == answers[1]
    assert len(answers[0]) == min(limit, len(expected))
    assert [-match.similarity for match in answers[0]] == pytest.approx(
        [similarity for similarity, _ in expected[:limit]], abs=1e-6
    )


@pytest.fixture
def emptied(db: Database, local: VectorStore, shared: VectorStore) -> Callable[[], Sequence[VectorStore]]:
    add_lessons(db, shared)
    assert isinstance(shared, HubVectors)

    def empty() -> Sequence[VectorStore]:
        db.write(lambda conn: conn.execute("DELETE FROM memory_vectors")).result()
        shared._hub.rows("SELECT 1 WHERE false")
        with shared._hub.connection() as conn:
            conn.execute("DELETE FROM lesson_vectors")
        return (local, shared)

    return empty


# Tests of the hub's vectors only.


def test_lessons_that_retired_here_take_no_place_of_others(db: Database, shared: HubVectors) -> None:
    add_lessons(db, shared)
    shared.add("failure", [1, 2, 3, 4], stack(unit(1), unit(5, 1), unit(4, 1), unit(3, 1)))
    db.write(lambda conn: [rows.retire(conn, "failure", item, "owner", utc_now()) for item in (1, 2)]).result()
    assert find_items(shared, unit(1), 1) == [3]


def test_embedders_do_not_meet_in_the_hub(db: Database, shared: HubVectors) -> None:
    add_lessons(db, shared)
    shared.add("failure", [1], stack(unit(1)))
    for name, dims in ((SPACE, 4), ("another", DIMS)):
        other = HubVectors(shared._hub, "a", db, name, dims)
        assert find_items(other, unit(1)[:dims]) == []


def test_the_first_vector_of_a_lesson_stays(db: Database, shared: HubVectors) -> None:
    add_lessons(db, shared)
    shared.add("failure", [1], stack(unit(1)))
    shared.add("failure", [1], stack(unit(-1)))
    assert [match.similarity for match in shared.nearest("failure", unit(1), 1)] == [1.0]


def test_a_forgotten_lesson_is_not_found(db: Database, shared: HubVectors) -> None:
    add_lessons(db, shared)
    shared.add("pattern", [1, 2], stack(unit(1), unit(1)))
    shared._hub.rows("SELECT forget_lessons('a', ARRAY['lesson'], ARRAY['pattern1'])")
    assert find_items(shared, unit(1), kind="pattern") == [2]


def test_a_vector_of_another_length_is_refused(db: Database, shared: HubVectors) -> None:
    add_lessons(db, shared)
    with pytest.raises(HubRefused):
        shared.add("failure", [1], np.ones((1, DIMS + 1), np.float32))


def test_what_the_hub_lacks_is_sent_once(db: Database, local: VectorStore, shared: HubVectors) -> None:
    add_lessons(db, shared)
    local.add("failure", [1, 2], stack(unit(1), unit(0, 1)))
    shared.send()
    assert find_items(shared, unit(1)) == [1, 2]
    local.add("pattern", [5], stack(unit(1)))
    shared.send()
    assert find_items(shared, unit(1), kind="pattern") == [5]
    assert shared._hub.rows("SELECT count(*) AS count FROM lesson_vectors") == [{"count": 3}]


def test_a_server_without_pgvector_has_a_hub_without_vectors(tmp_path: Path, db: Database) -> None:
    if "debian" not in servers():
        pytest.skip("no server without pgvector is here")
    with (
        PostgresServer(servers()["debian"], tmp_path / "postgres") as server,
        postgres.shared(server.database()) as database,
    ):
        if shared_schema.has_vectors(database):
            pytest.skip("Debian's server has pgvector here")
        assert SharedVectors(database, "a", db).of(HashedEmbedder()) is None
        SharedVectors(database, "a", db).send(HashedEmbedder())


def test_an_owner_who_may_not_add_the_extension_gets_a_hub_without_it(vectors_server: PostgresServer) -> None:
    url = vectors_server.database()
    name = url.rpartition("/")[2]
    with psycopg.connect(vectors_server.url(), autocommit=True) as conn:
        conn.execute("DROP ROLE IF EXISTS plain")
        conn.execute("CREATE ROLE plain LOGIN")
        conn.execute(f"GRANT ALL ON DATABASE {name} TO plain".encode())
    with postgres.shared(vectors_server.url(name, "plain")) as database:
        assert not shared_schema.has_vectors(database)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("CREATE EXTENSION vector")
        assert not shared_schema.make(database)
        assert shared_schema.has_vectors(database)
    with psycopg.connect(vectors_server.url(), autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        conn.execute("DROP ROLE plain")


def test_a_node_may_search_and_send_and_touch_no_table(vectors_server: PostgresServer, db: Database) -> None:
    url = vectors_server.database()
    with postgres.shared(url) as database:
        with database.connection() as conn:
            conn.execute("DROP ROLE IF EXISTS searcher")
            conn.execute("CREATE ROLE searcher LOGIN IN ROLE nightshift_node")
        guest = SharedDatabase(vectors_server.url(url.rpartition("/")[2], "searcher"))
        try:
            vectors = SharedVectors(guest, "a", db).of(HashedEmbedder())
            assert vectors
            add_lessons(db, vectors)
            row = HashedEmbedder().embed(["one text"])
            vectors.add("failure", [1], row)
            assert find_items(vectors, row[0]) == [1]
            for statement in ("SELECT * FROM lesson_vectors", "DELETE FROM lesson_tallies", "SELECT * FROM forgotten"):
                with pytest.raises(HubRefused, match="permission denied"):
                    guest.rows(statement)
        finally:
            guest.close()


# The times at which a node searches in the hub.


class Slow(HashedEmbedder):
    """An embedder that ranks above hashing, and embeds the lessons only after `may_read` is set."""

    name = "better"

    def __init__(self) -> None:
        self.may_read = threading.Event()

    def load(self) -> None: ...

    def close(self) -> None:
        self.may_read.set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) > 1 or "stored" in texts[0]:
            self.may_read.wait(30)
        return super().embed(texts)


@contextmanager
def reading(db: Database) -> Iterator[tuple[EmbeddingSpaces, Slow]]:
    slow = Slow()
    spaces = EmbeddingSpaces(
        db, Choice(ready=HashedEmbedder(), better=slow, why=""), clock=utc_now, emit=lambda _: None
    )
    try:
        yield spaces, slow
    finally:
        slow.may_read.set()  # without this, both would wait for their timeouts
        spaces.close()


def until_read(spaces: EmbeddingSpaces, slow: Slow) -> None:
    slow.may_read.set()
    assert spaces.loader
    spaces.loader.join()


class Counted:
    """A store that counts its searches, and always finds the same lesson or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails, self.asked = fails, 0

    def add(self, kind: LessonKind, items: Sequence[int], vectors: Vectors) -> None: ...

    def nearest(self, kind: LessonKind, vector: Vectors, limit: int) -> list[Near]:
        self.asked += 1
        if self.fails:
            raise HubAway("gone")
        return [Near(kind, 17, 0.99)]


def first_asked(spaces: EmbeddingSpaces) -> list[Near]:
    """Search while the better embedder is still embedding the lessons."""
    spaces._load_better()
    assert spaces.loader
    while spaces._reading is None:
        spaces.loader.join(0.01)
        assert spaces.loader.is_alive()
    return spaces.nearest({"failure": "one thing"}, 3)


def test_a_node_asks_the_hub_until_it_has_read_its_own_lessons(db: Database) -> None:
    known_texts(db)
    with reading(db) as (spaces, slow):
        store = Counted()
        spaces.beside = lambda embedder: store if embedder.name == "better" else None
        assert [match.item for match in first_asked(spaces)] == [17]
        until_read(spaces, slow)
        asked = store.asked
        assert 17 not in [match.item for match in spaces.nearest({"failure": "one thing"}, 3)]
        assert (store.asked, spaces.better) == (asked, slow)


def test_a_hub_that_is_away_is_asked_once_and_the_copy_answers(db: Database) -> None:
    known_texts(db)
    with reading(db) as (spaces, _):
        store = Counted(fails=True)
        spaces.beside = lambda _: store
        assert [match.item for match in first_asked(spaces)] == [1]
        spaces.nearest({"failure": "one thing"}, 3)
        assert store.asked == 1


def known_texts(db: Database) -> None:
    at = "2026-03-01T12:00:00.000000Z"
    insert = "INSERT INTO failures (id, signature, error, solved, created_at, fixed_at) VALUES (?, ?, '', 1, ?, ?)"
    db.write(lambda conn: conn.executemany(insert, [(1, "one thing stored", at, at), (2, "stored", at, at)])).result()


def test_a_new_node_finds_by_the_vectors_of_the_others(db: Database, shared: HubVectors) -> None:
    known_texts(db)
    db.write(lambda conn: elsewhere.name(conn, [(("failure", 1), "k1"), (("failure", 2), "k2")])).result()
    shared._hub.rows("SELECT share_lessons('a', ARRAY['k1', 'k2'], ARRAY['', ''])")
    with reading(db) as (spaces, slow):
        hub_vectors = SharedVectors(shared._hub, "a", db)
        vectors = hub_vectors.of(slow)
        assert vectors
        vectors.add("failure", [1, 2], HashedEmbedder().embed(["one thing stored", "stored"]))
        spaces.beside = hub_vectors.of
        early = first_asked(spaces)
        until_read(spaces, slow)
        late = spaces.nearest({"failure": "one thing"}, 3)
        assert early == late != []
