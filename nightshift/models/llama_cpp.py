"""llama.cpp: a model file on this machine, run in a separate process that starts when needed and ends when idle.

A crash of native code ends only that process, and the model's memory is freed when the process ends. The process
(`llama_cpp_process.py`) serves OpenAI's API on the loopback address and requires a key created for it, so the ordinary
client for OpenAI's API is used. The server stops generating when the connection of a request is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.errors import ModelUnavailable
from nightshift.models.base import OnText
from nightshift.models.errors import quote
from nightshift.models.model_files import ModelFileBackend, defuse
from nightshift.models.openai_api import OpenAIBackend

PROGRAM = Path(__file__).with_name("llama_cpp_process.py")
IDLE_S = 600.0
"""Seconds without a request after which the process ends and frees its memory."""
NOTICE_S = 2.0
"""Seconds to wait, after a connection broke, until it is known whether the process has ended."""
KEPT_BYTES = 16_384
_STAMP = re.compile(r"^[\d.]+ [EWI] +", re.MULTILINE)


class LlamaCppBackend(ModelFileBackend):
    """A backend for one model file, run in a process that starts with the first request.

    Args:
        needed: returns True if this backend may be asked; None means always.
        idle_s: seconds without a request after which the process ends.
        more: see `ModelFileBackend`.
    """

    name = "llama_cpp"
    setup = "set LLAMA_CPP_MODEL_PATH to a model file (.gguf)"
    vendor = "llama.cpp"
    package = "xllamacpp"
    variables = ("LLAMA_CPP_MODEL_PATH", "GPT4ALL_MODEL_PATH")

    def __init__(self, *, needed: Callable[[], bool] | None = None, idle_s: float = IDLE_S, **more: Any) -> None:
        super().__init__(**more)
        self._needed, self._idle_s = needed, idle_s
        self._control: Mapping[int, str] = {}
        self._server: _Server | None = None
        self._starting = asyncio.Lock()
        self._requests = 0
        self._idle: asyncio.Task[None] | None = None
        self._closing = False

    def is_available(self) -> bool:
        """See `ModelFileBackend.is_available`. Returns False as well if this backend is not needed."""
        if self._needed and not self._needed():
            self.detail = "Nightshift uses llama.cpp only if GPT4All cannot load this file"
            return False
        return super().is_available()

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """See `BaseModelHandler.generate`. When cancelled, the engine stops after the current token."""
        began = time.monotonic()
        self._requests += 1
        try:
            server = await self._ensure_server()
            completion = await self._ask(server, self._defuse(request), on_text)
        finally:
            self._requests -= 1
            self._rest()
        return replace(completion, model=self.model, latency_s=time.monotonic() - began)

    async def aclose(self) -> None:
        """Stop the current generation and end the process."""
        self._closing = True
        if self._server:
            self._server.kill()
        self._rest()
        async with self._starting:
            await self._end()

    async def _ensure_server(self) -> _Server:
        """Return the process with the model loaded, after starting it if necessary.

        Raises:
            ModelUnavailable: the process ended while loading, or this backend is closed.
            BackendMisconfigured: the package is missing, or the file cannot be loaded.
        """
        async with self._starting:
            if self._closing:
                raise ModelUnavailable("llama.cpp was stopped")
            if self._server is None or not self._server.is_alive:
                await self._end()
                await asyncio.to_thread(self._require_package)
                header, num_ctx = await asyncio.to_thread(self._read_file)
                self._control = header.control
                self._server = await _Server.start()
                try:
                    if fault := await self._server.load(self._path, num_ctx):
                        raise self._unloadable(fault)
                except BaseException:
                    await self._end()
                    raise
            return self._server

    async def _ask(self, server: _Server, request: ModelRequest, on_text: OnText | None) -> Completion:
        assert server.api, "the model is loaded first"
        try:
            return await server.api.generate(request, on_text=on_text)
        except ModelUnavailable as error:
            if self._closing:
                raise ModelUnavailable("llama.cpp was stopped") from error
            if ending := await server.ending():
                raise ModelUnavailable(f"{ending}; the next request starts it again") from error
            raise

    def _defuse(self, request: ModelRequest) -> ModelRequest:
        """Break up control tokens in the request, so that text from a repository cannot begin or end a message."""
        safe = tuple(replace(message, text=defuse(message.text, self._control)) for message in request.messages)
        return replace(request, messages=safe)

    def _rest(self) -> None:
        """Restart the timer that ends an idle process; after `aclose`, no timer is started."""
        if self._idle:
            self._idle.cancel()
        self._idle = None if self._closing else asyncio.create_task(self._end_when_idle())

    async def _end_when_idle(self) -> None:
        await asyncio.sleep(self._idle_s)
        self._idle = None  # from here on, `_rest` must not cancel this task
        async with self._starting:
            if not self._requests:
                await self._end()

    async def _end(self) -> None:
        server, self._server = self._server, None
        if server:
            await server.close()


class _Api(OpenAIBackend):
    """The client for the API of the llama.cpp process."""

    name = "llama_cpp"
    vendor = "llama.cpp"


class _Server:
    """The running llama.cpp process, and the client for its API once the model is loaded."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._stderr = b""
        self._listening = asyncio.create_task(self._listen())
        self.api: _Api | None = None

    @classmethod
    async def start(cls) -> Self:
        """Start the program, without a model yet."""
        start, argv = asyncio.create_subprocess_exec, (sys.executable, "-I", str(PROGRAM))
        return cls(await start(*argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True))

    @property
    def is_alive(self) -> bool:
        """True if the process is not known to have ended."""
        return self._process.returncode is None

    async def load(self, path: Path, num_ctx: int) -> str:
        """Load the model. Return the reason if loading fails, otherwise an empty string.

        Raises:
            ModelUnavailable: the process ended.
        """
        stdin, stdout, key = self._process.stdin, self._process.stdout, secrets.token_urlsafe()
        assert stdin
        assert stdout
        stdin.write(json.dumps({"path": str(path), "num_ctx": num_ctx, "key": key}).encode() + b"\n")
        answer = await stdout.readline()
        if not answer:
            raise ModelUnavailable(await self.ending() or "llama.cpp's process does not answer")
        read = json.loads(answer)
        if fault := read.get("error", ""):
            self.kill()
            await self._listening
            return (self._lines() or [quote(fault)])[0]
        self.api = _Api(model=path.name, api_key=key, base_url=f"{read['address']}/v1")
        return ""

    async def ending(self) -> str:
        """Return how the process ended, with its last line of output; empty if it is still running."""
        try:
            async with asyncio.timeout(NOTICE_S):
                code = await self._process.wait()
        except TimeoutError:
            return ""
        await self._listening
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return ": ".join([f"llama.cpp's process {how}", *self._lines()[-1:]])

    def kill(self) -> None:
        """Kill the process; it has nothing to save."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """Kill the process and release all its resources."""
        self.kill()
        if self.api:
            await self.api.aclose()
        await self._process.wait()
        await self._listening

    async def _listen(self) -> None:
        """Read standard error, keeping only its end."""
        stderr = self._process.stderr
        assert stderr
        while part := await stderr.read(KEPT_BYTES):
            self._stderr = (self._stderr + part)[-KEPT_BYTES:]

    def _lines(self) -> list[str]:
        """Return the lines of standard error, without timestamps."""
        text = _STAMP.sub("", self._stderr.decode("utf-8", "replace"))
        return [quote(line) for line in text.splitlines() if line.strip()]
