"""Ollama, through its own chat API.

Each model gets one context size for good: Ollama's default silently drops most of a coding prompt, and a size that
changes between calls makes it load the model anew each time. Tools are offered in the text form, unless that goes
badly: Ollama's own parsers of calls fail with many models, often for a whole reply.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest, Thinking, Thought
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.core.tools import ToolCall
from nightshift.models.base import BackendSettings, CallName, CallText, OnText, ThoughtText
from nightshift.models.choosing import PULL, SUGGESTED, choose
from nightshift.models.conversation import ENDS, clean_name
from nightshift.models.errors import quote, too_long, words_of
from nightshift.models.http_access import WHOLE_S, Probe, fetch_json, is_loopback, load_authorities
from nightshift.models.model_sizes import read_parameters
from nightshift.models.stream_watch import UNCOMPRESSED, StreamWatch, bounded, watch_stream
from nightshift.models.tool_wire import functions, paired, written_arguments
from nightshift.models.vendor import VendorBackend
from nightshift.models.windows import WIDE, choose_window, memory_bytes, read_cache_bytes

KEEP_ALIVE = "30m"


@dataclass(slots=True)
class _Received:
    """What a stream has brought so far; `last` is its final part."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)
    last: Any = None

    def add(self, part: Any) -> Iterator[str]:
        """Take the next part; gives its pieces. A call comes as a whole and without an id."""
        thought, text = part.message.thinking or "", part.message.content or ""
        self.thoughts.append(thought)
        self.texts.append(text)
        self.last = part if part.done else self.last
        yield from (ThoughtText(thought), text)
        for number, each in enumerate(part.message.tool_calls or (), len(self.tools)):
            name, arguments = clean_name(each.function.name), dict(each.function.arguments)
            call = ToolCall(name=name, arguments=arguments, id=f"call_{number}")
            self.tools.append(call)
            yield from (CallName(call.name), CallText(written_arguments(call)))


class OllamaBackend(VendorBackend):
    """Ollama's chat, streamed."""

    name = "ollama"
    vendor = "Ollama"
    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.TEXT, ToolProtocol.NATIVE)
    setup = f"install Ollama from https://ollama.com and run {PULL}"
    paths = re.compile(r"/(v1|api)(/.*)?$")
    ids: ClassVar[re.Pattern[str]] = re.compile(r".+")

    def __init__(
        self,
        *,
        model: str | None,
        base_url: str,
        num_ctx: int | None = None,
        connect_s: float = 5.0,
        parallel: int | None = None,
    ) -> None:
        super().__init__(model=model, api_key=None, base_url=base_url, connect_s=connect_s)
        self.parallel, self._num_ctx = parallel, num_ctx
        self._pinned: dict[str, int] = {}
        self._thinks: dict[str, bool] = {}
        self._sizes = dict[str, int]()

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
        self._sizes = dict(zip(names, map(_size, rows), strict=True))
        sizes = zip(names, map(read_parameters, rows), strict=True)
        listed = {name: billions for name, billions in sizes if billions}
        self._listed_b = {**{name.removesuffix(":latest"): billions for name, billions in listed.items()}, **listed}
        self._offered = (*names, *(name.removesuffix(":latest") for name in names if name.endswith(":latest")))
        self._detail = self._fault(probe)
        return not self._detail

    def _fault(self, probe: Probe) -> str:
        if probe.status != 200 or probe.fault:
            return f"Ollama at {self._base_url} {probe.fault}; start it (`ollama serve`), or {self.setup}"
        if not self._model:
            return f"Ollama has no model that can chat: run `ollama pull {SUGGESTED}`"
        if self._model not in self._offered:
            return f"Ollama does not have the model {self._model}: run `ollama pull {self._model}`"
        return ""

    async def _connected(self) -> Any:
        """The client of the package, which holds its connections; it is made in a thread, as importing takes time."""
        async with self._loading:
            self._http = self._http or await asyncio.to_thread(self._new_api, None)
        return self._http

    def _new_api(self, _http: Any) -> Any:
        import httpx  # noqa: PLC0415 - heavy; only needed once this model is asked
        import ollama  # noqa: PLC0415

        class Client(ollama.AsyncClient):
            """The package's client, which has no word for a prompt that is to be refused instead of cut."""

            aclose = ollama.AsyncClient.close

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
            raise self._elsewhere(response)
        if response.status_code >= 400:
            await response.aread()
            raise self._refusal(response.status_code, quote(words_of(response.text)), "", response.headers)

    @property
    def window(self) -> int | None:
        """The pinned context size, once the model was asked."""
        return self._pinned.get(self.model)

    async def _ask(self, request: ModelRequest, take: OnText) -> Completion:
        """Ask once. A prompt that would not fit the context is refused: Ollama would cut it."""
        client, received = await self._connected(), _Received()
        with watch_stream(lambda: take("")) as watch, self._translated(watch):
            options = self._options(request, await self._context(client))
            stream = await client.chat(
                model=self.model,
                messages=_turns(request.messages, self.author),
                tools=functions(request.tools) or None,
                stream=True,
                think=self._think(request),
                format="json" if request.json_reply else None,
                options=options,
                keep_alive=KEEP_ALIVE,
            )
            try:
                async for part in stream:
                    for piece in received.add(part):
                        take(piece)
            finally:
                await stream.aclose()
            if received.last is None:
                raise ModelUnavailable("Ollama: the stream ended without its final part")
        return self._fill_counts(request, self._completion(received))

    async def _context(self, client: Any) -> int:
        """The pinned context size: the setting or what fits, and no more than the model was made for."""
        if self.model not in self._pinned:
            info: Mapping[str, Any] = {}
            try:
                async with asyncio.timeout(WHOLE_S):  # a reply may take ten minutes, this question none
                    shown = await client.show(self.model)
                self._thinks[self.model], info = "thinking" in (shown.capabilities or ()), shown.modelinfo or {}
            except TimeoutError:
                raise ModelUnavailable(f"Ollama at {self._base_url} does not say what {self.model} is") from None
            except ValueError:  # servers that only resemble Ollama leave parts of the answer out
                pass
            lengths = (size for key, size in info.items() if key.endswith(".context_length") and isinstance(size, int))
            file = self._sizes.get(self.model) or self._sizes.get(f"{self.model}:latest", 0)
            memory = memory_bytes() if is_loopback(self._base_url) else math.inf
            needed = file + WIDE * read_cache_bytes(info)
            self._pinned[self.model] = choose_window(self._num_ctx, next(lengths, None), needed, memory)
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

    @contextmanager
    def _translated(self, watch: StreamWatch) -> Iterator[None]:  # noqa: ARG002 - each line is read by the package
        import httpx  # noqa: PLC0415 - loaded by `_connected`
        import ollama  # noqa: PLC0415

        try:
            yield
        except ollama.ResponseError as error:
            raise self._broken_by(quote(error.error)) from error
        except (httpx.HTTPError, httpx.StreamError, ConnectionError) as error:
            raise ModelUnavailable(self._broken_off(error)) from error
        except (ValueError, TypeError, AttributeError) as error:
            # JSON and pydantic errors, and attributes that are missing: this is not Ollama's format.
            raise ModelUnavailable(f"Ollama at {self._base_url} does not speak its own format") from error

    def _completion(self, received: _Received) -> Completion:
        last, thought = received.last, "".join(received.thoughts)
        finish = ENDS.get(last.done_reason or "stop", Finish.CUT)
        return Completion(
            text="".join(received.texts),
            backend=self.name,
            model=self.model,
            tokens_in=last.prompt_eval_count or 0,
            tokens_out=last.eval_count or 0,
            finish=Finish.TOOL if received.tools and finish is Finish.STOP else finish,
            tool_calls=tuple(received.tools),
            thoughts=(Thought(text=thought, id="thinking"),) if thought else (),
            author=self.author,
        )


def _turns(messages: Sequence[Message], author: str) -> list[dict[str, Any]]:
    """The messages as the API takes them; it knows results by the names of their tools."""
    turns, names = list[dict[str, Any]](), dict[str, str]()
    for message in paired(messages, OllamaBackend.ids):
        turn: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.author == author and (thought := "".join(each.text for each in message.thoughts if each.id)):
            turn["thinking"] = thought
        if message.tool_calls:
            names |= {call.id: call.name for call in message.tool_calls}
            functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in message.tool_calls]
            turn["tool_calls"] = [{"function": function} for function in functions]
        turns.append({**turn, "tool_name": names[message.call_id]} if message.role == "tool" else turn)
    return turns


def _size(row: Mapping[str, Any]) -> int:
    size = row.get("size")
    return size if isinstance(size, int) else 0
