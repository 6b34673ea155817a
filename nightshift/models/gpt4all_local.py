"""GPT4All: a model file on this machine, run in a separate thread of this process.

The native library is called one level below `GPT4All.generate`. Only at that level can a reply be stopped while the
prompt is still being read, tokens be counted exactly, and the chat template's control tokens be understood.
"""

from __future__ import annotations

import asyncio
import codecs
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from nightshift.core.dialogue import Completion, Finish, ModelRequest
from nightshift.core.errors import ModelRefused, ModelUnavailable
from nightshift.models.base import BackendSettings, BaseModelHandler, OnText
from nightshift.models.errors import too_long
from nightshift.models.llama_cpp import LlamaCppBackend
from nightshift.models.model_files import GGUFHeader, ModelFileBackend, write_chat

BATCH = 128
"""Number of prompt tokens that are read between two checks whether to stop."""
TEMPERATURE = 0.2
LLAMA_CPP_MAY = (
    "llama_cpp can run newer models: Nightshift tries this file with llama_cpp next if MODEL_TYPE is auto or gpt4all, "
    "and only with llama_cpp if MODEL_TYPE is llama_cpp; or set GPT4ALL_MODEL_PATH to a model file that GPT4All can run"
)
ERROR_TOKEN = -1
"""Token id with which the library reports its own errors."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A model in memory."""

    header: GGUFHeader
    num_ctx: int
    engine: Any


class _Call:
    """Receives the tokens of one run of the engine, counts them, and tells the engine when to stop."""

    def __init__(self, model: _Model, most: int, on_text: OnText, is_stopped: Callable[[], bool]) -> None:
        self._model, self._most, self._on_text, self._is_stopped = model, most, on_text, is_stopped
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.text, self.fault = "", ""
        self.tokens_in = self.tokens_out = 0
        self.is_full = False

    def take_prompt_token(self, _token: int) -> bool:
        """Count a token of the prompt; return whether to continue."""
        # Tokens after the reply do not count: the engine reads the end of the chat template through the same callback.
        self.tokens_in += self.tokens_out == 0
        return not self._is_stopped()

    def take_token(self, token: int, raw: bytes) -> bool:
        """Receive a token of the reply and return whether to continue. A token may be only part of a character."""
        if token == ERROR_TOKEN:
            self.fault = raw.decode(errors="replace")
            return False
        # Tokens after the end are dropped: the engine may still deliver a few tokens that it held back.
        if self.is_full or self._is_stopped() or token in self._model.header.control:
            return False
        self.tokens_out += 1
        # The reply must end with the context: otherwise the engine would continue, and forget the beginning of the
        # prompt.
        at_end = self.tokens_in + self.tokens_out >= self._model.num_ctx - 1
        self.is_full = at_end or self.tokens_out >= self._most
        text = self._decode(raw)
        self.text += text
        self._on_text(text)
        return not self.is_full


class GPT4AllBackend(ModelFileBackend):
    """A backend for one GPT4All model file. The model is loaded at the first request and stays in memory."""

    name = "gpt4all"
    setup = "set GPT4ALL_MODEL_PATH to a model file (.gguf)"
    vendor = "GPT4All"
    package = "gpt4all"
    variables = ("GPT4ALL_MODEL_PATH",)

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gpt4all")
        self._loaded: _Model | None = None
        self._closing = threading.Event()

    def stand_in(self, settings: BackendSettings) -> BaseModelHandler:
        """Return llama.cpp with the same file, as the fallback after GPT4All has refused to load the file."""
        return LlamaCppBackend(
            path=self._path,
            num_ctx=settings.num_ctx,
            ensure_extra=settings.ensure_extra,
            needed=lambda: self._loading in self.facts.lacks,
        )

    @property
    def _loading(self) -> str:
        """The name of loading this file, as a feature of the engine.

        The feature is recorded as missing if the engine cannot load the file, as with newer models.
        """
        return f"loading {self._path.name}"

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """See `BaseModelHandler.generate`. After cancellation, the thread stops at the next token or prompt batch."""
        loop, stop = asyncio.get_running_loop(), threading.Event()

        def forward(text: str) -> None:
            if on_text and not stop.is_set():
                loop.call_soon_threadsafe(on_text, text)

        try:
            return await loop.run_in_executor(self._pool, self._run, request, forward, stop)
        finally:
            stop.set()

    async def aclose(self) -> None:
        """Stop the current generation and free the model's memory."""
        self._closing.set()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._unload)
        self._pool.shutdown(wait=True)

    # Methods that run in the backend's own thread.

    def _run(self, request: ModelRequest, on_text: OnText, stop: threading.Event) -> Completion:
        def is_stopped() -> bool:
            return stop.is_set() or self._closing.is_set()

        if is_stopped():
            raise ModelUnavailable("the request was cancelled before it began")
        began, model = time.monotonic(), self._load()
        call = _Call(model, request.max_tokens or model.num_ctx, on_text, is_stopped)
        self._prompt(model, request, call)
        if call.fault:
            raise too_long(self.model, model.num_ctx) if "context window" in call.fault else ModelRefused(call.fault)
        if is_stopped():
            raise ModelUnavailable("GPT4All was stopped")
        return Completion(
            text=call.text,
            backend=self.name,
            model=self.model,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            latency_s=time.monotonic() - began,
            finish=Finish.LENGTH if call.is_full else Finish.STOP,
        )

    def _load(self) -> _Model:
        if self._loaded is None:
            self._require_package()
            header, num_ctx = self._read_file()
            try:
                self._loaded = _Model(header, num_ctx, self._start_engine(num_ctx))
            except (OSError, ValueError) as error:
                raise self._unloadable(error) from error
            except RuntimeError as error:
                self.facts.note(f"no {self._loading}")
                raise self._unloadable(error, LLAMA_CPP_MAY) from error
            self.facts.learnt.pop(f"no {self._loading}", None)
        return self._loaded

    def _start_engine(self, num_ctx: int) -> Any:
        from gpt4all import GPT4All  # type: ignore[import-untyped]  # noqa: PLC0415 - no types; loads native libraries

        model = GPT4All(self._path.name, n_ctx=num_ctx, model_path=self._path.parent, allow_download=False)
        try:
            model.model.thread_count()
        except Exception as error:  # the package raises a bare Exception
            model.close()
            raise RuntimeError("the engine does not know this kind of model, or the file is damaged") from error
        return model

    def _prompt(self, model: _Model, request: ModelRequest, call: _Call) -> None:
        engine, header = model.engine.model, model.header
        engine._prompt_callback = call.take_prompt_token  # noqa: SLF001 - the only way to stop while the prompt is read
        engine._callback_decoder = lambda _callback: call.take_token  # noqa: SLF001 - the only hook for every token
        engine.prompt_model(
            write_chat(request.messages, header.chat_template, header.control),
            "%1",
            None,
            n_predict=request.max_tokens or model.num_ctx,
            temp=TEMPERATURE if request.temperature is None else request.temperature,
            top_p=0.95,
            repeat_penalty=1.05,
            n_batch=BATCH,
            reset_context=True,
            special=True,
        )

    def _unload(self) -> None:
        if self._loaded is not None:
            self._loaded.engine.close()
            self._loaded = None
