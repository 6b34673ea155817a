"""What is particular to OpenAI's API and to the many servers that resemble it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.errors import ModelRefused, ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models.openai_compat import OFFICIAL, OpenAIBackend
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
        made = OpenAIBackend(model=server.model, api_key="sk-1234567890", base_url=server.openai_base_url)
        yield made
        await made.aclose()


async def test_the_request_says_all_that_was_wanted(backend: OpenAIBackend, server: WireServer) -> None:
    await backend.generate(REQUEST)
    body = server.requests[0].body
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["response_format"] == {"type": "json_object"}
    assert (body["temperature"], body["max_tokens"]) == (0.3, 77)
    assert server.requests[0].headers["Authorization"] == "Bearer sk-1234567890"


async def test_what_a_server_does_not_know_is_left_out_from_then_on(backend: OpenAIBackend, server: WireServer) -> None:
    server.fail_next("400", message="Unsupported value: 'temperature' does not support 0.3 with this model.")
    server.fail_next("400", message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    server.fail_next("422", message="stream_options: extra inputs are not permitted")
    assert (await backend.generate(REQUEST)).text == '{"approved": true}'
    assert len(server.requests) == 4
    await backend.generate(REQUEST)
    body = server.requests[-1].body
    assert not body.keys() & {"temperature", "stream_options"}
    assert len(server.requests) == 5


async def test_a_complaint_about_something_else_is_a_refusal(backend: OpenAIBackend, server: WireServer) -> None:
    server.fail_always("400", message="this prompt is not to my taste")
    with pytest.raises(ModelRefused, match="taste"):
        await backend.generate(REQUEST)
    assert len(server.requests) == 1


async def test_missing_counts_are_estimated_and_say_so(backend: OpenAIBackend, server: WireServer) -> None:
    server.reply = lambda _phase, _messages: Reply(text="x" * 350, usage=False)
    completion = await backend.generate(REQUEST)
    assert completion.extra["estimated"] is True
    assert 90 < completion.tokens_out < 120
    assert completion.tokens_in > 4


async def test_broken_arguments_of_a_tool_call_are_handed_on_as_text(backend: OpenAIBackend) -> None:
    from nightshift.models.tool_wire import read_arguments

    assert read_arguments('{"a": 1}') == {"a": 1}
    assert read_arguments('{"a": ') == {"text": '{"a": '}
    assert read_arguments("[1]") == {"text": "[1]"}


async def test_an_error_in_the_stream_that_names_the_request_is_a_refusal() -> None:
    class Said(Exception):
        def __init__(self, kind: str | None) -> None:
            self.message, self.type = "too long", kind

    backend = OpenAIBackend(model="m", api_key=None, base_url=OFFICIAL)
    assert isinstance(backend._event_error(Said("invalid_request_error")), ModelRefused)
    assert isinstance(backend._event_error(Said("server_error")), ModelUnavailable)
    assert isinstance(backend._event_error(Said(None)), ModelUnavailable)


def test_openai_itself_gets_the_newer_name_of_the_limit() -> None:
    official = OpenAIBackend(model="m", api_key="k", base_url=OFFICIAL)
    assert official._params(REQUEST)["max_completion_tokens"] == 77
    assert not official.free
    assert OpenAIBackend(model="m", api_key=None, base_url="http://127.0.0.1:1/v1").free


def test_another_library_of_http_is_loaded_before_it_is_asked() -> None:
    """The package looks at `httpx` as soon as it is in `sys.modules`, though another thread may be loading it then."""
    code = """
import asyncio, sys
from nightshift.models.openai_compat import OpenAIBackend
assert "httpx" not in sys.modules
asyncio.run(OpenAIBackend(model="m", api_key="k", base_url="http://127.0.0.1:1/v1")._connected())
print(sys.modules["httpx"].Timeout.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("Timeout\n", 0), done.stderr
