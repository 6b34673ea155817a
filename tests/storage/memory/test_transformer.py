"""The sentence-transformer in its own process, with the real library and the real model."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from nightshift.storage.memory.embedders import EmbedderMissing, SentenceTransformerEmbedder, find_packaged_model
from nightshift.storage.memory.embedders.base import multiply
from tests.support.daemon import until


@pytest.fixture(scope="module")
def embedder() -> Iterator[SentenceTransformerEmbedder]:
    new_embedder = SentenceTransformerEmbedder(find_packaged_model() or "")
    new_embedder.load()
    yield new_embedder
    new_embedder.close()


def process_of(embedder: SentenceTransformerEmbedder) -> psutil.Process:
    assert embedder._process
    return psutil.Process(embedder._process._process.pid)


def test_meaning_counts_more_than_words(embedder: SentenceTransformerEmbedder) -> None:
    same, alike, unlike = embedder.embed(["remove the file", "delete a document", "add two numbers"])
    assert embedder.dims == 384
    assert multiply(same, same) == pytest.approx(1.0, abs=1e-5)
    assert multiply(same, alike) > embedder.floor > multiply(same, unlike)
    assert embedder.embed([]) == []


def test_a_process_that_was_killed_is_said_to_be_and_comes_back(embedder: SentenceTransformerEmbedder) -> None:
    before = embedder.embed(["remove the file"])
    os.kill(process_of(embedder).pid, signal.SIGKILL)
    process_of(embedder).wait()
    assert embedder.embed(["remove the file"]) == before


def test_an_idle_process_ends_and_starts_again_when_it_is_needed() -> None:
    embedder = SentenceTransformerEmbedder(find_packaged_model() or "", idle_s=0.01)
    embedder.load()
    until(lambda: not embedder.is_running)
    assert len(embedder.embed(["remove the file"])[0]) == 384
    embedder.close()
    embedder.close()
    assert not embedder.is_running


def test_a_process_that_hangs_is_given_up(
    embedder: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder.embed(["a"])
    monkeypatch.setattr("nightshift.storage.memory.embedders.transformer.EMBED_S", 0.2)
    process = process_of(embedder)
    process.suspend()
    with pytest.raises(EmbedderMissing, match="does not answer"):
        embedder.embed(["a"])
    assert not process.is_running()
    assert not embedder.is_running
