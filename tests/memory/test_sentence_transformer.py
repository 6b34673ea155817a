"""The real model, from a package on this machine; the only module of the tests that loads it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory.embedders import EmbedderMissing, SentenceTransformerEmbedder, choose, packaged_model
from tests.memory.test_store import ERROR, events, learn, make
from tests.support.store import Store


async def test_the_model_takes_over_when_all_memories_are_embedded_with_it(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    memory = make(store, choose("auto"))
    await learn(memory, store, "Read a spreadsheet of prices", ERROR, "Skip the header.")
    await learn(memory, store, "Paint the Mandelbrot set", "'k'", "Mind the ratio.", "KeyError")
    assert await memory.recall("Load a CSV table with the costs of goods", 1) == ()
    assert memory._spaces.loader
    await asyncio.to_thread(memory._spaces.loader.join)
    assert memory.description == "st-all-MiniLM-L6-v2+hashed-384-v3"
    (lesson,) = await memory.recall("Load a CSV table with the costs of goods", 1)
    assert "Skip the header." in lesson.text
    await learn(memory, store, "Send an e-mail", "refused", "Retry.", "ConnectionError")
    counts = store.db.reader().execute("SELECT embedder, count(*) FROM memory_vectors GROUP BY embedder")
    assert sorted(tuple(row) for row in counts) == [("hashed-384-v3", 6), (memory.description, 6)]
    assert capfd.readouterr().err == ""
    assert "embedder_ready" in [event.kind for event in events(store)]


def test_meaning_counts_more_than_words() -> None:
    embedder = SentenceTransformerEmbedder(packaged_model() or "")
    embedder.load()
    same, alike, unlike = embedder.embed(["remove the file", "delete a document", "add two numbers"])
    assert embedder.dims == 384
    assert float(same @ same) == pytest.approx(1.0, abs=1e-5)
    assert float(same @ alike) > embedder.floor > float(same @ unlike)


def test_many_threads_embed_at_once() -> None:
    embedder = SentenceTransformerEmbedder(packaged_model() or "")
    embedder.load()
    texts = [[f"text {n} " + "word " * (n % 40)] for n in range(40)]
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(embedder.embed, texts))
    assert [float(row[0] @ embedder.embed(text)[0]) for row, text in zip(rows, texts, strict=True)] == pytest.approx(
        [1.0] * 40, abs=1e-4
    )


def test_a_model_that_is_not_here_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(EmbedderMissing, match="not on this machine"):
        SentenceTransformerEmbedder(tmp_path / "nothing").load()
    with pytest.raises(EmbedderMissing, match="pip install"):
        SentenceTransformerEmbedder("sentence-transformers/no-such-model").load()
