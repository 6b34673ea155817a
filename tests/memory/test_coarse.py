"""The coarse index finds what exact search finds, and each of its stages is needed for that.

The vectors lie in clusters much larger than what is read in full, so that which of a cluster are the nearest has to be
told by the sketches. With any stage broken the shares fall: without the rotation to 0.33 of sparse vectors, without the
query's own numbers to 0.91 of dense ones, without the finer order, or the exact one at the end, below 0.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from memory.coarse import CoarseIndex
from memory.index import FlatIndex
from tests.support.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory.embedders.base import Vectors

CENTRES, DIMS, COUNT, QUERIES = 20, 384, 4000, 60


def scaled(rows: NDArray[np.float64]) -> Vectors:
    ones: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return ones


def dense(count: int, seed: int) -> Vectors:
    """Around the same centres for each seed, as a model's vectors are."""
    centres = np.random.default_rng(0).standard_normal((CENTRES, DIMS))
    noise = np.random.default_rng(seed).standard_normal((count, DIMS))
    return scaled(centres[np.arange(count) % CENTRES] + 0.7 * noise)


def sparse(count: int, seed: int) -> Vectors:
    """The same with numbers that are mostly zero, as hashed vectors are."""
    first, dice = np.random.default_rng(0), np.random.default_rng(seed)
    centres = np.zeros((CENTRES, DIMS))
    for row in centres:
        row[first.choice(DIMS, 30, replace=False)] = first.standard_normal(30)
    rows = centres[np.arange(count) % CENTRES]
    for row in rows:
        row[dice.choice(DIMS, 12, replace=False)] += dice.standard_normal(12)
    return scaled(rows)


def filled(store: Store, index: FlatIndex, rows: Vectors) -> None:
    store.db.write(lambda conn: index.add(conn, "failure", list(range(len(rows))), rows)).result()


@pytest.mark.parametrize(("rows", "queries", "rescored", "least"), [
    (dense(COUNT, 1), dense(QUERIES, 2), 80, 0.97),
    (sparse(COUNT, 1), sparse(QUERIES, 2), 40, 0.99),
], ids=["dense", "sparse"])  # fmt: skip
def test_the_ten_nearest_are_found_in_their_order_with_their_similarities(
    store: Store, rows: Vectors, queries: Vectors, rescored: int, least: float
) -> None:
    coarse = CoarseIndex("one", DIMS, rescored=rescored)
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
    coarse, rows = CoarseIndex("one", DIMS, rescored=20), dense(count, 1)
    filled(store, coarse, rows)
    for item in range(count):
        assert coarse.nearest(store.db.reader(), "failure", rows[item], 1)[0].item == item
    assert len(coarse.nearest(store.db.reader(), "failure", rows[0], count)) == count
