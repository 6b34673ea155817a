"""Measures the search for a lesson in a hub with pgvector and on a node; both compare every vector.

    .venv/bin/python bench/hub_vectors.py [--count 1000 10000] [--dims 768]

The vectors are random unit vectors. Each search returns the 20 nearest; the figure is the median of 20 searches. There
is no network between the node and the hub's server. Hub and node must find the same vectors in the same order.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import statistics
import tempfile
import time

import numpy as np

from nightshift.remote.hub.vectors import HubVectors
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere
from nightshift.storage.memory.vector_index import VectorIndex, VectorStore
from tests.support.postgres import EMBEDDED, PostgresServer
from tests.support.postgres import shared as shared_at

AT = "2026-03-01T12:00:00.000000Z"
BATCH, SEARCHES, NEAREST = 500, 20, 20


def measure(server: PostgresServer, folder: Path, count: int, dims: int) -> None:
    vectors = np.random.default_rng(1).standard_normal((count, dims)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with shared_at(server.database()) as database, Database(folder / f"{count}.sqlite") as db:
        keys = [f"key {item}" for item in range(1, count + 1)]
        insert = "INSERT INTO failures (id, signature, error, solved, created_at, fixed_at) VALUES (?, ?, '', 1, ?, ?)"

        def learn(conn: Connection) -> None:
            conn.executemany(insert, [(item, key, AT, AT) for item, key in enumerate(keys, 1)])
            elsewhere.name(conn, [(("failure", item), key) for item, key in enumerate(keys, 1)])

        db.write(learn).result()
        database.rows("SELECT share_lessons('a', %s::text[], %s::text[])", (keys, keys))
        local, shared = VectorIndex(db, "model"), HubVectors(database, "a", db, "model", dims)
        for start in range(0, count, BATCH):
            local.add("failure", list(range(start + 1, min(start + BATCH, count) + 1)), vectors[start : start + BATCH])
        began = time.perf_counter()
        shared.send()
        print(f"{count:,} vectors of {dims} numbers: sent in {time.perf_counter() - began:.1f} s")
        queries = vectors[:: max(1, count // SEARCHES)][:SEARCHES]
        stores: dict[str, VectorStore] = {"hub": shared, "node": local}
        answers = []
        for name, store in stores.items():
            took, matches = [], []
            for query in queries:
                began = time.perf_counter()
                matches.append(store.nearest("failure", query, NEAREST))
                took.append(time.perf_counter() - began)
            answers.append(matches)
            print(f"  {name}: {1000 * statistics.median(took):.1f} ms", flush=True)
        assert answers[0] == answers[1], "the hub and the node found different lessons"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the search for lessons in a hub.")
    parser.add_argument("--count", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--dims", type=int, default=768)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-hub-vectors-") as name, PostgresServer(EMBEDDED, Path()) as server:
        for count in flags.count:
            measure(server, Path(name), count, flags.dims)


if __name__ == "__main__":
    main()
