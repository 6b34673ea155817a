"""Tool calls over every backend, natively and as text: how they are offered, read, answered and refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest
from nightshift.core.errors import ModelError
from nightshift.core.events import Kind
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.core.tools import FormCounts, FormReport, ToolCall, ToolParameter, ToolProtocol, ToolSpec
from nightshift.models import backend_class
from nightshift.models.base import BackendSettings, BaseModelHandler, CallName, CallText
from nightshift.models.errors import ToolsRefused
from nightshift.models.openai_api import OpenAIBackend
from nightshift.storage.db import tool_forms
from tests.support.gateway import KEY, QUICK, GatewaySetup, backend
from tests.support.tiny_gguf import write_tiny_gguf
from tests.support.wire_server import Reply, WireServer

NATIVE, TEXT = ToolProtocol.NATIVE, ToolProtocol.TEXT
HTTP = ("openai", "responses", "anthropic", "gemini", "ollama")
READ = ToolSpec(
    name="read_file",
    description="Shows a file.",
    parameters=(
        ToolParameter(name="path", description="the file", required=True),
        ToolParameter(name="start", description="the first line", type="integer"),
    ),
)
WRITE = ToolSpec(
    name="write_file",
    description="Writes a file.",
    parameters=(
        ToolParameter(name="path", description="the file", required=True),
        ToolParameter(name="content", description="its text", required=True),
    ),
    body=("content",),
)
SYSTEM = Message(role="system", text="Phase: CODING\nBe brief.")
USER = Message(role="user", text="Mend add.")
LONG = 'é → "quoted"\nline two\tand a backslash \\ ' * 20


def ask(*turns: Message, **more: Any) -> ModelRequest:
    given = {"phase": Phase.CODING, "tools": (READ, WRITE), "max_tokens": 500, "task_id": 7, **more}
    return ModelRequest(messages=(SYSTEM, USER, *turns), **given)


def calls(*tool_calls: tuple[str, Any], text: str = "Let me look.", finish: str = "tool") -> Reply:
    return Reply(text=text, finish=finish, tools=tool_calls)


def say(server: WireServer, reply: Reply) -> None:
    server.reply = lambda _phase, _messages: reply


def name(completion: Completion) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in completion.tool_calls]


@dataclass
class Rig:
    name: str
    server: WireServer
    backend: BaseModelHandler


@pytest.fixture(params=HTTP)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    with WireServer() as server:
        handler = backend(server, request.param)
        yield Rig(request.param, server, handler)
        await handler.aclose()


def conversation(*, ids: tuple[str, str] = ("call_0", "call_1")) -> tuple[Message, ...]:
    """Return a conversation with two parallel tool calls and their results, followed by a message from the user."""
    tool_calls = (
        ToolCall(name="read_file", arguments={"path": "a.py"}, id=ids[0]),
        ToolCall(name="read_file", arguments={"path": "b.py", "start": 3}, id=ids[1]),
    )
    return (
        Message(role="assistant", text="Both.", tool_calls=tool_calls),
        Message(role="tool", text="first", call_id=ids[0]),
        Message(role="tool", text="second", call_id=ids[1]),
        Message(role="user", text="Go on."),
    )


# Requests in every vendor's format, and the parsing of the replies.


async def test_tools_are_offered_with_their_schemas(rig: Rig) -> None:
    await rig.backend.generate(ask())
    offered = rig.server.requests[0].tools
    assert [(tool["name"], tool["description"]) for tool in offered] == [
        ("read_file", "Shows a file."),
        ("write_file", "Writes a file."),
    ]
    schema = offered[0]["parameters"]
    assert schema["properties"]["start"] == {"type": "integer", "description": "the first line"}
    assert schema["required"] == ["path"]


async def test_a_call_whose_arguments_come_in_pieces_is_read_whole(rig: Rig) -> None:
    say(rig.server, calls(("write_file", {"path": "a.py", "content": LONG})))
    heard: list[str] = []
    completion = await rig.backend.generate(ask(), on_text=heard.append)
    assert name(completion) == [("write_file", {"path": "a.py", "content": LONG})]
    assert (completion.text, completion.finish) == ("Let me look.", Finish.TOOL)
    assert "".join(piece for piece in heard if not isinstance(piece, CallText)) == completion.text
    assert len("".join(piece for piece in heard if isinstance(piece, CallText))) > len(LONG)


async def test_whoever_listens_hears_where_each_call_begins(rig: Rig) -> None:
    say(rig.server, calls(("read_file", {"path": "a.py"}), ("write_file", {"path": "b.py", "content": LONG})))
    heard: list[str] = []
    completion = await rig.backend.generate(ask(), on_text=heard.append)
    pairs: list[tuple[str, str]] = []
    for piece in heard:
        if isinstance(piece, CallName):
            pairs.append((piece, ""))
        elif isinstance(piece, CallText):
            pairs[-1] = (pairs[-1][0], pairs[-1][1] + piece)
    assert [(name, json.loads(written)) for name, written in pairs] == name(completion)
    assert len({call.id for call in completion.tool_calls} - {""}) == 2


@pytest.mark.parametrize("broken", ['{"path": "a.py", "content": "x', "[1, 2]", "[" * 100_000])
async def test_arguments_that_are_no_json_object_are_handed_on_as_text(rig: Rig, broken: str) -> None:
    say(rig.server, calls(("write_file", broken)))
    if rig.name == "ollama" and broken != "[1, 2]":  # Ollama's server parses the arguments itself
        with pytest.raises(ToolsRefused, match="tool call"):
            await rig.backend.generate(ask())
        assert "tools" not in rig.backend.facts.lacks, "one reply that its parser could not read is not all"
    elif rig.name != "ollama":
        assert name(await rig.backend.generate(ask())) == [("write_file", {"text": broken})]


async def test_calls_and_results_come_back_as_they_were(rig: Rig) -> None:
    await rig.backend.generate(ask(*conversation()))
    system, user, call_turn, first, second, on = rig.server.requests[0].messages
    assert (system["role"], user["content"], on) == ("system", "Mend add.", {"role": "user", "content": "Go on."})
    assert (call_turn["role"], call_turn["content"]) == ("assistant", "Both.")
    assert [(call["name"], call["arguments"]) for call in call_turn["calls"]] == [
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "b.py", "start": 3}),
    ]
    assert [(turn["role"], turn["content"]) for turn in (first, second)] == [("tool", "first"), ("tool", "second")]
    ids = ["read_file", "read_file"] if rig.name == "ollama" else [call["id"] for call in call_turn["calls"]]
    assert [first["call_id"], second["call_id"]] == ids


@pytest.mark.parametrize(
    ("status", "message", "refused"),
    [
        (422, "tools: Extra inputs are not permitted", True),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', True),
        (500, "the tool shed burns", False),
        (400, "this model's maximum context length is 10 tokens, tools included", False),
    ],
)
async def test_a_refusal_is_about_tools_only_where_it_says_so(status: int, message: str, *, refused: bool) -> None:
    with WireServer() as server:
        server.no_tools, server.no_tools_status = message, status
        handler = backend(server)
        with pytest.raises(ModelError) as caught:
            await handler.generate(ask())
        assert isinstance(caught.value, ToolsRefused) == refused
        assert ("tools" in handler.facts.lacks) == refused
        await handler.aclose()


# Features of a single vendor's API.


async def test_anthropic_gets_alternating_turns_and_at_most_four_marks_for_the_cache() -> None:
    with WireServer() as server:
        handler = backend(server, "anthropic")
        await handler.generate(ask(*conversation(), *conversation(), Message(role="assistant", text=""), USER))
        body = server.requests[0].body
        await handler.aclose()
    roles = [turn["role"] for turn in body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    last = body["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text", "text"]
    assert "cache_control" in last[-1]
    assert [("cache_control" in tool) for tool in body["tools"]] == [False, True]
    assert "cache_control" in body["system"][-1]
    assert json.dumps(body).count("cache_control") <= 4


# Tool calls through the gateway.


@asynccontextmanager
async def ask_it(tmp_path: Path, kind: str, **more: Any) -> AsyncIterator[tuple[WireServer, Any]]:
    with WireServer() as server:
        async with GatewaySetup(tmp_path).gateway(backend(server, kind), **more) as gateway:
            await gateway.handler.probe()
            yield server, gateway


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize("wish", ToolProtocol)
async def test_the_form_that_is_wished_for_is_used(tmp_path: Path, kind: str, wish: ToolProtocol) -> None:
    async with ask_it(tmp_path, kind) as (server, gateway):
        completion = await gateway.task().complete(ask(*conversation(), protocol=wish))
        request = server.requests[0]
        assert completion.protocol is wish
        assert bool(request.tools) == (wish is NATIVE)
        if wish is TEXT:
            assert [turn["role"] for turn in request.messages] == ["system", "user", "assistant", "user"]
            assert "## read_file" in request.messages[0]["content"]
            assert "```read_file path=b.py start=3" in request.messages[2]["content"]
            assert request.messages[3]["content"].split() == ["first", "second", "Go", "on."]


@pytest.mark.parametrize("kind", ["openai", "ollama"])
async def test_a_refusal_of_tools_is_answered_with_the_text_form_at_once_and_for_good(
    tmp_path: Path, kind: str
) -> None:
    async with ask_it(tmp_path, kind) as (server, gateway):
        server.no_tools = "registry.ollama.ai/library/tiny-coder does not support tools"
        for number in range(2):
            completion = await gateway.task().complete(ask(protocol=NATIVE, call_no=number))
            assert completion.protocol is TEXT
        assert [bool(request.tools) for request in server.requests] == [True, False, False]
        assert "as text" in gateway.of(Kind.MODEL_FAILED)[0].message
        assert gateway.handler.status()[0].circuit == "closed"


async def test_a_conversation_with_calls_can_go_on_without_tools(tmp_path: Path) -> None:
    async with ask_it(tmp_path, "anthropic") as (server, gateway):
        completion = await gateway.task().complete(ask(*conversation(), tools=()))
        assert completion.protocol is None
        assert not any("calls" in turn or turn["role"] == "tool" for turn in server.requests[0].messages)


@pytest.mark.parametrize("kind", HTTP)
async def test_secrets_in_arguments_and_results_leave_no_machine(tmp_path: Path, kind: str) -> None:
    secret = "hunter2-is-secret"
    call = ToolCall(name="write_file", arguments={"path": "a.py", "content": f"KEY = '{secret}'", secret: [secret]})
    turns = (Message(role="assistant", text="", tool_calls=(call,)), Message(role="tool", text=f"wrote {secret}"))
    async with ask_it(tmp_path, kind, masker=Masker([secret])) as (server, gateway):
        for number, wish in enumerate(ToolProtocol):
            await gateway.task().complete(ask(*turns, protocol=wish, call_no=number))
            assert secret not in str(server.requests[-1].body)
            assert "KEY = '***'" in json.dumps(server.requests[-1].messages[2])


async def test_half_a_character_in_a_call_does_not_end_the_conversation(tmp_path: Path) -> None:
    call = ToolCall(name="write_file", arguments={"path": "a.py", "content": "x\ud800"})
    turns = (Message(role="assistant", text="\ud800", tool_calls=(call,)), Message(role="tool", text="wrote \udfff"))
    async with ask_it(tmp_path, "openai") as (server, gateway):
        for number, wish in enumerate(ToolProtocol):
            await gateway.task().complete(ask(*turns, protocol=wish, call_no=number))
        assert server.requests[0].messages[2]["calls"][0]["arguments"]["content"] == "x?"
        events = gateway.of(Kind.MODEL_CALLED)
        assert [event.data["protocol"] for event in events] == ["native", "text"]


async def test_a_call_that_breaks_off_is_paid_for(tmp_path: Path) -> None:
    async with ask_it(tmp_path, "openai") as (server, gateway):
        say(server, calls(("write_file", {"path": "a.py", "content": LONG}), text=""))
        server.fail_next("cut")
        task = gateway.task()
        completion = await task.complete(ask())
        assert name(completion)[0][0] == "write_file"
        assert task.spent.tokens_out > completion.tokens_out
        assert task.spent.model_calls == 2


@pytest.mark.parametrize("name", ["gpt4all", "llama_cpp"])
async def test_a_model_file_gets_tools_and_their_turns_as_text(tmp_path: Path, name: str) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", context_length=8192)
    handler = backend_class(name).from_settings(BackendSettings(gpt4all_model_path=file), None)
    assert handler
    async with GatewaySetup(tmp_path).gateway(handler, policy=replace(QUICK, total_s=60.0)) as gateway:
        request = ask(*conversation(), protocol=NATIVE, max_tokens=5)
        completion = await gateway.task().complete(request)
        assert (completion.backend, completion.protocol) == (name, TEXT)
        (call,) = gateway.steps.calls(7)
        turns = gateway.steps.prompt(call.prompt)
        assert [role for role, _ in turns] == ["system", "user", "assistant", "user"]
        assert "## write_file" in turns[0][1]
        assert completion.tokens_in > 100


async def test_what_steps_report_changes_the_form_of_the_next_request(tmp_path: Path) -> None:
    async with ask_it(tmp_path, "openai") as (server, gateway):
        assert (await gateway.task().complete(ask())).protocol is NATIVE
        counts = FormCounts(well=7, malformed=3)
        report = FormReport(backend="openai", model=server.model, protocol=NATIVE, counts=counts)
        gateway.db.write(lambda conn: tool_forms.add(conn, [report])).result()
        assert (await gateway.task().complete(ask(call_no=1))).protocol is TEXT


# Context windows of models.


@pytest.mark.parametrize(
    ("row", "window"),
    [
        ({"max_model_len": 32768}, 32768),
        ({"meta": {"n_ctx_train": 40960}}, 40960),
        ({"meta": "odd", "context_length": "many"}, None),
    ],
)
async def test_the_window_is_what_the_server_lists(row: dict[str, Any], window: int | None) -> None:
    with WireServer() as server:
        server.listed = row
        handler = backend(server)
        assert await asyncio.to_thread(handler.is_available)
        assert handler.window == window


async def test_what_llama_cpp_was_started_with_counts_and_not_what_the_model_was_made_for() -> None:
    with WireServer() as server:
        server.listed = {"meta": {"n_ctx_train": 40960}}
        server.props = {"default_generation_settings": {"n_ctx": 8192}}
        handler = backend(server)
        assert await asyncio.to_thread(handler.is_available)
        assert handler.window == 8192
        assert await asyncio.to_thread(handler.is_available)
        assert server.probes.count("/props") == 1


async def test_ollama_behind_openais_api_is_found_out_and_its_owner_told() -> None:
    with WireServer() as server:
        server.listed = {"owned_by": "library"}
        handler = backend(server)
        assert isinstance(handler, OpenAIBackend)
        assert handler.advice == ""
        assert await asyncio.to_thread(handler.is_available)
        assert "MODEL_TYPE=ollama" in handler.advice
        assert f"OLLAMA_BASE_URL={server.base_url}" in handler.advice
        assert handler.protocols == (TEXT, NATIVE)
        assert KEY not in handler.advice
