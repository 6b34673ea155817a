"""Embedders that run on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from nightshift.storage.memory.embedders import HashedEmbedder, choose, find_packaged_model
from nightshift.storage.memory.embedders.base import multiply
from nightshift.storage.memory.embedders.local import BlendedEmbedder
from tests.storage.memory.test_store import ERROR, events, learn, make
from tests.support.store import Store

if TYPE_CHECKING:
    from nightshift.storage.memory.embedders.base import Vectors

hashed = HashedEmbedder()


def test_the_vector_of_a_text_is_the_same_on_every_machine() -> None:
    row = hashed.embed(["KeyError: price"])[0]
    assert [at for at, number in enumerate(row) if number][:5] == [0, 17, 24, 37, 42]


def test_the_setting_picks_the_embedders() -> None:
    assert choose("hashed").better is None
    for name in ("auto", "sentence-transformers"):
        better = choose(name).better
        assert better
        assert better.name == "st-all-MiniLM-L6-v2+hashed-384-v3"
    assert find_packaged_model() is not None
    with pytest.raises(ValueError, match="no embedder 'word2vec'; known are auto"):
        choose("word2vec")


async def test_the_model_takes_over_when_all_memories_are_embedded_with_it(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    choice = choose("auto")
    memory = make(store, choice)
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
    assert [tuple(row) for row in counts] == [(memory.description, 6)], "each memory has one vector"
    assert capfd.readouterr().err == ""
    assert "embedder_ready" in [event.kind for event in events(store)]
    memory.close()
    assert choice.better
    assert not choice.better._model.is_running  # type: ignore[attr-defined]  # a blend of the local model


class Noting(HashedEmbedder):
    """An embedder that records the texts that it embeds."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self) -> None:
        """Do nothing, because this embedder is always ready."""

    def close(self) -> None:
        """Do nothing, because this embedder holds no resources."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return super().embed(texts)


def test_a_model_is_asked_once_for_what_two_errors_of_late_say_alike() -> None:
    model = Noting()
    blended = BlendedEmbedder(model)
    vector, other = (blended.embed([f"KeyError: no such key\nin {name}"])[0] for name in ("load", "store"))
    assert len(model.asked) == 1
    assert 0.5 < multiply(vector, other) < 1.0
    again = blended.embed(["KeyError: no such key\nin load", "sort the words", "KeyError: no such key\nin load"])
    assert model.asked[1:] == ["sort the words"]
    assert multiply(again[0], vector) == multiply(again[2], vector) == pytest.approx(1.0, abs=1e-6)
