"""The special features of GPT4All: it runs in this process, so nothing may crash or outlive it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from nightshift.core.dialogue import Finish, Message, ModelRequest
from nightshift.core.errors import ModelRefused, ModelUnavailable
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BackendSettings
from nightshift.models.errors import BackendMisconfigured
from nightshift.models.gpt4all_local import GPT4AllBackend
from tests.support.tiny_gguf import write_tiny_gguf


def request(text: str = "Hello", **more: object) -> ModelRequest:
    return ModelRequest(phase=Phase.CODING, messages=(Message(role="user", text=text),), **more)  # type: ignore[arg-type]


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("gpt4all")]


async def test_a_reply_ends_where_the_context_does(tmp_path: Path) -> None:
    backend = GPT4AllBackend(path=write_tiny_gguf(tmp_path / "m.gguf", context_length=128), num_ctx=4096)
    completion = await backend.generate(request("x" * 40))
    assert completion.tokens_in + completion.tokens_out <= 128
    assert completion.finish is Finish.LENGTH
    with pytest.raises(ModelRefused, match="context of 128 tokens"):
        await backend.generate(request("x" * 400))
    assert (await backend.generate(request(max_tokens=3))).tokens_out == 3, "it works on after a refusal"
    await backend.aclose()


async def test_a_truncated_file_is_refused_and_not_run(tmp_path: Path) -> None:
    content = write_tiny_gguf(tmp_path / "m.gguf").read_bytes()
    cut = tmp_path / "cut.gguf"
    for size in (len(content) // 2, 2000, 30):
        cut.write_bytes(content[:size])
        backend = GPT4AllBackend(path=cut)
        assert backend.is_available(), "its beginning looks well"
        with pytest.raises(BackendMisconfigured, match="GPT4ALL_MODEL_PATH"):
            await backend.generate(request())
        await backend.aclose()


async def test_closing_stops_a_reply_and_ends_the_thread(tmp_path: Path) -> None:
    backend = GPT4AllBackend(path=write_tiny_gguf(tmp_path / "m.gguf", context_length=2048))
    received = asyncio.Event()
    task = asyncio.create_task(backend.generate(request(max_tokens=1900), on_text=lambda _text: received.set()))
    await received.wait()
    assert threads()
    await backend.aclose()
    with pytest.raises(ModelUnavailable, match="stopped"):
        await task
    assert not threads()


async def test_a_file_that_the_engine_refused_stays_with_its_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_gguf(tmp_path / "m.gguf")

    def refuse(_self: GPT4AllBackend, _num_ctx: int) -> None:
        raise RuntimeError("unknown model architecture")

    monkeypatch.setattr(GPT4AllBackend, "_start_engine", refuse)  # as for a model that is newer than the engine
    settings = BackendSettings(gpt4all_model_path=path)
    backend, anew = GPT4AllBackend(path=path), GPT4AllBackend(path=path)
    other = backend.stand_in(settings)
    other.is_available()
    assert "only if GPT4All cannot" in other.detail
    with pytest.raises(BackendMisconfigured):
        await backend.generate(request())
    anew.facts.read(str(backend.facts))
    for each in (other, anew.stand_in(settings)):
        each.is_available()
        assert "only if GPT4All cannot" not in each.detail
    await backend.aclose()
    await anew.aclose()
