"""The gateway learns from a server's refusals for a week: a missing feature, a lower limit, or the context window."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.dialogue import Finish, Message, ModelRequest
from nightshift.core.errors import PromptTooLong
from nightshift.core.tasks.states import Phase
from nightshift.core.tools import ToolProtocol
from nightshift.models.errors import ToolsRefused
from nightshift.models.server_facts import ServerFacts, blames_context, is_refusal
from tests.models.test_tools import ask, conversation
from tests.support.gateway import GatewaySetup, backend
from tests.support.wire_server import WireServer

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
VLLM = "This model's maximum context length is 8192 tokens and your request has 2192 input tokens (6100 > 8192 - 2192)."
ALL = {"system", "temperature", "stream", "stream_options", "response_format", "thinking", "max_tokens"}


@pytest.mark.parametrize(
    ("message", "lesson"),
    [
        ("System role not supported", "system"),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", "system"),
        ("Your organization must be verified to stream this model.", "stream"),
        ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"),
        ("stream_options: extra inputs are not permitted", "stream_options"),
        ("response_format is not supported", "response_format"),
        ("Unrecognized request argument supplied: reasoning_effort", "thinking"),
        ("messages[0].role: must be one of 'user','assistant'", "system"),
    ],
)
def test_a_missing_feature_is_learnt_once_and_for_a_week(message: str, lesson: str) -> None:
    facts = ServerFacts(clock=lambda: NOW)
    assert facts.learn(400, message, ALL, 100)
    assert facts.lacks == {lesson}
    assert not facts.learn(400, message, ALL, 100), "the same request would be refused for ever"
    assert not ServerFacts().learn(400, message, set(), 100), "what was not sent is not to blame"
    facts.clock = lambda: NOW + timedelta(days=8)
    assert facts.lacks == frozenset()


@pytest.mark.parametrize(
    ("message", "asked", "lower"),
    [
        ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you", 8192, 4096),
        ("max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude", 64000, 32000),
        ("You requested up to 8192 tokens, but can only afford 3417. Use fewer max_tokens", 8192, 3417),
        (f"'max_tokens' is too large: 6100. {VLLM}", 6100, None),
        ("max_completion_tokens is too large", 8192, 4096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 65536, 8192),
        ("a maxOutputTokens value of 100000 but the supported range is from 1 to 65537 (exclusive)", 100000, 65537),
        ("The maximum tokens you requested exceeds the model limit of 4096.", 8192, 4096),
        ("the requested output length 8192 is above the limit 4096", 8192, 4096),
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", 21333, None),
    ],
)  # fmt: skip
def test_a_limit_of_the_reply_is_lowered_and_never_left_out(message: str, asked: int, lower: int | None) -> None:
    facts = ServerFacts(clock=lambda: NOW)
    assert facts.learn(400, message, ALL, asked)
    assert facts.reply == lower
    assert facts.lacks == frozenset()
    assert (facts.window is None) == (lower is not None), "a prompt's own room is no limit of the server"
    facts.clock = lambda: NOW + timedelta(hours=2)
    assert facts.reply == (None if "afford" in message else lower), "credit is added at any time"


@pytest.mark.parametrize(
    ("message", "window"),
    [
        ("the model is loaded with context length of only 4096 tokens, which is not enough", 4096),
        ("Request too large for model `m` on tokens per minute (TPM): Limit 4096, Requested 6969", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("Prompt contains 40014 tokens, too large for model with 32768 maximum context length", 32_768),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072),
        ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 6969", 4081),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("the prompt is too long", 5250),
        ("n_keep: 9000 is greater than the context length (n_keep: 9000>= n_ctx: 4096)", 4096),
        ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192),
        ("Please reduce the length of the messages. Current length is 9035 while limit is 8192", 8192),
        ("Range of input length should be [1, 98304]", 98_304),
        ("Invalid request: Your request exceeded model token limit: 262144", 262_144),
        ("invalid params, context window exceeds limit (2013)", 5250),  # the number 2013 is an error code
    ],
)
def test_the_number_in_a_refusal_is_the_window(message: str, window: int) -> None:
    facts = ServerFacts()
    assert not facts.learn(400, message, ALL, 1000)
    assert blames_context(message)
    assert facts.learn_window(message, 7000) == facts.window == window


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_completion_tokens"),
        ("property 'max_completion_tokens' is unsupported, did you mean 'max_tokens'?", "max_tokens"),
        ("max_completion_tokens: Extra inputs are not permitted", "max_tokens"),
    ],
)
def test_a_limit_whose_name_is_not_known_gets_its_other_name(message: str, name: str) -> None:
    facts = ServerFacts()
    assert facts.learn(400, message, ALL, 8192)
    assert (facts.limit_name, facts.reply) == (name, None)


async def test_a_model_without_a_system_role_gets_its_prompt_in_the_first_turn(tmp_path: Path) -> None:
    with WireServer() as server:
        setup = GatewaySetup(tmp_path)
        async with setup.gateway(backend(server)) as gateway:
            await gateway.handler.probe()
            server.fail_next("400", message="System role not supported")
            await gateway.task().complete(ask(tools=()))
            assert [turn["role"] for turn in server.requests[1].messages] == ["user"]
            assert "Be brief." in server.requests[1].messages[0]["content"]
            assert "no system" in gateway.handler.status()[0].detail
        async with setup.gateway(backend(server)) as gateway:
            await gateway.handler.probe()
            await gateway.task().complete(ask(tools=(), call_no=1))
            assert [turn["role"] for turn in server.requests[2].messages] == ["user"], (
                "it was forgotten with the process"
            )


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("The reasoning_content must be passed back", ToolsRefused), ("tool_use_failed: no call", ToolsRefused),
        ("Could not finish the message because max_tokens", None),
    ],
)  # fmt: skip
async def test_a_refusal_of_one_conversation_teaches_nothing(message: str, error: type[Exception] | None) -> None:
    with WireServer() as server:
        server.fail_next("400", message=message)
        handler = backend(server)
        with pytest.raises(error) if error else nullcontext():
            assert (await handler.generate(ask(*conversation()))).finish is Finish.LENGTH
        assert handler.facts.learnt == {}
        server.fail_next("400", message=f"'max_tokens' is too large: 8000. {VLLM}")
        await handler.generate(ask(max_tokens=8000))
        assert (server.requests[-1].body["max_tokens"], handler.facts.reply) == (6000, None)
        await handler.aclose()


async def test_one_odd_refusal_does_not_end_native_calls(tmp_path: Path) -> None:
    with WireServer() as server:
        async with GatewaySetup(tmp_path).gateway(backend(server)) as gateway:
            await gateway.handler.probe()
            await gateway.task().complete(ask())
            server.fail_next("400", message="Invalid 'messages[2].tool_calls[0].function.name'")
            second = await gateway.task().complete(ask(call_no=1))
            third = await gateway.task().complete(ask(call_no=2))
            assert (second.protocol, third.protocol) == (ToolProtocol.TEXT, ToolProtocol.NATIVE)


async def test_a_prompt_beyond_the_window_is_refused_with_the_size_and_the_next_one_is_made_to_fit(
    tmp_path: Path,
) -> None:
    with WireServer() as server:
        async with GatewaySetup(tmp_path).gateway(backend(server)) as gateway:
            await gateway.handler.probe()
            server.fail_next("400", message="This model's maximum context length is 4096 tokens.")
            long = ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text="word " * 6000),), task_id=7)
            with pytest.raises(PromptTooLong):
                await gateway.task().complete(long)
            assert gateway.handler.gauge(Phase.CODING, 0).window == 4096
            await gateway.task().complete(ask(tools=(), call_no=1))
            assert server.requests[1].body["max_tokens"] < 4096


@pytest.mark.parametrize(
    ("status", "message", "is_one"),
    [
        (500, "Value is not callable: raise_exception('System role not supported')", True),
        (500, "tool_calls need a chat template that supports tools", True),
        (500, "out of memory", False),
        (504, "This prompt is too long to wait for", False),
        (429, "Rate limit reached on tokens per minute (TPM): Limit 6000", False),
    ],
)
def test_a_server_error_about_the_request_is_a_refusal(status: int, message: str, is_one: bool) -> None:
    assert is_refusal(status, message) is is_one
