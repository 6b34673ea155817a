r"""A small real HTTP server that speaks the wire formats of OpenAI (both), Anthropic, Gemini and Ollama.

It replaces a language model wherever the program is tested end to end over real HTTP:

    def reply(phase: str, messages: list[dict[str, Any]]) -> str | Reply:
        return "```python path=add.py\ndef add(a, b):\n    return a + b\n```" if phase == "CODING" else "1. Write it."

    with WireServer(reply) as server:
        settings = {"OPENAI_BASE_URL": server.openai_base_url, "MODEL_NAME": server.model}
        server.fail_next("429", 2, retry_after=0.01)      # the next two chat requests
        server.fail_next("cut", phase="TESTING")          # the next one of that phase
        …
        assert [request.phase for request in server.requests] == ["PLANNING", "CODING", …]

**Replies.** `reply(phase, messages)` is called in the server's own thread, one call at a time, so it needs no locks.
Whatever the wire format, `messages` are always `{"role", "content"}` with the system prompt first, and `phase` is the
word after `Phase:` in the system prompt's first line (or ""). A `str` ends normally; return a `Reply` to set the finish
reason, leave out the token counts, or send tool calls. An exception in `reply` is answered with 500 and raised again
when the `with` block ends. Tokens are counted as words. Streams are cut into chunks of `chunk_words`.

**Tools.** `Reply(text=…, finish="tool", tools=[("read_file", {"path": "a.py"})])` calls tools, also several in one
reply. Arguments may be a text, even broken JSON (see `Reply`). Whatever the wire format, `messages` contain tool
calls and tool results in one form, in the order in which the model reads them:

    {"role": "assistant", "content": "Let me look.", "calls": [{"id": "call_0", "name": …, "arguments": {…}}]}
    {"role": "tool", "content": "the result", "call_id": "call_0"}        # over Ollama the name of the tool

Only messages with calls have `calls`, and only results have `call_id`. Ollama's calls have the id "". The offered tools
are in `recorded.tools`: `{"name", "description", "parameters"}`, where `parameters` is a JSON schema. If calls are
written as text, there are no tools and none of these messages. While `no_tools` is set, a request that offers tools is
refused with that text and the status `no_tools_status`.

**Faults** affect chat requests only. Each request uses up the first announced fault that fits its phase and API:

| kind | what the client sees |
|---|---|
| a status, like `429` or `503` | that error; options `retry_after`, `headers`, `message`, `code` |
| `drop` | the connection closes without a byte |
| `hang` | nothing, until the client disconnects |
| `slow` | silence for `seconds`, then the proper answer |
| `stall` | half of the answer, then silence until the client disconnects |
| `hold` | half of the answer, and the rest after `server.let_go()` |
| `cut` | half of the answer, then the connection is reset |
| `quiet` | half of the answer, then a clean end without the final event |
| `error_event` | half of the answer, then the API's own error event |
| `drip` | a word every `seconds`, for ever |
| `flood` | one line without an end, as fast as possible |
| `broken` | 200 with an HTML page instead of the wire format |
| `raw` | 200 with `body` (bytes) as `content_type` |
| `garbage` | a valid answer whose text is nonsense without code |
| `empty` | a valid answer whose text is empty |
| `length` | the first half of the text, finish reason “length” |

**Inspection.** `server.requests` holds every chat request (`Recorded`), `server.probes` every other request (list of
models and so on). `recorded.gone` becomes true when the client disconnects early; `server.until(condition)` waits for
it.

**Other behaviour.** `stop()` and `start()` take the server away and bring it back on the same port. While `portal` is
set, every page is that text, as behind a login page. `fail_next(…, about="job_7")` fails requests that mention it. With
`keys={…}` a request without one of these keys gets 401; a model that is not in `models` gets 404. `/v1/embeddings`
returns hashed words, or the vectors that `embed` makes of the texts. `listed` is added to each row of the
list of models, `props` are the properties that llama.cpp's server reports, and `capabilities` are a model's
capabilities as Ollama reports them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.support.wire_dialects import DIALECTS, Answer, Dialect, Reply

__all__ = ["Recorded", "Reply", "WireServer"]

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
Script = Callable[[str, list[dict[str, Any]]], "str | Reply"]
NONSENSE = "lorem banana vector, therefore; cheese? ### :: && maybe the quantum of not hence"


@dataclass(slots=True, kw_only=True)
class Recorded:
    """One recorded chat request.

    `fault` is the fault that the request got. `reply` is the reply that it got, or would have got without the fault.
    """

    api: str
    phase: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    body: dict[str, Any]
    headers: dict[str, str]
    at_s: float = field(default_factory=time.monotonic)
    began_at: float = field(default_factory=time.time)
    fault: str | None = None
    reply: str | None = None
    gone: bool = False


@dataclass(slots=True, kw_only=True)
class Fault:
    kind: str
    left: float
    phase: str | None
    api: str | None
    options: Mapping[str, Any]
    about: str

    def fits(self, request: Recorded) -> bool:
        of_that = self.phase in (None, request.phase) and self.api in (None, request.api)
        return self.left > 0 and of_that and self.about in "".join(turn["content"] for turn in request.messages)


def _default_reply(phase: str, messages: list[dict[str, Any]]) -> str:
    return f"{phase or 'plain'} reply to: {messages[-1]['content'] if messages else ''}"


class WireServer:
    """The scripted server; see the module's docstring. Use it as a context manager."""

    def __init__(
        self,
        reply: Script = _default_reply,
        *,
        models: Sequence[str] = ("tiny-coder",),
        keys: Sequence[str] = (),
        context_length: int = 8192,
        chunk_words: int = 4,
        latency_s: float = 0.0,
        chunk_s: float = 0.0,
        embed: Embed | None = None,
    ) -> None:
        self.embed = embed or _hash_words
        self.reply, self.models, self.keys = reply, list(models), set(keys)
        self.context_length, self.chunk_words, self.latency_s, self.chunk_s = (
            context_length, chunk_words, latency_s, chunk_s
        )  # fmt: skip
        self.requests: list[Recorded] = []
        self.probes: list[str] = []
        self.errors: list[Exception] = []
        self.port = 0
        self.portal = ""
        self.let_go: Callable[[], object] = lambda: None
        self.no_tools, self.no_tools_status = "", 400
        self.listed: dict[str, Any] = {}
        self.capabilities = ["completion"]
        self.props: dict[str, Any] = {}
        self._faults: list[Fault] = []
        self._thread: threading.Thread | None = None
        self._halt: Callable[[], object] = lambda: None

    # Interface for tests.

    @property
    def model(self) -> str:
        """The name of the first model that the server offers."""
        return self.models[0]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    ollama_base_url = anthropic_base_url = gemini_base_url = base_url

    @property
    def openai_base_url(self) -> str:
        return f"{self.base_url}/v1"

    def fail_next(
        self,
        kind: str,
        n: float = 1,
        *,
        phase: str | None = None,
        api: str | None = None,
        about: str = "",
        **options: Any,
    ) -> None:
        """Let the next `n` chat requests fail in this way.

        If given, `phase`, `api` and `about` (a text in the request) limit which requests fail.
        """
        self._faults.append(Fault(kind=kind, left=n, phase=phase, api=api, options=options, about=about))

    def fail_always(self, kind: str, **options: Any) -> None:
        """Let all chat requests fail in this way until `heal`."""
        self.fail_next(kind, float("inf"), **options)

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def until(self, condition: Callable[[], object], timeout_s: float = 60.0) -> None:
        """Wait until the condition holds; it is checked every few milliseconds."""
        end = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end, f"this did not come true within {timeout_s} s"
            time.sleep(0.003)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if self.errors and kind is None:
            raise AssertionError("the script of the server failed") from self.errors[0]

    def start(self) -> None:
        """Listen; after a `stop`, on the same port as before."""
        ready: list[Exception | None] = []
        listening = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready, listening)), name="wire-server")
        self._thread.start()
        listening.wait(10)
        assert ready == [None], ready

    def stop(self) -> None:
        """Close all connections and stop listening."""
        if self._thread:
            self._halt()
            self._thread.join(10)
            self._thread = None

    # The methods below run in the server's thread.

    async def _serve(self, ready: list[Exception | None], listening: threading.Event) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._route)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.05)
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        self._halt, self._let_go = lambda: loop.call_soon_threadsafe(stop.set), asyncio.Event()
        self.let_go = lambda: loop.call_soon_threadsafe(self._let_go.set)
        try:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True)
            await site.start()
            self.port = runner.addresses[0][1]
            ready.append(None)
        except OSError as error:
            ready.append(error)
            stop.set()
        listening.set()
        await stop.wait()
        for connection in runner.server.connections if runner.server else ():
            if connection.transport:
                connection.transport.abort()  # a reply that nobody reads would keep its socket open after the loop
        await runner.cleanup()
        await asyncio.sleep(0)

    async def _route(self, request: web.Request) -> web.StreamResponse:
        chats = {
            "/v1/chat/completions": "openai", "/v1/responses": "responses", "/v1/messages": "anthropic",
            "/api/chat": "ollama",
        }  # fmt: skip
        gemini = re.fullmatch(r"/v1beta/models/([^/:]+):(stream)?[gG]enerateContent", request.path)
        api = "gemini" if gemini else chats.get(request.path)
        body = await request.json() if request.can_read_body else {}
        body |= {"model": gemini[1], "stream": bool(gemini[2])} if gemini else {}
        if self.portal:
            self.probes.append(f"{request.method} {request.path}")
            return web.Response(text=self.portal, content_type="text/html")
        if self.keys and not self.keys & _keys_of(request):
            return _refuse(request.path, 401, "this is not a valid API key", "invalid_api_key")
        if api is None:
            self.probes.append(request.path)
            return self._probe(request, body)
        return await self._chat(request, api, body)

    def _probe(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        if request.path == "/v1/models":
            offered: list[dict[str, Any]] = [
                {"id": m, "object": "model", "type": "model", "display_name": m, "created": 1, "owned_by": "test",
                 "created_at": "2026-01-01T00:00:00Z", **self.listed} for m in self.models
            ]  # fmt: skip
            more = {"has_more": False, "first_id": None, "last_id": None}
            return web.json_response({"object": "list", "data": offered, **more})
        if request.path == "/v1beta/models":
            rows = [{"name": f"models/{m}", "inputTokenLimit": self.context_length} for m in self.models]
            return web.json_response({"models": rows})
        if request.path == "/props" and self.props:
            return web.json_response(self.props)
        if request.path == "/api/version":
            return web.json_response({"version": "0.99.0"})
        if request.path == "/api/tags":
            return web.json_response(
                {"models": [{"name": m, "model": m, "size": 1, "digest": "0", **self.listed} for m in self.models]}
            )
        if request.path == "/api/show":
            return self._show(str(body.get("model") or body.get("name")))
        if request.path == "/v1/embeddings":
            return _embeddings(body, self.embed)
        return _refuse(request.path, 404, "there is no such page", "not_found")

    def _show(self, model: str) -> web.Response:
        if model not in self.models:
            return _refuse("/api/show", 404, f"model '{model}' not found", "not_found")
        info = {"general.architecture": "tiny", "tiny.context_length": self.context_length}
        return web.json_response({"details": {"family": "tiny"}, "model_info": info, "capabilities": self.capabilities})

    async def _chat(self, request: web.Request, api: str, body: dict[str, Any]) -> web.StreamResponse:
        dialect = DIALECTS[api]
        turns = dialect.turns(body)
        tools, head = dialect.tools(body), dict(request.headers)
        record = Recorded(api=api, phase=_phase(turns), messages=turns, tools=tools, body=body, headers=head)
        fault = next((f for f in self._faults if f.fits(record)), None)
        if fault:
            fault.left -= 1
            record.fault = fault.kind
        self.requests.append(record)
        try:
            return await self._respond(request, dialect, record, fault)
        except (asyncio.CancelledError, ConnectionError):
            record.gone = True
            raise

    async def _respond(
        self, request: web.Request, dialect: Dialect, record: Recorded, fault: Fault | None
    ) -> web.StreamResponse:
        kind, options = (fault.kind, fault.options) if fault else ("", {})
        await asyncio.sleep(self.latency_s + (options.get("seconds", 0.2) if kind == "slow" else 0))
        if kind.isdigit():
            return _status(dialect, int(kind), options)
        if kind == "hang":
            await asyncio.Event().wait()
        if kind == "drop":
            return await _reset(request)
        if kind == "broken":
            return web.Response(text="<html><body>Bad gateway, sorry.</body></html>", content_type="text/html")
        if kind == "raw":
            raw = web.Response(body=options["body"], content_type=options.get("content_type", "application/json"))
            raw.force_close()
            return raw
        if kind == "flood":
            return await _flood(request, dialect)
        if record.body.get("model") not in self.models:
            return _status(dialect, 404, {"message": f"model '{record.body.get('model')}' not found"})
        if record.tools and self.no_tools:
            return _status(dialect, self.no_tools_status, {"message": self.no_tools})
        try:
            answer = self._answer(record, kind)
        except Exception as error:  # noqa: BLE001 - the test's own script; raised again at the end of the test
            self.errors.append(error)
            return _status(dialect, 500, {"message": repr(error)})
        return await self._send(request, dialect, record, answer, kind, options.get("seconds", 0.1))

    def _answer(self, record: Recorded, kind: str) -> Answer:
        given = self.reply(record.phase, record.messages)
        reply = given if isinstance(given, Reply) else Reply(text=given)
        if kind in ("garbage", "empty", "length"):
            half = reply.text[: max(1, len(reply.text) // 2)]
            text = {"garbage": NONSENSE, "empty": "", "length": half}[kind]
            reply = Reply(text=text, finish="length" if kind == "length" else "stop", usage=reply.usage)
        record.reply = reply.text
        words = sum(len(turn["content"].split()) for turn in record.messages)
        return Answer(model=str(record.body["model"]), reply=reply, tokens_in=words)

    async def _send(
        self, request: web.Request, dialect: Dialect, record: Recorded, answer: Answer, kind: str, drip_s: float
    ) -> web.StreamResponse:
        broken_off = kind in ("stall", "hold", "cut", "quiet", "error_event", "drip")
        if not record.body.get("stream", record.api == "ollama"):
            return await _reset(request) if broken_off else web.json_response(dialect.full_response(answer))
        response = web.StreamResponse(headers={"Content-Type": dialect.content_type})
        response.enable_chunked_encoding()
        await response.prepare(request)
        events = dialect.events(answer, record.body, self.chunk_words)
        body_end = len(events) - dialect.closing
        for event in events[: max(1, body_end // 2)] if broken_off else events:
            await response.write(event)
            if self.chunk_s:
                await asyncio.sleep(self.chunk_s)
        while kind == "drip":
            await response.write(events[1])
            await asyncio.sleep(drip_s)
        if kind == "cut":
            return await _reset(request, response)
        await self._end(response, dialect, events[max(1, body_end // 2) :], kind)
        return response

    async def _end(self, response: web.StreamResponse, dialect: Dialect, rest: Sequence[bytes], kind: str) -> None:
        """End a response that was sent halfway, in the way that the fault's kind requires."""
        if kind == "hold":
            await self._let_go.wait()
            for event in rest:
                await response.write(event)
        if kind == "stall":
            await asyncio.Event().wait()
        if kind == "error_event":
            await response.write(dialect.error_event("the server is overloaded"))
        await response.write_eof()


def _phase(turns: Sequence[Mapping[str, str]]) -> str:
    head = next((turn["content"] for turn in turns if turn["role"] in ("system", "developer")), "")
    match = re.match(r"\s*Phase:\s*([A-Z_]+)", head)
    return match.group(1) if match else ""


def _keys_of(request: web.Request) -> set[str]:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    named = {request.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key")}
    return {bearer, *named} - {""}


def _status(dialect: Dialect, status: int, options: Mapping[str, Any]) -> web.Response:
    headers = dict(options.get("headers") or {})
    if "retry_after" in options:
        headers["Retry-After"] = str(options["retry_after"])
    message = options.get("message", f"injected error {status}")
    body = dialect.error(status, message, options.get("code", f"error_{status}"))
    return web.json_response(body, status=status, headers=headers)


def _refuse(path: str, status: int, message: str, code: str) -> web.Response:
    api = "ollama" if path.startswith("/api") else "anthropic" if path.startswith("/v1/messages") else "openai"
    return _status(DIALECTS[api], status, {"message": message, "code": code})


async def _flood(request: web.Request, dialect: Dialect) -> web.StreamResponse:
    """Send one endless line until the client disconnects."""
    response = web.StreamResponse(headers={"Content-Type": dialect.content_type})
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65536)


async def _reset(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """Reset the connection. The client still gets the data written so far."""
    await asyncio.sleep(0)
    if request.transport:
        request.transport.abort() if response is None else request.transport.close()
    return response or web.Response()


def _embeddings(body: Mapping[str, Any], embed: Embed) -> web.Response:
    given = body.get("input") or ""
    vectors = embed([given] if isinstance(given, str) else given)
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return web.json_response({"object": "list", "data": data, "model": body.get("model"), "usage": usage})


def _hash_words(texts: Sequence[str]) -> list[list[float]]:
    return [_hash(text, 64) for text in texts]


def _hash(text: str, dims: int) -> list[float]:
    vector = [0.0] * dims
    for word in re.findall(r"\w+", text.lower()) or [json.dumps(text)]:
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % dims] += 1.0
    norm = sum(x * x for x in vector) ** 0.5
    return [x / norm for x in vector]
