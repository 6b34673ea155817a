"""One contract for both indexes: sqlite-vec's table and plain numpy give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from db.sqlite import Connection
from memory.embedders import HashedEmbedder
from memory.index import FlatIndex, Kind, VecIndex, load_extension
from tests.support.store import Store

if TYPE_CHECKING:
    from memory.embedders import Vectors

DIMS = 8
Do = Callable[[Callable[[Connection], object]], object]


def unit(*numbers: float) -> Vectors:
    row = np.zeros(DIMS, dtype=np.float32)
    row[: len(numbers)] = numbers
    return row / np.linalg.norm(row)


@pytest.fixture
def do(store: Store) -> Do:
    """Run something on the writer's connection."""

    def run(job: Callable[[Connection], object]) -> object:
        def prepared(conn: Connection) -> object:
            load_extension(conn)
            return job(conn)

        return store.db.write(prepared).result()

    return run


@pytest.fixture(params=[FlatIndex, VecIndex])
def index(request: pytest.FixtureRequest, do: Do) -> FlatIndex:
    made: FlatIndex = request.param("one", DIMS)
    if isinstance(made, VecIndex):
        do(made.prepare)
    return made


def near(store: Store, index: FlatIndex, kind: Kind, vector: Vectors, limit: int = 10) -> list[tuple[int, float]]:
    conn = store.db.reader()
    load_extension(conn)
    return [(one.item, round(one.similarity, 3)) for one in index.nearest(conn, kind, vector, limit)]


def test_the_nearest_come_first_with_their_similarity(store: Store, do: Do, index: FlatIndex) -> None:
    rows = np.stack([unit(1, 0), unit(1, 1), unit(0, 1), unit(-1, 0)])
    do(lambda conn: index.add(conn, "failure", [11, 12, 13, 14], rows))
    assert near(store, index, "failure", unit(1, 0)) == [(11, 1.0), (12, 0.707), (13, 0.0), (14, -1.0)]
    assert near(store, index, "failure", unit(1, 0), limit=2) == [(11, 1.0), (12, 0.707)]


def test_kinds_do_not_meet(store: Store, do: Do, index: FlatIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    do(lambda conn: index.add(conn, "pattern", [1], unit(0, 1)[None]))
    assert near(store, index, "failure", unit(1)) == [(1, 1.0)]
    assert near(store, index, "pattern", unit(1)) == [(1, 0.0)]


def test_embedders_do_not_meet(store: Store, do: Do, index: FlatIndex) -> None:
    other = type(index)("two", 4)
    if isinstance(other, VecIndex):
        do(other.prepare)
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    do(lambda conn: other.add(conn, "failure", [1, 2], np.eye(4, dtype=np.float32)[:2]))
    assert near(store, index, "failure", unit(1)) == [(1, 1.0)]
    assert near(store, other, "failure", np.eye(4, dtype=np.float32)[1]) == [(2, 1.0), (1, 0.0)]


def test_adding_again_replaces_and_removing_forgets(store: Store, do: Do, index: FlatIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1, 2], np.stack([unit(1), unit(0, 1)])))
    do(lambda conn: index.add(conn, "failure", [1], unit(0, 0, 1)[None]))
    assert near(store, index, "failure", unit(0, 0, 1)) == [(1, 1.0), (2, 0.0)]
    do(lambda conn: index.remove(conn, "failure", [1, 99]))
    assert near(store, index, "failure", unit(0, 0, 1)) == [(2, 0.0)]


def test_an_empty_index_finds_nothing(store: Store, index: FlatIndex) -> None:
    assert near(store, index, "failure", unit(1)) == []


def test_a_job_that_fails_leaves_no_vector(store: Store, do: Do, index: FlatIndex) -> None:
    def job(conn: Connection) -> None:
        index.add(conn, "failure", [1], unit(1)[None])
        raise LookupError

    with pytest.raises(LookupError):
        do(job)
    assert near(store, index, "failure", unit(1)) == []


def test_more_may_be_asked_for_than_the_extension_gives(store: Store, do: Do, index: FlatIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    assert near(store, index, "failure", unit(1), limit=100_000) == [(1, 1.0)]


def test_what_was_stored_without_the_extension_is_found_with_it(store: Store, do: Do) -> None:
    flat, vec = FlatIndex("one", DIMS), VecIndex("one", DIMS)
    do(vec.prepare)
    do(lambda conn: flat.add(conn, "failure", [1, 2], np.stack([unit(1), unit(0, 1)])))
    assert near(store, vec, "failure", unit(1)) == []
    do(vec.prepare)
    assert near(store, vec, "failure", unit(1)) == [(1, 1.0), (2, 0.0)]


def test_both_give_the_same_for_real_texts(store: Store, do: Do) -> None:
    hashed = HashedEmbedder()
    rows = hashed.embed([f"Error number {n} in function f{n % 7} of module {n % 11}" for n in range(200)])
    flat, vec = FlatIndex(hashed.name, 384), VecIndex(hashed.name, 384)
    do(vec.prepare)
    do(lambda conn: vec.add(conn, "failure", list(range(200)), rows))
    for query in hashed.embed(["function f3", "module 10", "Error number 17"]):
        one, other = (dict(near(store, index, "failure", query)) for index in (flat, vec))
        assert sorted(one.values()) == pytest.approx(sorted(other.values()), abs=2e-3)


def test_the_extension_is_there_on_the_machine_that_tests(store: Store) -> None:
    assert load_extension(store.db.reader())
