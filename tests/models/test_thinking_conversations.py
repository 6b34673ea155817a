"""A conversation with tools and the model's thoughts, over every wire format.

The thoughts are stored and sent back, but never sent to another model.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest, Thinking, Thought
from nightshift.core.errors import ModelRefused
from nightshift.core.events import Kind
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.core.tools import ToolProtocol
from nightshift.models.thinking import ThinkingConfig
from tests.models.test_tools import READ, SYSTEM, USER
from tests.support.gateway import GatewaySetup, backend
from tests.support.wire_dialects import SIGNATURE
from tests.support.wire_server import Reply, WireServer

WIRES = ("openai", "responses", "anthropic", "gemini", "ollama")
THOUGHT = "I should look at a.py first."
MODEL = {"responses": "gpt-5.4", "anthropic": "claude-sonnet-5", "gemini": "gemini-3-pro"}


def make_script(_phase: str, messages: list[dict[str, Any]]) -> Reply:
    if any(turn["role"] == "tool" for turn in messages):
        return Reply(text="Done.", thinking="It is fine.")
    return Reply(text="Let me look.", finish="tool", thinking=THOUGHT, tools=[("read_file", {"path": "a.py"})])


def ask(*turns: Message, **more: Any) -> ModelRequest:
    given = {"phase": Phase.CODING, "tools": (READ,), "task_id": 7, "protocol": ToolProtocol.NATIVE, **more}
    return ModelRequest(messages=(SYSTEM, USER, *turns), **given)


def turns_after(reply: Completion) -> tuple[Message, Message]:
    turn = Message(
        role="assistant", text=reply.text, tool_calls=reply.tool_calls, thoughts=reply.thoughts, author=reply.author
    )
    return turn, Message(role="tool", text="x = 1", call_id=reply.tool_calls[0].id)


def holds_thought(kind: str, body: dict[str, Any]) -> bool:
    """Check whether a request contains the form of the thoughts that this vendor requires."""
    sent = json.dumps(body)
    wanted = {"openai": THOUGHT, "ollama": THOUGHT, "anthropic": SIGNATURE, "responses": SIGNATURE, "gemini": SIGNATURE}
    return wanted[kind] in sent


@pytest.mark.parametrize("kind", WIRES)
async def test_thoughts_come_stored_and_go_back_after_a_kill_to_their_model_alone(tmp_path: Path, kind: str) -> None:
    model = MODEL.get(kind, "tiny-coder")
    with WireServer(make_script, models=[model, "other"]) as server:
        make_backend = partial(backend, server, kind, model)
        setup = GatewaySetup(tmp_path)
        async with setup.gateway(make_backend()) as gateway:
            await gateway.handler.probe()
            first = await gateway.task().complete(ask())
            if kind != "responses":  # the Responses API hides the thoughts
                assert "".join(each.text for each in first.thoughts) == THOUGHT
            assert first.thoughts
            assert (first.text, first.finish) == ("Let me look.", Finish.TOOL)
        async with setup.gateway(make_backend()) as gateway:
            await gateway.handler.probe()
            again = await gateway.task().complete(ask())
            assert (again.replayed, again.thoughts, again.tool_calls, again.author) == (
                True, first.thoughts, first.tool_calls, first.author,
            )  # fmt: skip
            second = await gateway.task().complete(ask(*turns_after(again), call_no=1))
            assert second.text == "Done."
            assert len(server.requests) == 2
            assert holds_thought(kind, server.requests[1].body)
            assert server.requests[1].messages[-2]["content"] == "Let me look."
        async with setup.gateway(backend(server, kind, "other")) as gateway:
            await gateway.handler.probe()
            await gateway.task().complete(ask(*turns_after(again), call_no=2))
            other = server.requests[2]
            assert not holds_thought(kind, other.body)
            assert THOUGHT not in json.dumps(other.body)
            call_turn = next(turn for turn in other.messages if turn.get("calls"))
            assert (call_turn["content"], call_turn["calls"][0]["name"]) == ("Let me look.", "read_file")


async def test_a_thought_with_a_secret_stays_here(tmp_path: Path) -> None:
    with WireServer(make_script) as server:
        async with GatewaySetup(tmp_path).gateway(backend(server), masker=Masker(["hunter2-is-secret"])) as gateway:
            await gateway.handler.probe()
            reply = await gateway.task().complete(ask())
            call_turn, result = turns_after(reply)
            leaking = Message(
                role="assistant", text="", tool_calls=call_turn.tool_calls, author=call_turn.author,
                thoughts=(Thought(text="hunter2-is-secret", id="reasoning_content"),),
            )  # fmt: skip
            await gateway.task().complete(ask(leaking, result, call_no=1))
            assert "hunter2" not in json.dumps(server.requests[1].body)


@pytest.mark.parametrize(
    ("phase", "model", "config", "wanted"),
    [
        (Phase.PLANNING, "qwen3:4b", ThinkingConfig(), Thinking.LOW),
        (Phase.CODING, "qwen3:4b", ThinkingConfig(), Thinking.OFF),
        (Phase.CODING, "qwen3.6:27b", ThinkingConfig(), None),
        (Phase.TESTING, "qwen3:4b", ThinkingConfig(), None),
        (Phase.CODING, "m", ThinkingConfig.of("high", {}), Thinking.HIGH),
        (Phase.CODING, "m", ThinkingConfig.of("high", {Phase.CODING: "off"}), Thinking.OFF),
        (Phase.REVIEW, "m", ThinkingConfig.of("high", {Phase.REVIEW: "auto"}), Thinking.LOW),
    ],
)
def test_how_much_is_thought_follows_phase_model_and_setting(
    phase: Phase, model: str, config: ThinkingConfig, wanted: Thinking | None
) -> None:
    with WireServer() as server:
        assert config.level(phase, backend(server, "openai", model)) is wanted


@pytest.mark.parametrize(
    ("kind", "model", "level", "sent"),
    [
        ("openai", "qwen3:8b", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("openai", "gpt-oss:20b", "off", {"reasoning_effort": "low"}),
        ("openai", "gpt-5.4", "high", {"reasoning_effort": "high"}),
        ("openai", "llama-3:8b", "high", {}),
        ("responses", "gpt-5.4", "low", {"reasoning": {"effort": "low", "context": "all_turns"}}),
        ("anthropic", "claude-opus-4-5", "medium", {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ("gemini", "gemini-2.5-flash", "off", {"thinkingConfig": {"thinking_budget": 0}}),
    ],
)
async def test_each_vendor_is_told_in_its_own_words(kind: str, model: str, level: str, sent: dict[str, Any]) -> None:
    with WireServer(models=[model]) as server:
        handler = backend(server, kind, model)
        await handler.generate(ask(tools=(), thinking=Thinking(level), max_tokens=4000))
        await handler.aclose()
        body = server.requests[0].body
    body_fields = {**body, **body.get("generationConfig", {})}
    fields = ("chat_template_kwargs", "reasoning_effort", "reasoning", "thinking", "thinkingConfig")
    assert {name: body_fields[name] for name in fields if name in body_fields} == sent


async def test_a_reply_that_thinking_used_up_is_asked_for_with_less_of_it_then_with_more_room(tmp_path: Path) -> None:
    with WireServer(lambda _phase, _turns: Reply(text="", thinking="hm " * 50, finish="length")) as server:
        async with GatewaySetup(tmp_path).gateway(backend(server, model="qwen3:4b")) as gateway:
            server.models = ["qwen3:4b"]
            await gateway.handler.probe()
            task = gateway.task()
            with pytest.raises(ModelRefused, match=r"thinking used all .* \(MODEL_MAX_TOKENS\)"):
                await task.complete(ask(tools=(), phase=Phase.TESTING))
            bodies = [request.body for request in server.requests]
            assert [body["max_tokens"] for body in bodies] == [8192, 8192, 16384]
            off = {"enable_thinking": False}
            assert [body.get("chat_template_kwargs") for body in bodies] == [None, off, off]
            assert task.spent.model_calls == 3
            assert len(gateway.of(Kind.MODEL_FAILED)) == 3
