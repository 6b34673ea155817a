"""How well memory finds the failure that has the same cause, among many others, and how fast.

    .venv/bin/python bench/recall.py [--count 10000] [--embedders hashed sentence-transformers] [--cache DIR]

`pairs_of_errors.txt` holds pairs of errors that have one cause and otherwise differ: names, files, often words. The
first of each pair is stored among `--count` failures with other causes (`strangers.py`); the second is looked for. The
pairs called “practice” were looked at while features were chosen, in three rounds; those called “final” were written
before the third round, and nothing was changed after their shares were known.

The embedders `ollama` and `openai` are asked over HTTP, at a small server that speaks both formats and has the same
MiniLM behind it: what differs in their rows is what the way there does (the floor is measured, not known).

The first table says how often the partner comes first, or among the first three, by exact search, and how often
something else would be shown: which share of two texts without a common cause is more alike than the embedder's
floor, and for how many of the queries anything among all strangers is. The second table puts the indexes side by side:
the time of a look-up with its embedding left out, and which share of the exact ten nearest is found.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.strangers import strangers
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory.embedders import MAKERS, Embedder, Endpoints, HashedEmbedder, Loadable
from nightshift.storage.memory.embedders.local import BlendedEmbedder
from nightshift.storage.memory.embedders.transformer import (
    MODEL,
    Provisioning,
    SentenceTransformerEmbedder,
    packaged_model,
)
from nightshift.storage.memory.signature import signature
from nightshift.storage.memory.vector_index import ExactIndex, SignBitIndex, SqliteVecIndex, load_extension
from tests.support.wire_server import WireServer

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors

PAIRS = Path(__file__).resolve().parent / "pairs_of_errors.txt"
BATCH = 500
QUERIES = 100
NEAREST = 10
ALL = "all"
COARSE = (600, 1200, 2400)
Look = Callable[[Connection, "Vectors"], Sequence[int]]


class Remembering:
    """A model that is asked for each text once: among so many strangers most heads are there many times."""

    def __init__(self, model: Loadable) -> None:
        self.model = model
        self.load, self.close = model.load, model.close
        self._known: dict[str, Vectors] = {}

    name = property(lambda self: str(self.model.name))
    dims = property(lambda self: int(self.model.dims))
    floor = property(lambda self: float(self.model.floor))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        new = sorted(set(texts) - self._known.keys(), key=len)
        if new:
            self._known |= zip(new, self.model.embed(new), strict=True)
        return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two errors with one cause."""

    half: str
    cause: str
    one: str
    other: str


def pairs(path: Path = PAIRS) -> Iterator[Pair]:
    """The pairs of the file, in its order."""
    for part in path.read_text().split("### ")[1:]:
        half, _, rest = part.partition("\n")
        for block in rest.split("=== ")[1:]:
            cause, _, texts = block.partition("\n")
            one, _, other = texts.partition("\n---\n")
            yield Pair(half=half, cause=cause, one=one.strip("\n"), other=other.strip("\n"))


@contextmanager
def served(names: Sequence[str]) -> Iterator[Endpoints]:
    """Where the embedders behind an address are answered by MiniLM; no server if none of these is asked for."""
    if not {"ollama", "openai"} & set(names):
        yield Endpoints()
        return
    behind = SentenceTransformerEmbedder(packaged_model() or MODEL)
    behind.load()
    with WireServer(models=["all-minilm"], embed=lambda texts: behind.embed(list(texts)).tolist()) as server:
        yield Endpoints(ollama_base_url=server.ollama_base_url, openai_base_url=server.openai_base_url)
    behind.close()


def embedded(embedder: Embedder, count: int, cache: Path) -> Vectors:
    """The vectors of so many strangers; what took minutes is kept in a file."""
    kept = cache / f"{embedder.name.replace('/', '_')}-{count}.npy"
    if kept.exists():
        rows: Vectors = np.load(kept)
        return rows
    texts = [signature(text) for text in strangers(count)]
    rows = np.concatenate([embedder.embed(texts[at : at + BATCH]) for at in range(0, count, BATCH)])
    np.save(kept, rows)
    return rows


def meaning(embedder: Embedder, crowd: Vectors, found: Sequence[Pair], *, verbose: bool) -> None:
    """Print how often the partner is found, and how often a stranger would be."""
    stored = np.concatenate([crowd, embedder.embed([signature(pair.one) for pair in found])])
    began = time.perf_counter()
    queries = np.concatenate([embedder.embed([signature(pair.other)]) for pair in found])
    each_ms = (time.perf_counter() - began) / len(found) * 1000
    alike = queries @ stored.T
    own = alike[np.arange(len(found)), len(crowd) + np.arange(len(found))]
    ranks = (alike > own[:, None]).sum(axis=1)
    strange, floor = alike[:, : len(crowd)], embedder.floor
    for half in dict.fromkeys((*(pair.half for pair in found), ALL)):
        of = np.array([half in (pair.half, ALL) for pair in found])
        print(
            f"{embedder.name[:22]:22} {len(crowd):7} {half:9}"
            f" {(ranks[of] < 1).mean():8.2f} {(ranks[of] < 3).mean():8.2f}"
            f" {(own[of] >= floor).mean():10.2f} {(strange[of] >= floor).mean():12.5f}"
            f" {(strange[of].max(axis=1) >= floor).mean():13.2f} {each_ms:9.1f}"
        )
    if verbose:
        _tell(found, ranks, own, strange, len(crowd))


def _tell(found: Sequence[Pair], ranks: Vectors, own: Vectors, strange: Vectors, count: int) -> None:
    texts = strangers(count)
    for pair, rank, score, others in zip(found, ranks, own, strange, strict=True):
        if pair.half == "practice" and rank >= 3:
            nearest = signature(texts[int(others.argmax())]).replace("\n", " | ")
            print(f"  {rank:6} {score:.2f} {others.max():.2f}  {pair.cause}: {nearest}")


def bits_by_vec0(embedder: str, dims: int, take: int) -> tuple[Callable[[Connection], None], Look]:
    """The coarse search as sqlite-vec itself offers it: a table of bits, rescored by the stored vectors."""

    def make(conn: Connection) -> None:
        columns = f"id INTEGER PRIMARY KEY, b BIT[{dims}]"
        conn.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS bench_bits USING vec0({columns})")
        conn.execute(
            "INSERT INTO bench_bits (id, b) SELECT id, vec_quantize_binary(vector) FROM memory_vectors "
            "WHERE embedder = ? AND NOT EXISTS (SELECT 1 FROM bench_bits_rowids)",
            (embedder,),
        )

    def look(conn: Connection, vector: Vectors) -> Sequence[int]:
        near = "SELECT id FROM bench_bits WHERE b MATCH vec_quantize_binary(?) AND k = ?"
        rows = conn.execute(
            f"SELECT item, vector FROM memory_vectors WHERE id IN ({near})", (vector.tobytes(), take)
        ).fetchall()
        matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), dims)
        return [int(rows[at][0]) for at in np.argsort(-(matrix @ vector))[:NEAREST]]

    return make, look


def looks(db: Database, name: str, crowd: Vectors) -> Iterator[tuple[str, Look]]:
    """Fill a database with the vectors; gives each way to look among them."""
    dims = crowd.shape[1]
    flat, vec = ExactIndex(name, dims), SqliteVecIndex(name, dims)

    def by(index: ExactIndex) -> Look:
        return lambda conn, vector: [near.item for near in index.nearest(conn, "failure", vector, NEAREST)]

    def add(at: int) -> Callable[[Connection], None]:
        items = range(at, min(at + BATCH, len(crowd)))
        return lambda conn: flat.add(conn, "failure", items, crowd[at : at + BATCH])

    for at in range(0, len(crowd), BATCH):
        db.write(add(at)).result()

    def prepared(job: Callable[[Connection], object]) -> Callable[[Connection], object]:
        return lambda conn: (load_extension(conn), job(conn))[1]

    db.write(prepared(vec.create)).result()
    while db.write(prepared(lambda conn: vec.fill(conn, BATCH))).result():
        pass
    yield "numpy, held in memory", lambda _, vector: np.argsort(-(crowd @ vector), kind="stable")[:NEAREST].tolist()
    yield "vec0 float", by(vec)
    for take in COARSE:
        make, look = bits_by_vec0(name, dims, take)
        db.write(prepared(make)).result()
        yield f"vec0 bits, {take} rescored", look
        yield f"sketches, {take} rescored", by(SignBitIndex(name, dims, rescored=take))


def speed(embedder: Embedder, crowd: Vectors, found: Sequence[Pair]) -> None:
    """Print the time of a look-up and what it finds, for each index; they take turns with each query."""
    others = [pair.other for pair in found] + strangers(QUERIES - len(found), seed=2)
    queries = embedder.embed([signature(text) for text in others])
    with tempfile.TemporaryDirectory(prefix="recall-") as folder:
        db = Database(Path(folder) / "recall.sqlite")
        ways = list(looks(db, embedder.name, crowd))
        conn = db.reader()
        load_extension(conn)
        times: dict[str, list[float]] = {name: [] for name, _ in ways}
        shares: dict[str, list[float]] = {name: [] for name, _ in ways}
        for name, look in ways:
            began = time.perf_counter()
            look(conn, queries[0])
            print(f"  first look-up by {name}: {(time.perf_counter() - began) * 1000:.0f} ms")
        for query in queries:
            least = np.sort(crowd @ query)[-NEAREST] - 1e-5
            for name, look in ways:
                began = time.perf_counter()
                items = look(conn, query)
                times[name].append((time.perf_counter() - began) * 1000)
                # Equal texts have equal vectors: any of those that are as near as the tenth is right.
                shares[name].append(float((crowd[list(items)] @ query >= least).mean()))
        db.close()
    base = statistics.median(times[ways[0][0]])
    for name, _ in ways:
        p50, p95 = statistics.median(times[name]), sorted(times[name])[int(0.95 * len(queries))]
        share = statistics.fmean(shares[name])
        print(f"{embedder.name[:22]:22} {len(crowd):7} {name:24} {p50:7.1f} {p95:7.1f} {p50 / base:7.2f} {share:7.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, nargs="+", default=[10_000], help="how many strangers")
    parser.add_argument("--embedders", nargs="+", default=["hashed", "sentence-transformers"])
    parser.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    parser.add_argument("--verbose", action="store_true", help="name the practice pairs that are not found")
    parser.add_argument("--meaning-only", action="store_true", help="leave the indexes out")
    given = parser.parse_args()
    found = list(pairs())
    with tempfile.TemporaryDirectory(prefix="recall-") as folder, served(given.embedders) as endpoints:
        for name in given.embedders:
            model = MAKERS[name](None, endpoints, Provisioning())
            embedder = BlendedEmbedder(Remembering(model)) if model else HashedEmbedder()
            if model:
                model.load()
            for count in given.count:
                crowd = embedded(embedder, count, given.cache or Path(folder))
                print(
                    f"\n{'embedder':22} {'among':>7} {'pairs':9} {'recall@1':>8} {'recall@3':>8} {'over floor':>10}"
                    f" {'false a pair':>12} {'false a query':>13} {'embed ms':>9}"
                )
                meaning(embedder, crowd, found, verbose=given.verbose)
                if not given.meaning_only:
                    head = f"{'index':24} {'p50 ms':>7} {'p95 ms':>7} {'× numpy':>7} {'found':>7}"
                    print(f"\n{'embedder':22} {'among':>7} {head}")
                    speed(embedder, crowd, found)


if __name__ == "__main__":
    main()
