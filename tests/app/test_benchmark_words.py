"""A model's words for items: asked for over HTTP, without secrets, and paid for from the owner's budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightshift.app.benchmark_words import ModelWriter
from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.core.clock import utc_now
from nightshift.core.errors import BenchmarkError
from nightshift.report.benchmark.store import BenchmarkStore
from tests.support.wire_server import WireServer

KEY = "sk-very-secret-0123456789"


def home(folder: Path, server: WireServer, **more: float) -> Path:
    price = {"input_per_million_usd": 1000, "output_per_million_usd": 1000}
    written = {
        "openai_api_key": KEY,
        "openai_base_url": server.openai_base_url,
        "model_prices": {"writer": price},
        **more,
    }
    (folder / "config.yaml").write_text(json.dumps(written))
    return folder


async def test_words_come_from_the_named_model_and_their_cost_is_noted(tmp_path: Path) -> None:
    with WireServer(lambda _phase, _messages: "net() takes the tax off.", models=["writer"]) as server:
        settings = settings_at(find_places(home(tmp_path, server)))
        with BenchmarkStore(tmp_path / "b.sqlite") as store:
            writer = ModelWriter(settings, store, "/shop", "openai=writer", tell=lambda _words: None)
            for _ in range(2):
                assert await writer(f"What does {KEY} do?") == "net() takes the tax off."
            await writer.aclose()
            asked = [request.body for request in server.requests if "messages" in request.body]
            assert {each["model"] for each in asked} == {"writer"}
            assert KEY not in json.dumps(asked)
            spent_usd, tokens = store.spent("words of /shop", utc_now().date())
            assert spent_usd == pytest.approx(tokens / 1000)
            assert tokens > 0


async def test_a_spent_budget_and_a_model_that_does_not_answer_are_told(tmp_path: Path) -> None:
    told = list[str]()
    with WireServer(lambda _phase, _messages: "Words.", models=["writer"]) as server:
        settings = settings_at(find_places(home(tmp_path, server, day_cost_usd=0.000001)))
        with BenchmarkStore(tmp_path / "b.sqlite") as store:
            writer = ModelWriter(settings, store, "/shop", "openai=writer", tell=told.append)
            server.fail_next("500", 100)
            assert await writer("Words, please") == ""
            assert "openai=writer wrote no words" in told[0]
            server.heal()
            assert await writer("Words, please") == "Words."
            with pytest.raises(BenchmarkError, match="the budget is spent"):
                await writer("Words, please")
            await writer.aclose()


@pytest.mark.parametrize("model", ["writer", "openai=", "=x", "repair=x"])
def test_a_model_that_cannot_be_is_refused(tmp_path: Path, model: str) -> None:
    with BenchmarkStore(tmp_path / "b.sqlite") as store, pytest.raises(BenchmarkError, match="backend=model"):
        ModelWriter(settings_at(find_places(tmp_path)), store, "/shop", model, tell=lambda _words: None)
