"""Indexes of vectors: each finds what the exact one finds, or nearly, and stays in step with the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory.embedders import HashedEmbedder
from nightshift.storage.memory.vector_index import (
    AdaptiveIndex,
    ExactIndex,
    LessonKind,
    SignBitIndex,
    SqliteVecIndex,
    load_extension,
)
from tests.support.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nightshift.storage.memory.embedders.base import Vectors


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


@pytest.fixture(params=[ExactIndex, SqliteVecIndex, SignBitIndex, AdaptiveIndex])
def index(request: pytest.FixtureRequest, do: Do) -> ExactIndex:
    return opened(request.param("one", DIMS), do)


def opened(index: ExactIndex, do: Do) -> ExactIndex:
    if isinstance(index, SqliteVecIndex):
        do(index.create)
    if isinstance(index, AdaptiveIndex):
        do(index.maintain)
    return index


def near(
    store: Store, index: ExactIndex, kind: LessonKind, vector: Vectors, limit: int = 10
) -> list[tuple[int, float]]:
    conn = store.db.reader()
    load_extension(conn)
    return [(one.item, round(one.similarity, 3)) for one in index.nearest(conn, kind, vector, limit)]


def test_the_nearest_come_first_with_their_similarity(store: Store, do: Do, index: ExactIndex) -> None:
    rows = np.stack([unit(1, 0), unit(1, 1), unit(0, 1), unit(-1, 0)])
    do(lambda conn: index.add(conn, "failure", [11, 12, 13, 14], rows))
    assert near(store, index, "failure", unit(1, 0)) == [(11, 1.0), (12, 0.707), (13, 0.0), (14, -1.0)]
    assert near(store, index, "failure", unit(1, 0), limit=2) == [(11, 1.0), (12, 0.707)]


def test_kinds_do_not_meet(store: Store, do: Do, index: ExactIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    do(lambda conn: index.add(conn, "pattern", [1], unit(0, 1)[None]))
    assert near(store, index, "failure", unit(1)) == [(1, 1.0)]
    assert near(store, index, "pattern", unit(1)) == [(1, 0.0)]


def test_embedders_do_not_meet(store: Store, do: Do, index: ExactIndex) -> None:
    other = opened(type(index)("two", 4), do)
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    do(lambda conn: other.add(conn, "failure", [1, 2], np.eye(4, dtype=np.float32)[:2]))
    assert near(store, index, "failure", unit(1)) == [(1, 1.0)]
    assert near(store, other, "failure", np.eye(4, dtype=np.float32)[1]) == [(2, 1.0), (1, 0.0)]


def test_adding_again_replaces_and_removing_forgets(store: Store, do: Do, index: ExactIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1, 2], np.stack([unit(1), unit(0, 1)])))
    do(lambda conn: index.add(conn, "failure", [1], unit(0, 0, 1)[None]))
    assert near(store, index, "failure", unit(0, 0, 1)) == [(1, 1.0), (2, 0.0)]
    do(lambda conn: index.remove(conn, "failure", [1, 99]))
    assert near(store, index, "failure", unit(0, 0, 1)) == [(2, 0.0)]


def test_a_text_in_which_nothing_counts_is_near_to_nothing(store: Store, do: Do, index: ExactIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    assert near(store, index, "failure", np.zeros(DIMS, dtype=np.float32)) == [(1, 0.0)]


def test_an_empty_index_finds_nothing(store: Store, index: ExactIndex) -> None:
    assert near(store, index, "failure", unit(1)) == []


def test_a_job_that_fails_leaves_no_vector(store: Store, do: Do, index: ExactIndex) -> None:
    def job(conn: Connection) -> None:
        index.add(conn, "failure", [1], unit(1)[None])
        raise LookupError

    with pytest.raises(LookupError):
        do(job)
    assert near(store, index, "failure", unit(1)) == []


def test_more_may_be_asked_for_than_the_extension_gives(store: Store, do: Do, index: ExactIndex) -> None:
    do(lambda conn: index.add(conn, "failure", [1], unit(1)[None]))
    assert near(store, index, "failure", unit(1), limit=100_000) == [(1, 1.0)]


def test_what_was_stored_or_forgotten_without_the_extension_is_found_out_with_it(store: Store, do: Do) -> None:
    flat, sized = ExactIndex("one", DIMS), AdaptiveIndex("one", DIMS)
    settle(do, sized)
    do(lambda conn: sized.add(conn, "failure", [1, 2, 3], np.stack([unit(1), unit(0, 1), unit(0, 0, 1)])))
    do(lambda conn: flat.remove(conn, "failure", [1]))
    do(lambda conn: flat.add(conn, "failure", [4], unit(1)[None]))
    assert near(store, sized, "failure", unit(1), 1) == [(4, 1.0)]
    settle(do, sized)
    assert do(sized.exact.in_step)
    assert sorted(near(store, sized.exact, "failure", unit(1))) == [(2, 0.0), (3, 0.0), (4, 1.0)]


@pytest.mark.parametrize("index", [SqliteVecIndex, AdaptiveIndex], indirect=True)
def test_all_give_the_same_for_real_texts(store: Store, do: Do, index: ExactIndex) -> None:
    hashed = HashedEmbedder()
    rows = hashed.embed([f"Error number {n} in function f{n % 7} of module {n % 11}" for n in range(200)])
    flat, other = ExactIndex(hashed.name, 384), opened(type(index)(hashed.name, 384), do)
    do(lambda conn: other.add(conn, "failure", list(range(200)), rows))
    for query in hashed.embed(["function f3", "module 10", "Error number 17"]):
        one, two = (dict(near(store, each, "failure", query)) for each in (flat, other))
        assert sorted(one.values()) == pytest.approx(sorted(two.values()), abs=2e-3)


def clusters(count: int, seed: int = 1, dims: int = 64) -> Vectors:
    """Vectors around a hundred centres, as texts have them; another seed gives others around the same ones."""
    centres = np.random.default_rng(0).standard_normal((100, dims))
    rows = centres[np.arange(count) % 100] + 0.7 * np.random.default_rng(seed).standard_normal((count, dims))
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def settle(do: Do, index: AdaptiveIndex) -> None:
    while do(index.maintain):
        pass


def test_the_coarse_index_sees_what_others_write_replace_and_forget(store: Store, do: Do) -> None:
    coarse, flat, rows = SignBitIndex("one", 64, rescored=20), ExactIndex("one", 64), clusters(300)
    do(lambda conn: flat.add(conn, "failure", list(range(200)), rows[:200]))
    assert near(store, coarse, "failure", rows[7], 1) == [(7, 1.0)]
    do(lambda conn: flat.add(conn, "failure", list(range(200, 300)), rows[200:]))
    do(lambda conn: flat.add(conn, "failure", [7], -rows[7][None]))
    assert near(store, coarse, "failure", rows[250], 1) == [(250, 1.0)]
    assert near(store, coarse, "failure", -rows[7], 1) == [(7, 1.0)]
    do(lambda conn: flat.remove(conn, "failure", range(100, 300)))
    for _ in range(20):
        found = [near(store, coarse, "failure", row) for row in rows[::10]]
    assert all(item < 100 for each in found for item, _ in each)
    assert near(store, coarse, "failure", rows[20], 1) == [(20, 1.0)]


def test_an_id_is_never_given_again(store: Store, do: Do) -> None:
    flat, row = ExactIndex("one", DIMS), unit(1)[None]
    seen = set()
    for _ in range(3):
        do(lambda conn: flat.add(conn, "failure", [1], row))
        seen.add(flat.newest(store.db.reader()))
    assert len(seen) == 3


def test_vectors_that_an_earlier_version_wrote_without_signs_are_found(store: Store, do: Do) -> None:
    coarse, rows = SignBitIndex("one", 64, rescored=20), clusters(100)
    do(lambda conn: coarse.add(conn, "failure", list(range(100)), rows))
    do(lambda conn: conn.execute("UPDATE memory_vectors SET signs = NULL").rowcount)
    assert near(store, coarse, "failure", rows[3], 1) == [(3, 1.0)]


def test_the_exact_table_is_given_up_and_made_again_with_room_between(store: Store, do: Do) -> None:
    sized, rows = AdaptiveIndex("one", 64, most_exact=1500, least_coarse=1000, rescored=100), clusters(1600)
    settle(do, sized)

    def has_table() -> bool:
        settle(do, sized)
        return bool(do(sized.exact.in_step))

    def grow(first: int, last: int) -> bool:
        do(lambda conn: sized.add(conn, "failure", list(range(first, last)), rows[first:last]))
        return has_table()

    def shrink(first: int, last: int) -> bool:
        do(lambda conn: sized.remove(conn, "failure", range(first, last)))
        return has_table()

    assert [grow(0, 1200), grow(1200, 1501), shrink(1400, 1501), grow(1400, 1450)] == [True, False, False, False]
    assert near(store, sized, "failure", rows[1420], 1) == [(1420, 1.0)]
    assert [shrink(900, 1450), grow(900, 1450), grow(1450, 1501)] == [True, True, False]


def test_between_the_batches_of_a_change_everything_is_found_and_may_change(store: Store, do: Do) -> None:
    """Each step is made by an index of its own: a process that begins in the middle knows nothing of the change."""
    rows = clusters(1400)
    do(lambda conn: ExactIndex("one", 64).add(conn, "failure", list(range(1200)), rows[:1200]))

    def step(number: int) -> bool:
        sized, new = AdaptiveIndex("one", 64, rescored=100), 1200 + number
        more = bool(do(sized.maintain))
        assert do(sized.exact.in_step) is not more
        do(lambda conn: sized.add(conn, "failure", [new], rows[new][None]))
        do(lambda conn: sized.remove(conn, "failure", [10 * number]))
        assert near(store, sized, "failure", rows[new], 1) == [(new, 1.0)]
        return more

    assert [step(number) for number in range(3)] == [True, True, False]
    exact = SqliteVecIndex("one", 64)
    assert do(exact.in_step)
    assert do(exact.sound)
    truth = near(store, ExactIndex("one", 64), "failure", rows[10], 2000)
    assert len(truth) == 1200
    assert dict(near(store, exact, "failure", rows[10], 50)).keys() == {item for item, _ in truth[:50]}


def test_a_job_that_fails_leaves_the_table_in_step(store: Store, do: Do) -> None:
    sized = AdaptiveIndex("one", DIMS)
    settle(do, sized)

    def job(conn: Connection) -> None:
        sized.add(conn, "failure", [1], unit(1)[None])
        raise LookupError

    with pytest.raises(LookupError):
        do(job)
    assert do(sized.exact.in_step)
    do(lambda conn: sized.add(conn, "failure", [2], unit(1)[None]))
    assert near(store, sized.exact, "failure", unit(1)) == [(2, 1.0)]


def test_embedders_with_names_that_look_alike_have_tables_of_their_own() -> None:
    names = ["ollama:a-b:8", "ollama:a_b:8", "ollama:a.b:8", "hashed-384-v1", "st-all-MiniLM-L6-v2"]
    tables = [SqliteVecIndex(name, 8).table for name in names]
    assert len(set(tables)) == 5
    assert tables[3:] == ["vec_hashed_384_v1", "vec_st_all_minilm_l6_v2"]


def test_the_extension_is_there_on_the_machine_that_tests(store: Store) -> None:
    assert load_extension(store.db.reader())


CENTRES, LONG_DIMS, COUNT, QUERIES = 20, 384, 4000, 60


def scaled(rows: NDArray[np.float64]) -> Vectors:
    ones: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return ones


def dense(count: int, seed: int) -> Vectors:
    """Around the same centres for each seed, as a model's vectors are."""
    centres = np.random.default_rng(0).standard_normal((CENTRES, LONG_DIMS))
    noise = np.random.default_rng(seed).standard_normal((count, LONG_DIMS))
    return scaled(centres[np.arange(count) % CENTRES] + 0.7 * noise)


def sparse(count: int, seed: int) -> Vectors:
    """The same with numbers that are mostly zero, as hashed vectors are."""
    first, dice = np.random.default_rng(0), np.random.default_rng(seed)
    centres = np.zeros((CENTRES, LONG_DIMS))
    for row in centres:
        row[first.choice(LONG_DIMS, 30, replace=False)] = first.standard_normal(30)
    rows = centres[np.arange(count) % CENTRES]
    for row in rows:
        row[dice.choice(LONG_DIMS, 12, replace=False)] += dice.standard_normal(12)
    return scaled(rows)


def filled(store: Store, index: ExactIndex, rows: Vectors) -> None:
    store.db.write(lambda conn: index.add(conn, "failure", list(range(len(rows))), rows)).result()


@pytest.mark.parametrize(("rows", "queries", "rescored", "least"), [
    (dense(COUNT, 1), dense(QUERIES, 2), 80, 0.97),
    (sparse(COUNT, 1), sparse(QUERIES, 2), 40, 0.99),
], ids=["dense", "sparse"])  # fmt: skip
def test_the_ten_nearest_are_found_in_their_order_with_their_similarities(
    store: Store, rows: Vectors, queries: Vectors, rescored: int, least: float
) -> None:
    coarse = SignBitIndex("one", LONG_DIMS, rescored=rescored)
    filled(store, coarse, rows)
    found = 0
    for query in queries:
        exact = rows @ query
        near = coarse.nearest(store.db.reader(), "failure", query, 10)
        assert [one.similarity for one in near] == pytest.approx([float(exact[one.item]) for one in near], abs=1e-5)
        assert [one.similarity for one in near] == sorted((one.similarity for one in near), reverse=True)
        found += len({one.item for one in near} & set(np.argsort(-exact)[:10].tolist()))
    assert found / (10 * QUERIES) >= least


@pytest.mark.parametrize("count", range(19, 24))
def test_it_begins_to_sketch_with_one_vector_more_than_are_read_in_full(store: Store, count: int) -> None:
    coarse, rows = SignBitIndex("one", LONG_DIMS, rescored=20), dense(count, 1)
    filled(store, coarse, rows)
    for item in range(count):
        assert coarse.nearest(store.db.reader(), "failure", rows[item], 1)[0].item == item
    assert len(coarse.nearest(store.db.reader(), "failure", rows[0], count)) == count
