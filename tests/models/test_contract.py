"""The contract of every backend: it answers, streams, translates errors, stops, and reports missing parts."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Finish, Message, ModelRequest, Thinking
from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models import backend_class, backends
from nightshift.models.base import BackendSettings, BaseModelHandler
from nightshift.models.errors import BackendMisconfigured, RequestRefused
from tests.support.tiny_gguf import write_tiny_gguf
from tests.support.wire_server import WireServer

KEY = "sk-test-0123456789abcdef"
HTTP = ("openai", "responses", "anthropic", "gemini", "ollama")
MODELS = ("responses", *(name for name in backends() if name not in {BUILT_IN, "acp"}))
"""Names of the tested backends.

The built-in engine is omitted because it answers no free text, and agents because they need a sandbox: see
`engine/tests` and `tests/models/acp`.
"""
TEXT = "def add(a, b):\n    return a + b\n" * 40


@dataclass
class Rig:
    """A backend together with the server or the model file that it uses."""

    name: str
    backend: BaseModelHandler
    server: WireServer | None
    model_file: Path

    def take_away(self) -> None:
        if self.server:
            self.server.stop()
        else:
            self.model_file.write_bytes(b"no model any more")


def settings(server: WireServer | None, model_file: Path) -> BackendSettings:
    return BackendSettings(
        openai_api_key=KEY,
        openai_base_url=server.openai_base_url if server else None,
        anthropic_api_key=KEY,
        anthropic_base_url=server.anthropic_base_url if server else None,
        gemini_api_key=KEY,
        gemini_base_url=server.gemini_base_url if server else None,
        ollama_base_url=server.ollama_base_url if server else "http://127.0.0.1:9",
        gpt4all_model_path=model_file,
        num_ctx=4096,
    )


def backend_of(name: str, made_of: BackendSettings, model: str | None) -> BaseModelHandler:
    """Create the backend of a wire format; OpenAI has two wire formats."""
    kind = "openai" if name == "responses" else name
    handler = backend_class(kind).from_settings(replace(made_of, openai_api="auto" if kind == name else name), model)
    assert handler is not None
    return handler


@contextmanager
def standing_behind(name: str, chunk_s: float = 0.0) -> Iterator[WireServer | None]:
    if name in HTTP:
        with WireServer(lambda _phase, _messages: TEXT, chunk_s=chunk_s) as server:
            yield server
    else:
        yield None


@asynccontextmanager
async def rig_of(name: str, tmp_path: Path, chunk_s: float = 0.0) -> AsyncIterator[Rig]:
    model_file = write_tiny_gguf(tmp_path / "tiny.gguf", context_length=2048)
    with standing_behind(name, chunk_s) as server:
        model = "tiny-coder" if server else None
        backend = backend_of(name, settings(server, model_file), model)
        try:
            yield Rig(name, backend, server, model_file)
        finally:
            await backend.aclose()


@pytest.fixture(params=MODELS)
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig_of(request.param, tmp_path) as new_rig:
        yield new_rig


@pytest.fixture(params=HTTP)
async def http(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig_of(request.param, tmp_path) as new_rig:
        yield new_rig


def ask(text: str = "Write add.", **more: object) -> ModelRequest:
    turns = (Message(role="system", text="Phase: CODING\nBe brief."), Message(role="user", text=text))
    return ModelRequest(phase=Phase.CODING, messages=turns, **{"max_tokens": 40, **more})  # type: ignore[arg-type]


# Tests of all backends.


async def test_it_is_available_and_knows_its_model(rig: Rig) -> None:
    assert await asyncio.to_thread(rig.backend.is_available)
    assert rig.backend.detail == ""
    assert rig.backend.model == ("tiny-coder" if rig.server else "tiny.gguf")
    assert rig.backend.name == rig.name.replace("responses", "openai")


async def test_it_answers_and_counts(rig: Rig) -> None:
    completion = await rig.backend.generate(ask(temperature=0.7))
    assert completion.text == TEXT if rig.server else len(completion.text) > 10
    assert (completion.backend, completion.model) == (rig.backend.name, rig.backend.model)
    assert completion.tokens_in > 3
    assert completion.tokens_out > 3
    assert completion.latency_s > 0
    assert completion.cost_usd is None
    assert "estimated" not in completion.extra


async def test_it_streams_on_the_loop_of_the_caller(rig: Rig) -> None:
    chunks: list[tuple[str, str]] = []
    completion = await rig.backend.generate(
        ask(), on_text=lambda text: chunks.append((text, threading.current_thread().name))
    )
    await asyncio.sleep(0)
    assert "".join(text for text, _ in chunks) == completion.text
    assert len([text for text, _ in chunks if text]) > 5
    assert {name for _, name in chunks} == {threading.current_thread().name}


async def test_a_reply_that_is_cut_by_length_says_so(rig: Rig) -> None:
    if rig.server:
        rig.server.fail_next("length")
    completion = await rig.backend.generate(ask(max_tokens=7))
    assert completion.finish is Finish.LENGTH
    if not rig.server:
        assert completion.tokens_out == 7


@pytest.mark.parametrize("name", MODELS)
async def test_a_cancelled_reply_stops_at_once_and_the_next_one_works(name: str, tmp_path: Path) -> None:
    async with rig_of(name, tmp_path, chunk_s=0.01) as rig:
        received = asyncio.Event()
        task = asyncio.create_task(
            rig.backend.generate(ask("x" * 500, max_tokens=1500), on_text=lambda text: received.set() if text else None)
        )
        await received.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if rig.server:
            await asyncio.to_thread(rig.server.until, lambda: rig.server and rig.server.requests[-1].gone)
        completion = await rig.backend.generate(ask(max_tokens=5))
        assert completion.tokens_out > 0


async def test_when_it_is_gone_it_says_how_to_get_it_back(rig: Rig) -> None:
    rig.take_away()
    assert not await asyncio.to_thread(rig.backend.is_available)
    mends = {"ollama": "ollama serve", "gpt4all": "GPT4ALL_MODEL_PATH", "llama_cpp": "LLAMA_CPP_MODEL_PATH"}
    wanted = mends.get(rig.name, "does not answer")
    assert wanted in rig.backend.detail
    with pytest.raises(ModelError) as caught:
        await rig.backend.generate(ask())
    assert isinstance(caught.value, ModelUnavailable if rig.server else BackendMisconfigured)


async def test_a_prompt_that_does_not_fit_is_refused_and_not_cut(rig: Rig) -> None:
    if rig.server:
        rig.server.fail_next("400", message="this model's maximum context length is 10 tokens")
    with pytest.raises(ModelRefused, match="context"):
        await rig.backend.generate(ask("word " * 6000))


def test_it_is_made_of_the_settings_or_not_at_all(tmp_path: Path) -> None:
    bare = {name: backend_class(name).from_settings(BackendSettings(), None) for name in backends()}
    assert [name for name, backend in bare.items() if backend] == ["ollama"]
    assert all(backend_class(name).setup for name in backends())


# Tests of the HTTP backends.


@pytest.mark.parametrize("kind", ["503", "drop", "cut", "error_event"])
async def test_what_may_pass_is_unavailable(http: Rig, kind: str) -> None:
    assert http.server
    http.server.fail_next(kind)
    with pytest.raises(ModelUnavailable) as caught:
        await http.backend.generate(ask())
    assert KEY not in str(caught.value)
    assert len(http.server.requests) == 1, "it asked again by itself"
    assert (await http.backend.generate(ask())).text == TEXT


@pytest.mark.parametrize("kind", ["400", "401"])
async def test_what_will_not_pass_is_refused(http: Rig, kind: str) -> None:
    assert http.server
    http.server.fail_next(kind, message=f"no, not with {KEY}")
    with pytest.raises(ModelRefused) as caught:
        await http.backend.generate(ask())
    if http.name != "ollama":  # Ollama has no key that could be echoed
        assert KEY not in str(caught.value)
    assert isinstance(caught.value, BackendMisconfigured if kind == "401" else RequestRefused)
    assert len(http.server.requests) == 1


async def test_the_wait_that_the_server_asks_for_is_told(http: Rig) -> None:
    assert http.server
    http.server.fail_next("429", headers={"Retry-After": "7"})
    with pytest.raises(ModelUnavailable) as caught:
        await http.backend.generate(ask())
    assert caught.value.retry_after_s == 7.0


async def test_a_model_that_nobody_has_is_refused_with_its_name(http: Rig, tmp_path: Path) -> None:
    backend = backend_of(http.name, settings(http.server, tmp_path), "missing-model")
    with pytest.raises(BackendMisconfigured, match="missing-model"):
        await backend.generate(ask())
    await backend.aclose()


async def test_without_a_name_it_picks_a_model_that_can_code(http: Rig, tmp_path: Path) -> None:
    assert http.server
    http.server.models = ["nomic-embed-text", "llama-chat", "some-coder:7b"]
    backend = backend_of(http.name, settings(http.server, tmp_path), None)
    assert await asyncio.to_thread(backend.is_available)
    assert backend.model == "some-coder:7b"


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
async def test_a_wrong_key_shows_before_anything_is_asked(name: str, tmp_path: Path) -> None:
    with WireServer(keys=["sk-the-right-one"]) as server:
        backend = backend_class(name).from_settings(settings(server, tmp_path), None)
        assert backend
        assert not await asyncio.to_thread(backend.is_available)
        assert f"{name.upper()}_API_KEY" in backend.detail
        assert KEY not in backend.detail + repr(backend) + repr(settings(server, tmp_path))


NO = "I think that this prompt is too long for me; no tools."
REFUSALS = {
    "gemini": [{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}],
    "openai": [
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {"role": "assistant", "refusal": NO}, "finish_reason": None}]},
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ],
    "responses": [
        {"type": "response.refusal.delta", "delta": NO, "item_id": "i", "output_index": 0, "content_index": 0,
         "sequence_number": 1},
        {"type": "response.refusal.done", "refusal": NO, "item_id": "i", "output_index": 0, "content_index": 0,
         "sequence_number": 2},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_prompt_that_a_model_refuses_is_a_refused_request_which_teaches_nothing(
    name: str, tmp_path: Path
) -> None:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in REFUSALS[name]).encode()
    written, words = list[str](), "SAFETY" if name == "gemini" else NO
    with WireServer() as server:
        server.fail_always("raw", body=body, content_type="text/event-stream")
        backend = backend_of(name, settings(server, tmp_path), "gemini-3-pro")
        with pytest.raises(RequestRefused, match=words):
            await backend.generate(replace(ask(), thinking=Thinking.LOW), on_text=written.append)
        assert (len(server.requests), backend.facts.learnt) == (1, {})
        assert words in written, "it was paid for"
        await backend.aclose()
