"""The special features of OpenAI's API and of the many servers that resemble it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BackendSettings
from nightshift.models.call import CallPolicy, call_once
from nightshift.models.chain import build_chain
from nightshift.models.http_access import usual_address
from nightshift.models.openai_api import OFFICIAL, OpenAIBackend
from tests.support.wire_server import Reply, WireServer

REQUEST = ModelRequest(
    phase=Phase.REVIEW,
    messages=(Message(role="system", text="Phase: REVIEW"), Message(role="user", text="Look.")),
    temperature=0.3,
    max_tokens=77,
    json_reply=True,
)


@pytest.fixture
def server() -> WireServer:
    return WireServer(lambda _phase, _messages: '{"approved": true}')


@pytest.fixture
async def backend(server: WireServer) -> AsyncIterator[OpenAIBackend]:
    with server:
        new_backend = OpenAIBackend(model=server.model, api_key="sk-1234567890", base_url=server.openai_base_url)
        yield new_backend
        await new_backend.aclose()


async def test_the_request_says_all_that_was_wanted(backend: OpenAIBackend, server: WireServer) -> None:
    await backend.generate(REQUEST)
    body = server.requests[0].body
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["response_format"] == {"type": "json_object"}
    assert (body["temperature"], body["max_tokens"]) == (0.3, 77)
    assert server.requests[0].headers["Authorization"] == "Bearer sk-1234567890"


async def test_missing_counts_are_estimated_and_say_so(backend: OpenAIBackend, server: WireServer) -> None:
    server.reply = lambda _phase, _messages: Reply(text="x" * 350, usage=False)
    completion = await call_once(backend, REQUEST, CallPolicy(), lambda _lost: None)
    assert completion.extra["estimated"] is True
    assert 90 < completion.tokens_out < 120
    assert completion.tokens_in > 4


async def test_openai_itself_is_spoken_to_by_responses_and_nothing_is_stored_there(server: WireServer) -> None:
    with server:
        backend = OpenAIBackend(model="gpt-5.4", api_key="k", base_url=server.openai_base_url, api="responses")
        server.models = ["gpt-5.4"]
        await backend.generate(REQUEST)
        body = server.requests[0].body
        await backend.aclose()
    assert (server.requests[0].api, body["store"], body["include"]) == (
        "responses",
        False,
        ["reasoning.encrypted_content"],
    )
    assert (body["max_output_tokens"], "temperature" in body) == (77, False)
    official = OpenAIBackend(model="m", api_key="k", base_url=OFFICIAL)
    assert official._is_responses
    assert not OpenAIBackend(model="m", api_key="k", base_url=OFFICIAL, api="chat")._is_responses
    assert not official.free
    assert OpenAIBackend(model="m", api_key=None, base_url="http://127.0.0.1:1/v1").free


@pytest.mark.parametrize(
    ("given", "usual"),
    [
        (" http://h:1/v1/ ", "http://h:1/v1"), ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("my-box:8000", "http://my-box:8000"), ("api.example.com/v1", "https://api.example.com/v1"),
        ('"http://localhost:1234/v1"', "http://localhost:1234/v1"),
    ],
)  # fmt: skip
def test_an_address_is_taken_as_people_paste_it(given: str, usual: str) -> None:
    assert usual_address(given, OpenAIBackend.paths) == usual


@pytest.mark.parametrize(
    ("kind", "given", "usual"),
    [
        ("anthropic", "localhost:4000/v1/messages", "http://localhost:4000"),
        ("gemini", " generativelanguage.googleapis.com/v1beta/models ", "https://generativelanguage.googleapis.com"),
        ("ollama", "localhost", "http://localhost:11434"),
    ],
)
def test_addresses_of_other_vendors_are_read_alike_and_the_right_form_is_told(
    kind: str, given: str, usual: str
) -> None:
    for address, advice in ((given, f"write {kind.upper()}_BASE_URL={usual}"), (usual, "")):
        urls = BackendSettings(
            anthropic_api_key="k", anthropic_base_url=address, gemini_api_key="k", gemini_base_url=address,
            ollama_base_url=address,
        )  # fmt: skip
        assert build_chain(urls, model_type=kind, model_name="m")[0].advice == advice


async def test_an_address_without_its_version_is_found_and_its_right_form_told(server: WireServer) -> None:
    with server:
        backend = OpenAIBackend(model="tiny-coder", api_key="k", base_url=server.base_url)
        assert await asyncio.to_thread(backend.is_available)
        assert f"OPENAI_BASE_URL={server.base_url}/v1" in backend.advice
        assert (await backend.generate(REQUEST)).text
        await backend.aclose()


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk-é"])
async def test_a_key_that_no_header_takes_is_told(server: WireServer, key: str) -> None:
    with server:
        backend = OpenAIBackend(model="m", api_key=key, base_url=server.openai_base_url)
        assert not await asyncio.to_thread(backend.is_available)
        assert "OPENAI_API_KEY" in backend.detail
        assert key not in backend.detail
        blanks = OpenAIBackend(model="m", api_key=" sk-1 \n", base_url=server.openai_base_url)
        assert await asyncio.to_thread(blanks.is_available)


def test_another_library_of_http_is_loaded_before_it_is_asked() -> None:
    """Check that httpx is loaded completely before the vendor's package is used.

    The package uses `httpx` as soon as `httpx` is in `sys.modules`, even if another thread is still importing it.
    """
    code = """
import asyncio, sys
from nightshift.models.openai_api import OpenAIBackend
assert "httpx" not in sys.modules
asyncio.run(OpenAIBackend(model="m", api_key="k", base_url="http://127.0.0.1:1/v1")._connect())
print(sys.modules["httpx"].Timeout.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("Timeout\n", 0), done.stderr
