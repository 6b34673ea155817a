"""The search for the vectors with the smallest angle to a given vector, with either of two engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nightshift.storage.db.sqlite import Connection, Error
from nightshift.storage.memory import vector_index
from nightshift.storage.memory.embedders.base import scale
from nightshift.storage.memory.vector_index import LessonKind, VectorIndex, forget_vectors
from tests.support.store import Store

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vector


DIMS = 8
Open = Callable[[str], VectorIndex]


def unit(*numbers: float) -> Vector:
    return scale([*numbers, *[0.0] * (DIMS - len(numbers))])


@pytest.fixture(params=["sqlite-vec", "Python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Provide the name of the engine that compares vectors.

    Python is used if SQLite cannot load extensions.
    """
    if request.param == "Python":
        monkeypatch.setattr(vector_index, "_load_extension", lambda _: False)
    return str(request.param)


@pytest.fixture
def opened(store: Store, engine: str) -> Open:
    return lambda name: VectorIndex(store.db, name)


@pytest.fixture
def index(opened: Open) -> VectorIndex:
    return opened("one")


def near(index: VectorIndex, kind: LessonKind, vector: Vector, limit: int = 10) -> list[tuple[int, float]]:
    return [(each.item, round(each.similarity, 3)) for each in index.nearest(kind, vector, limit)]


def test_the_nearest_come_first_with_their_similarity(index: VectorIndex) -> None:
    index.add("failure", [11, 12, 13, 14], [unit(1, 0), unit(1, 1), unit(0, 1), unit(-1, 0)])
    assert near(index, "failure", unit(1, 0)) == [(11, 1.0), (12, 0.707), (13, 0.0), (14, -1.0)]
    assert near(index, "failure", unit(1, 0), limit=2) == [(11, 1.0), (12, 0.707)]


def test_embedders_do_not_meet(opened: Open) -> None:
    first, second = opened("one"), opened("two")
    first.add("failure", [1], [unit(1)])
    second.add("failure", [1, 2], [scale([1, 0, 0, 0]), scale([0, 1, 0, 0])])
    assert near(first, "failure", unit(1)) == [(1, 1.0)]
    assert near(second, "failure", scale([0, 1, 0, 0])) == [(2, 1.0), (1, 0.0)]


def test_adding_again_replaces_and_forgetting_takes_the_vectors_of_every_embedder(store: Store, opened: Open) -> None:
    indexes = [opened("one"), opened("two")]
    for index in indexes:
        index.add("failure", [1, 2], [unit(1), unit(0, 1)])
        index.add("failure", [1], [unit(0, 0, 1)])
        assert near(index, "failure", unit(0, 0, 1)) == [(1, 1.0), (2, 0.0)]
    store.db.write(lambda conn: forget_vectors(conn, [("failure", 1), ("failure", 99)])).result()
    assert [near(index, "failure", unit(0, 0, 1)) for index in indexes] == [[(2, 0.0)], [(2, 0.0)]]


def test_nothing_of_an_extension_lies_in_the_database(store: Store, index: VectorIndex) -> None:
    index.add("failure", [1], [unit(1)])
    assert near(index, "failure", unit(1))
    conn: Connection = store.db.reader()
    assert not conn.execute("SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'").fetchall()
    with pytest.raises(Error):
        conn.execute("SELECT signs FROM memory_vectors")
