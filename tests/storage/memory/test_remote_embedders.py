"""Embedders on a server, tested with a real server in both wire formats: their contract, and their failures."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator

import pytest

from nightshift.core.events import Kind
from nightshift.storage.memory.embedders import Choice, EmbedderMissing, Endpoints, HashedEmbedder, Loadable
from nightshift.storage.memory.embedders.base import multiply
from nightshift.storage.memory.embedders.local import BlendedEmbedder
from nightshift.storage.memory.embedders.remote import Limits, OllamaEmbedder, OpenAIEmbedder
from tests.storage.memory.test_store import ERROR, events, learn, make
from tests.support.store import Store
from tests.support.wire_server import WireServer

QUICK = Limits(rest_s=0.01, connect_s=2.0, whole_s=2.0, batch=4)
Make = Callable[[WireServer], Loadable]


def ollama(server: WireServer, limits: Limits = QUICK) -> Loadable:
    return OllamaEmbedder(model=server.model, base_url=server.ollama_base_url, limits=limits)


def openai(server: WireServer, limits: Limits = QUICK) -> Loadable:
    return OpenAIEmbedder(model=server.model, base_url=server.openai_base_url, api_key="right", limits=limits)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(models=["tiny-embed"]) as started:
        yield started


@pytest.fixture(params=[ollama, openai])
def remote(request: pytest.FixtureRequest) -> Make:
    make: Make = request.param
    return make


@pytest.mark.parametrize("make_one", [ollama, openai])
def test_vectors_have_length_one_keep_their_order_and_are_asked_for_in_batches(
    server: WireServer, make_one: Make
) -> None:
    embedder = make_one(server)
    with pytest.raises(EmbedderMissing, match="not loaded"):
        embedder.embed(["x"])
    embedder.load()
    server.probes.clear()
    texts = [f"text {n} of them" for n in range(9)] + [""]
    rows = embedder.embed(texts)
    assert [len(row) for row in rows] == [embedder.dims] * 10
    assert [math.hypot(*row) for row in rows] == pytest.approx([1.0] * 10, abs=1e-5)
    assert len(server.probes) == 3
    for text, row in zip(texts, rows, strict=True):
        assert multiply(embedder.embed([text])[0], row) == pytest.approx(1.0, abs=1e-5)
    assert embedder.embed([]) == []


def test_a_wrong_key_is_said_plainly_and_the_key_is_not(server: WireServer) -> None:
    server.keys = {"another"}
    with pytest.raises(EmbedderMissing, match="answered 401; check OPENAI_API_KEY") as caught:
        openai(server).load()
    assert "right" not in str(caught.value)
    assert "right" not in repr(Endpoints(openai_api_key="right"))


def test_a_server_that_is_away_is_asked_twice_and_said_plainly(server: WireServer, remote: Make) -> None:
    embedder = remote(server)
    embedder.load()
    server.stop()
    with pytest.raises(EmbedderMissing, match=rf"{remote.__name__} at http\S+ cannot be reached"):
        embedder.embed(["x"])
    server.start()
    assert len(embedder.embed(["x"])[0]) == 64


async def test_an_endpoint_takes_over_goes_away_and_comes_back(store: Store, server: WireServer, remote: Make) -> None:
    memory = make(store, Choice(ready=HashedEmbedder(), better=BlendedEmbedder(remote(server)), why="loading"))
    await learn(memory, store, "Parse a CSV file of prices", ERROR, "Skip the header.")

    words = iter("abcd")

    async def recalled() -> bool:
        return bool(await memory.recall(f"TypeError: {ERROR}, {next(words)}", 1))  # vectors of known texts are cached

    assert await recalled()
    assert memory._spaces.loader
    await asyncio.to_thread(memory._spaces.loader.join)
    by_endpoint = f"{remote.__name__}:tiny-embed:64+hashed-384-v3"
    assert memory.description == by_endpoint
    assert await recalled()
    await asyncio.to_thread(server.stop)
    assert await recalled()
    assert "cannot be reached" in memory.description
    await learn(memory, store, "Draw a picture", "'k'", "Mind the ratio.", "KeyError")
    await asyncio.to_thread(server.start)
    store.clock.advance(3600)
    assert await recalled()
    assert memory.description == by_endpoint
    counts = store.db.reader().execute("SELECT embedder, count(*) FROM memory_vectors GROUP BY embedder")
    assert [tuple(row) for row in counts] == [(by_endpoint, 4)], "each memory has one vector"
    kinds = [event.kind for event in events(store) if event.kind in (Kind.EMBEDDER_READY, Kind.EMBEDDER_MISSING)]
    assert kinds == [Kind.EMBEDDER_READY, Kind.EMBEDDER_MISSING, Kind.EMBEDDER_READY]


async def test_secrets_are_not_sent_to_an_endpoint(store: Store, server: WireServer) -> None:
    seen: list[str] = []

    class Listening(OllamaEmbedder):
        def ask(self, texts: list[str]) -> list[list[float]]:  # type: ignore[override]  # as it is called
            seen.extend(texts)
            return super().ask(texts)  # type: ignore[return-value]  # as above

    better = Listening(model=server.model, base_url=server.ollama_base_url, limits=QUICK)
    memory = make(store, Choice(ready=HashedEmbedder(), better=better, why=""), secret="hunter22")
    await learn(memory, store, "Log in with hunter22", "hunter22 was refused", "Ask.")
    for _ in range(2):
        await memory.recall("ValueError: hunter22 was refused", 1)
        assert memory._spaces.loader
        await asyncio.to_thread(memory._spaces.loader.join)
    assert any("refused" in text for text in seen)
    assert not any("hunter22" in text for text in seen)
