"""The special features of Ollama: one fixed context size per model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nightshift.core.dialogue import Message, ModelRequest, Thinking
from nightshift.core.errors import ModelRefused
from nightshift.core.tasks.states import Phase
from nightshift.models.errors import ToolsRefused
from nightshift.models.model_table import choose_window, read_cache_bytes
from nightshift.models.ollama_api import OllamaBackend
from tests.models.test_tools import READ
from tests.support.wire_server import WireServer


@pytest.fixture
def server() -> WireServer:
    return WireServer(context_length=3000)


@pytest.fixture
async def backend(server: WireServer) -> AsyncIterator[OllamaBackend]:
    with server:
        new_backend = OllamaBackend(model=server.model, base_url=server.ollama_base_url, num_ctx=8192)
        yield new_backend
        await new_backend.aclose()


def request(text: str = "Hello", **more: object) -> ModelRequest:
    return ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text=text),), **more)  # type: ignore[arg-type]


async def test_the_context_is_pinned_to_what_the_model_can_hold(backend: OllamaBackend, server: WireServer) -> None:
    for length in (1, 2000, 7):
        await backend.generate(request("x" * length, temperature=0.4))
    options = [each.body["options"] for each in server.requests]
    assert {each["num_ctx"] for each in options} == {3000}
    assert server.probes.count("/api/show") == 1
    assert options[0]["temperature"] == 0.4
    assert {each.body["keep_alive"] for each in server.requests} == {"30m"}


async def test_no_reply_may_go_on_for_ever(backend: OllamaBackend, server: WireServer) -> None:
    await backend.generate(request())
    await backend.generate(request(max_tokens=10))
    predicted = [each.body["options"]["num_predict"] for each in server.requests]
    assert 2900 < predicted[0] < 3000
    assert predicted[1] == 10


async def test_a_prompt_that_ollama_would_cut_is_refused_before_it_is_sent(
    backend: OllamaBackend, server: WireServer
) -> None:
    with pytest.raises(ModelRefused, match="MODEL_NUM_CTX"):
        await backend.generate(request("word " * 3000))
    assert server.requests == []


def test_a_missing_model_is_told_with_the_command_that_gets_it(server: WireServer) -> None:
    with server:
        missing = OllamaBackend(model="deepseek-coder:6.7b", base_url=server.ollama_base_url)
        assert not missing.is_available()
        assert "ollama pull deepseek-coder:6.7b" in missing.detail
        server.models = ["nomic-embed-text"]
        unnamed = OllamaBackend(model=None, base_url=server.ollama_base_url)
        assert not unnamed.is_available()
        assert "ollama pull" in unnamed.detail
        server.models = ["deepseek-coder:6.7b", "tiny-coder:latest"]
        assert missing.is_available()
        assert missing.detail == ""
        assert OllamaBackend(model="tiny-coder", base_url=server.ollama_base_url).is_available()


def test_models_of_the_cloud_are_not_free() -> None:
    assert OllamaBackend(model="qwen2.5-coder:7b", base_url="http://127.0.0.1:1").free
    assert not OllamaBackend(model="gpt-oss:120b-cloud", base_url="http://127.0.0.1:1").free


GB = 1 << 30


@pytest.mark.parametrize(
    ("setting", "trained", "needed_gb", "wanted"),
    [(None, 262_144, 14, 65_536), (None, 262_144, 20, 32_768), (131_072, None, 90, 131_072)],
)  # fmt: skip
def test_a_context_is_wide_where_the_memory_suffices(
    setting: int | None, trained: int | None, needed_gb: int, wanted: int
) -> None:
    assert choose_window(setting, trained, needed_gb * GB, 24 * GB) == wanted


@pytest.mark.parametrize(
    ("info", "size"),
    [
        ({"block_count": 36, "attention.head_count_kv": 8, "attention.key_length": 128,
          "attention.value_length": 128}, 147_456),
        ({"block_count": 30, "attention.head_count_kv": 3, "attention.head_count": 9, "embedding_length": 576}, 23_040),
        ({"block_count": 4, "attention.head_count_kv": [0, 0, 0, 2], "attention.key_length": 256,
          "attention.value_length": 256}, 2048),
        ({}, 0),
    ],
)  # fmt: skip
def test_the_cache_of_a_token_is_read_from_the_head_of_a_file(info: dict[str, Any], size: int) -> None:
    assert read_cache_bytes({"general.architecture": "x", **{f"x.{key}": of for key, of in info.items()}}) == size


async def test_without_a_setting_ollama_is_given_the_wide_context(server: WireServer) -> None:
    server.context_length = 262_144
    with server:
        backend = OllamaBackend(model=server.model, base_url=f"{server.ollama_base_url}/v1")
        assert backend.is_available()
        assert backend.advice == f"write OLLAMA_BASE_URL={server.ollama_base_url}"
        await backend.generate(request())
        await backend.aclose()
        assert server.requests[0].body["options"]["num_ctx"] == 65_536


async def test_a_call_that_ollama_cannot_read_is_asked_for_as_text_and_costs_no_calls_for_good(
    backend: OllamaBackend, server: WireServer
) -> None:
    server.fail_next("500", message="error parsing tool call: raw='{\"a\": ', err=unexpected end of JSON input")
    with pytest.raises(ToolsRefused):
        await backend.generate(request(tools=(READ,)))
    assert backend.facts.lacks == frozenset()
    server.fail_next("400", message="registry.ollama.ai/library/tiny-coder does not support tools")
    with pytest.raises(ToolsRefused):
        await backend.generate(request(tools=(READ,)))
    assert backend.facts.lacks == {"tools"}


@pytest.mark.parametrize(
    ("model", "thinking", "sent"),
    [("tiny-coder", Thinking.LOW, True), ("gpt-oss:20b", Thinking.OFF, "low"), ("gpt-oss:20b", Thinking.HIGH, "high")],
)
async def test_a_model_that_does_not_think_after_all_is_asked_again_without(
    server: WireServer, model: str, thinking: Thinking, sent: bool | str
) -> None:
    server.models, server.capabilities = [model], ["completion", "thinking"]
    with server:
        backend = OllamaBackend(model=model, base_url=server.ollama_base_url)
        server.fail_next("400", message=f'"{model}" does not support thinking')
        for _ in range(2):
            await backend.generate(request(thinking=thinking))
        await backend.aclose()
    assert [each.body.get("think") for each in server.requests] == [sent, None, None]
    assert "no thinking" in backend.facts.summary
