"""Ollama, through its own chat API.

Each model gets one context size for good: Ollama's default silently drops most of a coding prompt, and a size that
changes between calls makes it load the model anew each time. Tools are offered in the text form, unless that goes
badly: Ollama's own parsers of calls fail with many models, often for a whole reply.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest, Thinking, Thought
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.core.tools import ToolCall
from nightshift.models.base import BackendSettings, BaseModelHandler, CallName, CallText, OnText, ThoughtText
from nightshift.models.choosing import PULL, SUGGESTED, choose
from nightshift.models.conversation import ENDS, clean_name
from nightshift.models.errors import BackendMisconfigured, ToolsRefused, from_status, quote, too_long, words_of
from nightshift.models.http_access import WHOLE_S, Probe, fetch_json, is_loopback, load_authorities
from nightshift.models.model_sizes import read_parameters
from nightshift.models.server_facts import blames_context
from nightshift.models.stream_watch import UNCOMPRESSED, bounded, watch_stream
from nightshift.models.token_estimates import estimate_reply, estimate_request
from nightshift.models.tool_wire import functions, paired, written_arguments

KEEP_ALIVE = "30m"
_IDS = re.compile(r".+")
_NO_TOOLS = re.compile(r"support tools|tool call", re.IGNORECASE)
"""What it says of a model that takes no tools, and of a call that its parser cannot read."""


@dataclass(slots=True)
class _Received:
    """What a stream has brought so far; `last` is its final part."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)
    last: Any = None


class OllamaBackend(BaseModelHandler):
    """Ollama's chat, streamed."""

    name = "ollama"
    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.TEXT, ToolProtocol.NATIVE)
    setup = f"install Ollama from https://ollama.com and run {PULL}"

    def __init__(
        self,
        *,
        model: str | None,
        base_url: str,
        num_ctx: int = 32768,
        connect_s: float = 5.0,
        parallel: int | None = None,
    ) -> None:
        super().__init__(model=model)
        self.parallel = parallel
        self._named = bool(model)
        address = base_url.strip().rstrip("/")
        self._base_url = address if "://" in address else f"http://{address}"
        self._num_ctx, self._connect_s = num_ctx, connect_s
        self._pinned: dict[str, int] = {}
        self._thinks: dict[str, bool] = {}
        self._client: Any = None
        self._loading = asyncio.Lock()

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Always a candidate: whether it runs is seen by looking."""
        return cls(
            model=model, base_url=settings.ollama_base_url, num_ctx=settings.num_ctx, connect_s=settings.connect_s
        )

    @property
    def free(self) -> bool:
        """Models of this machine cost nothing; those that Ollama forwards to its cloud are named so."""
        return not self.model.endswith(("-cloud", ":cloud"))

    def is_available(self) -> bool:
        """Whether the server answers and has the model; the strongest one is taken where none was named."""
        probe = fetch_json(f"{self._base_url}/api/tags", {})
        rows = sorted(probe.rows("models"), key=_size, reverse=True)
        names = [str(row.get("name") or row.get("model")) for row in rows]
        if not self._named and self._model not in names:
            self._model = choose(names)
        sizes = zip(names, map(read_parameters, rows), strict=True)
        listed = {name: billions for name, billions in sizes if billions}
        self._listed_b = {**{name.removesuffix(":latest"): billions for name, billions in listed.items()}, **listed}
        self._detail, self._offered = self._fault(probe, names), tuple(names)
        return not self._detail

    def _fault(self, probe: Probe, names: list[str]) -> str:
        if probe.status != 200 or probe.fault:
            return f"Ollama at {self._base_url} {probe.fault}; start it (`ollama serve`), or {self.setup}"
        if not self._model:
            return f"Ollama has no model that can chat: run `ollama pull {SUGGESTED}`"
        if self._model not in names and f"{self._model}:latest" not in names:
            return f"Ollama does not have the model {self._model}: run `ollama pull {self._model}`"
        return ""

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _connected(self) -> Any:
        """The client. It is made in a thread, because importing the package takes a fraction of a second."""
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._load)
        return self._client

    def _load(self) -> Any:
        import httpx  # noqa: PLC0415 - heavy; only needed once this model is asked
        import ollama  # noqa: PLC0415

        class Client(ollama.AsyncClient):
            """The package's client, which has no word for a prompt that is to be refused instead of cut."""

            async def _request(self, cls: Any, *args: Any, **more: Any) -> Any:
                if "/api/chat" in args:
                    more["json"] = {**more["json"], "truncate": False}
                return await super()._request(cls, *args, **more)

        # Without a read time-out: how long to wait is the gateway's decision.
        timeout = httpx.Timeout(None, connect=self._connect_s)
        return Client(
            host=self._base_url,
            timeout=timeout,
            trust_env=not is_loopback(self._base_url),
            verify=load_authorities(),
            follow_redirects=False,
            headers=UNCOMPRESSED,
            event_hooks={"response": [bounded(httpx), self._refuse]},
        )

    async def _refuse(self, response: Any) -> None:
        """Called by the HTTP client with each response, because the package's own errors forget the headers."""
        if 300 <= response.status_code < 400:
            there = quote(response.headers.get("location", "nowhere"))
            raise ModelUnavailable(f"Ollama at {self._base_url} answered {response.status_code} and points to {there}")
        if response.status_code >= 400:
            await response.aread()
            said = quote(words_of(response.text))
            self._check_refusal(said)
            fix = f"Check the model ({self.model}; `ollama pull {self.model}`) and the address ({self._base_url})"
            if response.status_code == 404:
                raise BackendMisconfigured(f"Ollama answered 404: {said}. {fix}.")
            raise from_status("Ollama", response.status_code, response.headers, said, fix=fix)

    def _check_refusal(self, said: str) -> None:
        """Raise what the words of a refusal are about, where that is tools or the prompt's length."""
        if _NO_TOOLS.search(said):
            if "support" in said:
                self.facts.note("no tools")
            raise ToolsRefused(f"Ollama has no tool calls for {self.model}, so they are made as text: {said}")
        if blames_context(said):
            raise too_long(self.model, self.facts.learn_window(said, self._pinned.get(self.model, self._num_ctx)) or 0)

    @property
    def window(self) -> int | None:
        """The pinned context size, once the model was asked."""
        return self._pinned.get(self.model)

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """See `BaseModelHandler.generate`. A prompt that would not fit the context is refused: Ollama would cut it."""
        client = await self._connected()
        began = time.monotonic()
        with self._translated(), watch_stream(lambda: on_text("") if on_text else None):
            options = self._options(request, await self._context(client))
            stream = await client.chat(
                model=self.model,
                messages=_turns(request.messages, f"{self.name}={self.model}"),
                tools=functions(request.tools) or None,
                stream=True,
                think=self._think(request),
                format="json" if request.json_reply else None,
                options=options,
                keep_alive=KEEP_ALIVE,
            )
            received = await self._listen(stream, on_text)
            if received.last is None:
                raise ModelUnavailable("Ollama: the stream ended without its final part")
            return self._completion(request, received, time.monotonic() - began)

    async def _context(self, client: Any) -> int:
        """The pinned context size: the setting, or what the model was made for if that is less."""
        if self.model not in self._pinned:
            try:
                async with asyncio.timeout(WHOLE_S):  # a reply may take ten minutes, this question none
                    shown = await client.show(self.model)
                most = _context_length(shown)
                self._thinks[self.model] = "thinking" in (shown.capabilities or ())
            except TimeoutError:
                raise ModelUnavailable(f"Ollama at {self._base_url} does not say what {self.model} is") from None
            except ValueError:  # servers that only resemble Ollama leave parts of the answer out
                most = None
            self._pinned[self.model] = min(self._num_ctx, most or self._num_ctx)
        return self._pinned[self.model]

    def _think(self, request: ModelRequest) -> bool | str | None:
        """How much the model is to think, in Ollama's words; None leaves it to the model."""
        if request.thinking is None or not self._thinks.get(self.model):
            return None
        if "gpt-oss" in self.model:  # which always thinks
            return "low" if request.thinking is Thinking.OFF else request.thinking.value
        return request.thinking is not Thinking.OFF

    def _options(self, request: ModelRequest, num_ctx: int) -> dict[str, Any]:
        space = min(num_ctx, self.facts.window or num_ctx) - self.token_estimator.tokens(request)
        if space < 1:
            raise too_long(self.model, num_ctx)
        # Ollama itself sets no end to a reply; a model that repeats itself would go on for ever.
        options: dict[str, Any] = {"num_ctx": num_ctx, "num_predict": min(request.max_tokens or space, space)}
        return options if request.temperature is None else {**options, "temperature": request.temperature}

    async def _listen(self, stream: Any, on_text: OnText | None) -> _Received:
        received = _Received()
        try:
            async for part in stream:
                text, thought = part.message.content or "", part.message.thinking or ""
                received.texts.append(text)
                received.thoughts.append(thought)
                calls = [piece for call in part.message.tool_calls or () for piece in _call(call.function, received)]
                if part.done:
                    received.last = part
                for piece in (ThoughtText(thought), text, *calls):
                    if on_text:
                        on_text(piece)
        finally:
            await stream.aclose()
        return received

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise our errors instead of those of the package and of the HTTP client below it."""
        import httpx  # noqa: PLC0415 - loaded by `_connected`
        import ollama  # noqa: PLC0415

        try:
            yield
        except ollama.ResponseError as error:
            raise self._stream_error(error) from error
        except (httpx.HTTPError, httpx.StreamError, ConnectionError) as error:
            detail = quote(error) or type(error).__name__
            raise ModelUnavailable(f"Ollama at {self._base_url}: {detail}") from error
        except (ValueError, TypeError, AttributeError) as error:
            # JSON and pydantic errors, and attributes that are missing: this is not Ollama's format.
            raise ModelUnavailable(f"Ollama at {self._base_url} does not speak its own format") from error

    def _stream_error(self, error: Any) -> Exception:
        self._check_refusal(quote(error.error))
        detail = f"Ollama broke off: {quote(error.error)}"
        return BackendMisconfigured(detail) if "not found" in detail else ModelUnavailable(detail)

    def _completion(self, request: ModelRequest, received: _Received, latency_s: float) -> Completion:
        last, thought = received.last, "".join(received.thoughts)
        counted = last.prompt_eval_count is not None and last.eval_count is not None
        finish = ENDS.get(last.done_reason or "stop", Finish.CUT)
        completion = Completion(
            text="".join(received.texts),
            backend=self.name,
            model=self.model,
            tokens_in=last.prompt_eval_count if counted else estimate_request(request),
            tokens_out=last.eval_count if counted else 0,
            latency_s=latency_s,
            finish=Finish.TOOL if received.tools and finish is Finish.STOP else finish,
            tool_calls=tuple(received.tools),
            thoughts=(Thought(text=thought, id="thinking"),) if thought else (),
            author=f"{self.name}={self.model}",
            extra={} if counted else {"estimated": True},
        )
        return completion if counted else replace(completion, tokens_out=estimate_reply(completion))


def _turns(messages: Sequence[Message], author: str) -> list[dict[str, Any]]:
    """The messages as the API takes them; it knows results by the names of their tools."""
    turns, names = list[dict[str, Any]](), dict[str, str]()
    for message in paired(messages, _IDS):
        turn: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.author == author and (thought := "".join(each.text for each in message.thoughts if each.id)):
            turn["thinking"] = thought
        if message.tool_calls:
            names |= {call.id: call.name for call in message.tool_calls}
            functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in message.tool_calls]
            turn["tool_calls"] = [{"function": function} for function in functions]
        turns.append({**turn, "tool_name": names[message.call_id]} if message.role == "tool" else turn)
    return turns


def _call(function: Any, received: _Received) -> tuple[CallName, CallText]:
    """Add a call, which comes as a whole and without an id; its texts."""
    number = len(received.tools)
    call = ToolCall(name=clean_name(function.name), arguments=dict(function.arguments), id=f"call_{number}")
    received.tools.append(call)
    return CallName(call.name), CallText(written_arguments(call))


def _size(row: Mapping[str, Any]) -> int:
    size = row.get("size")
    return size if isinstance(size, int) else 0


def _context_length(shown: Any) -> int | None:
    """The context that the model was trained for, as `show` reports it."""
    info: Mapping[str, Any] = shown.modelinfo or {}
    found = [value for key, value in info.items() if key.endswith(".context_length") and isinstance(value, int)]
    return found[0] if found else None
