"""The raw bytes of event streams, before the vendors' packages read them, are limited, observed and corrected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import pytest

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models.stream_watch import UNCOMPRESSED, limit_responses, watch_stream
from tests.support.gateway import backend
from tests.support.wire_server import WireServer

BODY = json.dumps({"model": "tiny-coder", "messages": [{"role": "user", "content": "hello"}], "stream": True})
ASKED = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="hello"),))


@pytest.mark.parametrize("package", [httpx, httpx2])
async def test_a_response_without_an_end_is_broken_off(package: Any) -> None:
    hooks = {"response": [limit_responses(package, max_bytes=300_000)]}
    with WireServer() as server:
        server.fail_next("flood")
        url = f"{server.base_url}/v1/chat/completions"
        async with package.AsyncClient(event_hooks=hooks, headers=UNCOMPRESSED) as client:
            with watch_stream(lambda: None) as watch:
                async with client.stream("POST", url, content=BODY) as response:
                    with pytest.raises(package.RemoteProtocolError, match="longer than 300,000 bytes"):
                        await response.aread()
                assert watch.beginning == "x" * 300
            with watch_stream(lambda: None) as watch:
                assert (await client.post(url, content=BODY)).status_code == 200
                assert watch.beginning == ""
        assert server.requests[1].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_what_is_no_stream_of_events_is_quoted(kind: str) -> None:
    with WireServer() as server:
        server.fail_next("raw", body=b'{"error": {"message": "out of order"}}')
        handler = backend(server, kind)
        with pytest.raises(ModelUnavailable, match="out of order"):
            await handler.generate(ASKED)
        await handler.aclose()


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_a_prompt_follows_no_redirect(kind: str) -> None:
    with WireServer() as server, WireServer() as elsewhere:
        server.fail_next("307", headers={"Location": f"{elsewhere.base_url}/v1/chat/completions"})
        handler = backend(server, kind)
        with pytest.raises(ModelUnavailable, match=r"answered 307 and redirects to http://127\.0\.0\.1"):
            await handler.generate(ASKED)
        await handler.aclose()
        assert elsewhere.requests == []


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "tiny-coder"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"


HELLO, DONE = chunk({"role": "assistant", "content": "hello"}), b"data: [DONE]\n\n"
CALL = {"id": "c", "type": "function", "function": {"name": "done", "arguments": "{}"}}


async def answer_to(body: bytes, kind: str = "text/event-stream") -> tuple[Completion, list[str]]:
    heard: list[str] = []
    with WireServer() as server:
        server.fail_next("raw", body=body, content_type=kind)
        handler = backend(server)
        try:
            async with asyncio.timeout(30):
                return await handler.generate(ASKED, on_text=heard.append), heard
        finally:
            await handler.aclose()


@pytest.mark.parametrize(
    "body",
    [
        HELLO + DONE,
        HELLO + chunk({}, "stop"),
        chunk({"content": [{"type": "text", "text": "hello"}]}) + chunk({}, "stop"),
        *(
            event + b"id: 5\n" + HELLO + event + chunk({}, "stop") + event + DONE
            for event in [
                b"data:\n\n", b"data: \r\n\r\n", b": keepalive\n\n", b"event: ping\n\n", b"id: 1\n\n", b"retry: 3\n\n",
                b"data: null\n\n", b'data: ""\n\n', b"data: []\n\n", b"event: x\ndata: ping\n\n", b"data\n\n",
            ]
        ),
    ],
)  # fmt: skip
async def test_a_stream_with_any_sign_of_its_end_is_whole(body: bytes) -> None:
    completion, heard = await answer_to(body)
    assert (completion.text, completion.finish) == ("hello", Finish.STOP)
    assert heard[0] == ""


@pytest.mark.parametrize("body", [HELLO, HELLO + b"data: {}\n\n"])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_a_stream_that_ends_without_a_sign_broke_off(body: bytes, kind: str) -> None:
    with pytest.raises(ModelUnavailable, match="broke off"):
        await answer_to(body, kind)


@pytest.mark.parametrize("word", ["error", "something new"])
async def test_a_word_that_nobody_knows_is_no_end_of_the_models_own(word: str) -> None:
    completion, _ = await answer_to(HELLO + chunk({}, word) + DONE)
    assert completion.finish is Finish.CUT
    assert completion.is_cut


@pytest.mark.parametrize(
    ("message", "finish"), [({"content": "hello"}, "stop"), ({"content": "", "tool_calls": [CALL]}, "tool_calls")]
)
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/octet-stream"])
async def test_one_document_instead_of_a_stream_is_read(message: dict[str, Any], finish: str, kind: str) -> None:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "tiny-coder", "choices": [choice]}
    completion, _ = await answer_to(json.dumps(body).encode(), kind)
    assert completion.text == message["content"]
    assert [call.name for call in completion.tool_calls] == [
        each["function"]["name"] for each in message.get("tool_calls", [])
    ]
    assert not completion.is_cut


A, B = '{"path": "a.py"}', '{"path": "b.py"}'


@pytest.mark.parametrize("form", [lambda call: call, lambda call: [call], lambda call: [{**call, "index": None}]])
@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([("a", "read", A[:9]), ("", None, A[9:]), ("b", "read", B)], [("read", A), ("read", B)]),
        ([("", "read", A[:9]), ("", None, A[9:]), ("", "read", B)], [("read", A), ("read", B)]),
        ([("a", "read", A), ("a", "read", B)], [("read", A), ("read", B)]),
        ([("", "list", ""), ("", "read", A)], [("list", "{}"), ("read", A)]),
        ([("a", "read", A[:4]), ("a", "read", A[4:9]), ("a", "read", A[9:])], [("read", A)]),
        ([("", "read", A[:4]), ("", "read", A[4:9]), ("", "read", A[9:])], [("read", A)]),
        ([("a", "read", ""), ("", None, json.loads(A))], [("read", A)]),
        ([("a", "read", {}), ("", None, A)], [("read", A)]),
        ([("a", "read", json.dumps(A))], [("read", A)]),
    ],
)
async def test_pieces_of_calls_are_joined_however_they_are_numbered_and_written(
    pieces: list[tuple[str, str | None, Any]], calls: list[tuple[str, str]], form: Callable[[dict[str, Any]], Any]
) -> None:
    chunks = [
        chunk({"tool_calls": form({"index": 0, "id": call_id, "function": {"name": name, "arguments": text}})})
        for call_id, name, text in pieces
    ]
    completion, _ = await answer_to(b"".join([*chunks, chunk({}, "tool_calls"), DONE]))
    assert [(call.name, json.dumps(dict(call.arguments))) for call in completion.tool_calls] == calls
