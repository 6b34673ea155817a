"""No response is read beyond a limit, whatever the vendor's package would take."""

from __future__ import annotations

import json
from typing import Any

import httpx
import httpx2
import pytest

from core.dialogue import Message, ModelRequest
from core.errors import ModelUnavailable
from core.states import Phase
from models.bounded import UNCOMPRESSED, beginning, bounded
from tests.support.door import backend
from tests.support.wire_server import WireServer

BODY = json.dumps({"model": "tiny-coder", "messages": [{"role": "user", "content": "hello"}], "stream": True})
ASKED = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="hello"),))


@pytest.mark.parametrize("package", [httpx, httpx2])
async def test_a_response_without_an_end_is_broken_off(package: Any) -> None:
    hooks = {"response": [bounded(package, max_bytes=300_000)]}
    with WireServer() as server:
        server.fail_next("flood")
        url = f"{server.base_url}/v1/chat/completions"
        async with package.AsyncClient(event_hooks=hooks, headers=UNCOMPRESSED) as client:
            async with client.stream("POST", url, content=BODY) as response:
                with pytest.raises(package.RemoteProtocolError, match="longer than 300,000 bytes"):
                    await response.aread()
                assert beginning(response) == "x" * 300
            whole = await client.post(url, content=BODY)
            assert whole.status_code == 200
            assert beginning(whole) == ""
        assert server.requests[1].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_what_is_no_stream_of_events_is_quoted(kind: str) -> None:
    with WireServer() as server:
        server.fail_next("raw", body=b'{"error": {"message": "out of order"}}')
        one = backend(server, kind)
        with pytest.raises(ModelUnavailable, match="out of order"):
            await one.generate(ASKED)
        await one.aclose()


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
async def test_a_prompt_follows_no_redirect(kind: str) -> None:
    with WireServer() as server, WireServer() as elsewhere:
        server.fail_next("307", headers={"Location": f"{elsewhere.base_url}/v1/chat/completions"})
        one = backend(server, kind)
        with pytest.raises(ModelUnavailable, match=r"answered 307 and points to http://127\.0\.0\.1"):
            await one.generate(ASKED)
        await one.aclose()
        assert elsewhere.requests == []
