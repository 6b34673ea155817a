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
floor, and for how many of the queries anything among all strangers is. The second table has the time of a look-up with
its embedding left out, and which share of the exact ten nearest is found.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.strangers import strangers
from nightshift.storage.db.database import Database
from nightshift.storage.memory.embedders import MAKERS, Embedder, Endpoints, HashedEmbedder, Loadable
from nightshift.storage.memory.embedders.local import BlendedEmbedder
from nightshift.storage.memory.embedders.transformer import (
    MODEL,
    Provisioning,
    SentenceTransformerEmbedder,
    packaged_model,
)
from nightshift.storage.memory.signature import signature
from nightshift.storage.memory.vector_index import VectorIndex
from tests.support.wire_server import WireServer

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors

PAIRS = Path(__file__).resolve().parent / "pairs_of_errors.txt"
BATCH = 500
QUERIES = 100
NEAREST = 10
ALL = "all"


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
    """Serve the embedders behind an address by MiniLM; no server if none of these is asked for."""
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


def speed(embedder: Embedder, crowd: Vectors, found: Sequence[Pair]) -> None:
    """Print the time of a look-up by sqlite-vec, and the share of the exact nearest that it finds."""
    others = [pair.other for pair in found] + strangers(QUERIES - len(found), seed=2)
    queries = embedder.embed([signature(text) for text in others])
    times, shares = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="recall-") as folder, Database(Path(folder) / "recall.sqlite") as db:
        index = VectorIndex(db, embedder.name)
        for at in range(0, len(crowd), BATCH):
            items = range(at, min(at + BATCH, len(crowd)))
            index.add("failure", items, crowd[at : at + BATCH])
        for query in queries:
            least = np.sort(crowd @ query)[-NEAREST] - 1e-5
            began = time.perf_counter()
            items_found = [near.item for near in index.nearest("failure", query, NEAREST)]
            times.append((time.perf_counter() - began) * 1000)
            # Equal texts have equal vectors: any of those that are as near as the tenth is right.
            shares.append(float((crowd[items_found] @ query >= least).mean()))
    p50, p95 = statistics.median(times), sorted(times)[int(0.95 * len(queries))]
    print(
        f"{embedder.name[:22]:22} {len(crowd):7} {p50:7.1f} ms, 95 % below {p95:7.1f}, {statistics.fmean(shares):7.4f}"
    )


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
