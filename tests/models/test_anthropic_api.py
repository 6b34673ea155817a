"""The special features of Anthropic's API."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nightshift.core.dialogue import Message, ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.models.anthropic_api import USUAL_REPLY, AnthropicBackend
from tests.support.wire_server import WireServer


@pytest.fixture
def server() -> WireServer:
    return WireServer()


@pytest.fixture
async def backend(server: WireServer) -> AsyncIterator[AnthropicBackend]:
    with server:
        new_backend = AnthropicBackend(
            model=server.model, api_key="sk-ant-1234567890", base_url=server.anthropic_base_url
        )
        yield new_backend
        await new_backend.aclose()


def request(*turns: Message, **more: float) -> ModelRequest:
    return ModelRequest(phase=Phase.CODING, messages=turns, **more)  # type: ignore[arg-type]


SYSTEM = Message(role="system", text="Phase: CODING")
RULES = Message(role="system", text="The rules.")
USER = Message(role="user", text="Hello")


async def test_the_end_of_the_system_prompt_is_marked_for_the_cache(
    backend: AnthropicBackend, server: WireServer
) -> None:
    await backend.generate(request(SYSTEM, RULES, USER))
    body = server.requests[0].body
    assert "Phase: CODING" in body["system"][0]["text"]
    assert body["system"][-1]["text"].endswith("The rules.")
    assert body["system"][-1]["cache_control"]["type"] == "ephemeral"
    assert server.requests[0].messages[-1] == {"role": "user", "content": "Hello"}
    assert body["max_tokens"] == USUAL_REPLY
    assert "sk-ant-1234567890" in str(server.requests[0].headers)


async def test_a_model_that_takes_no_temperature_is_asked_without(
    backend: AnthropicBackend, server: WireServer
) -> None:
    server.fail_next("400", message="temperature: is deprecated for this model")
    await backend.generate(request(SYSTEM, USER, temperature=1.4))
    await backend.generate(request(SYSTEM, USER, temperature=1.4))
    assert [each.body.get("temperature") for each in server.requests] == [1.0, None, None]
