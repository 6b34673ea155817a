"""Ollama, through its own chat API.

Each model keeps one fixed context size. Ollama's default size silently drops most of a coding prompt, and a size that
changes between calls makes Ollama reload the model each time. By default, tools are described in the text and calls are
written as text, because Ollama's own parsers of calls fail with many models, often losing a whole reply.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest, Thinking, Thought
from nightshift.core.errors import ModelUnavailable
from nightshift.core.tools import ToolCall, ToolProtocol, ToolSpec
from nightshift.models.base import CallName, CallText, OnText, ThoughtText
from nightshift.models.conversation import ENDS, clean_name, pair_calls
from nightshift.models.errors import quote, too_long, words_of
from nightshift.models.http_access import WHOLE_S, Probe, is_loopback
from nightshift.models.model_table import PULL, SUGGESTED, WIDE, choose_window, memory_bytes, read_cache_bytes
from nightshift.models.stream_watch import StreamWatch, watch_stream
from nightshift.models.vendor import VendorBackend

KEEP_ALIVE = "30m"


class OllamaBackend(VendorBackend):
    """A backend for Ollama's chat API, with streaming."""

    name = "ollama"
    vendor = "Ollama"
    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.TEXT, ToolProtocol.NATIVE)
    needs_key = False
    paths = re.compile(r"/(v1|api)(/.*)?$")
    listing = "/api/tags"
    rank = "size"
    setup = f"install Ollama from https://ollama.com and run {PULL}"
    ids: ClassVar[re.Pattern[str]] = re.compile(r".+")
    options: ClassVar[Mapping[str, str]] = {"num_ctx": "num_ctx"}

    def __init__(self, *, base_url: str, num_ctx: int | None = None, parallel: int | None = None, **more: Any) -> None:
        super().__init__(base_url=base_url if re.search(r":\d|://", base_url) else f"{base_url.strip()}:11434", **more)
        self.parallel, self._num_ctx = parallel, num_ctx
        self._pinned: dict[str, int] = {}
        self._thinks: dict[str, bool] = {}

    @property
    def free(self) -> bool:
        """True unless the model's name shows that Ollama forwards it to its cloud."""
        return not self.model.endswith(("-cloud", ":cloud"))

    def _read_listing(self, probe: Probe) -> dict[str, Mapping[str, Any]]:
        rows = super()._read_listing(probe)
        return {**rows, **{name.removesuffix(":latest"): row for name, row in rows.items()}}

    def _find_fault(self, probe: Probe) -> str:
        if probe.status != 200 or probe.fault:
            return f"{self._where} {probe.fault}; start it (`ollama serve`), or {self.setup}"
        if not self.model:
            return f"Ollama has no model that can chat: run `ollama pull {SUGGESTED}`"
        if self.model not in self.offered:
            return f"Ollama does not have the model {self.model}: run `ollama pull {self.model}`"
        return ""

    async def _connect(self) -> Any:
        """Return the package's client, which holds the connections.

        It is made in a thread, because importing takes time.
        """
        async with self._loading:
            self._http = self._http or await asyncio.to_thread(self._new_api, None)
        return self._http

    def _new_api(self, _http: Any) -> Any:
        import httpx  # noqa: PLC0415 - heavy; only needed once this model is asked
        import ollama  # noqa: PLC0415

        class Client(ollama.AsyncClient):
            """The package's client, changed so that Ollama refuses too long prompts instead of truncating them."""

            aclose = ollama.AsyncClient.close

            async def _request(self, cls: Any, *args: Any, **more: Any) -> Any:
                if "/api/chat" in args:
                    more["json"] = {**more["json"], "truncate": False}
                return await super()._request(cls, *args, **more)

        return Client(host=self._base_url, **self._http_options(httpx, self._refuse))

    async def _refuse(self, response: Any) -> None:
        """Raise our own error for a failed response, because the package's errors drop the headers.

        The HTTP client calls this method with each response.
        """
        if 300 <= response.status_code < 400:
            raise self._elsewhere(response)
        if response.status_code >= 400:
            await response.aread()
            raise self._refusal(response.status_code, quote(words_of(response.text)), "", response.headers)

    @property
    def window(self) -> int | None:
        """The fixed context size of the model in tokens; None until the model was asked."""
        return self._pinned.get(self.model)

    async def _ask(self, request: ModelRequest, take: OnText) -> Completion:
        """Ask once. A prompt that does not fit the context is refused, because Ollama would truncate it silently."""
        client = await self._connect()
        with watch_stream(lambda: take("")) as watch, self._translate_errors(watch):
            options = self._options(request, await self._context(client))
            stream = await client.chat(
                model=self.model,
                messages=_turns(request.messages, self.label),
                tools=_functions(request.tools) or None,
                stream=True,
                think=self._think(request),
                format="json" if request.json_reply else None,
                options=options,
                keep_alive=KEEP_ALIVE,
            )
            try:
                return await self._read(stream, take)
            finally:
                await stream.aclose()

    async def _read(self, stream: Any, take: OnText) -> Completion:
        """Read a reply from the stream. Tool calls arrive in one piece and without ids."""
        text, thought, calls, last = "", "", list[ToolCall](), None
        async for part in stream:
            last = part if part.done else last
            thought += part.message.thinking or ""
            text += part.message.content or ""
            take(ThoughtText(part.message.thinking or ""))
            take(part.message.content or "")
            for each in part.message.tool_calls or ():
                name, arguments = clean_name(each.function.name), dict(each.function.arguments)
                calls.append(ToolCall(name=name, arguments=arguments, id=f"call_{len(calls)}"))
                take(CallName(name))
                take(CallText(json.dumps(arguments)))
        if last is None:
            raise ModelUnavailable("Ollama: the stream ended without its final part")
        finish = ENDS.get(last.done_reason or "stop", Finish.CUT)
        return Completion(
            text=text,
            backend=self.name,
            model=self.model,
            tokens_in=last.prompt_eval_count or 0,
            tokens_out=last.eval_count or 0,
            finish=Finish.TOOL if calls and finish is Finish.STOP else finish,
            tool_calls=tuple(calls),
            thoughts=(Thought(text=thought, id="thinking"),) if thought else (),
            author=self.label,
        )

    async def _context(self, client: Any) -> int:
        """Return the fixed context size of the model, in tokens.

        The size is the owner's setting or what fits into memory, but at most the length that the model was trained for.
        """
        if self.model not in self._pinned:
            info: Mapping[str, Any] = {}
            try:
                async with asyncio.timeout(WHOLE_S):  # unlike a reply, the answer to this question comes quickly
                    shown = await client.show(self.model)
                self._thinks[self.model], info = "thinking" in (shown.capabilities or ()), shown.modelinfo or {}
            except TimeoutError:
                raise ModelUnavailable(f"{self._where} did not describe the model {self.model} in time") from None
            except ValueError:  # servers that only resemble Ollama omit parts of the answer
                pass
            lengths = (size for key, size in info.items() if key.endswith(".context_length") and isinstance(size, int))
            file = self._row.get("size") or 0
            memory = memory_bytes() if is_loopback(self._base_url) else math.inf
            needed = file + WIDE * read_cache_bytes(info)
            self._pinned[self.model] = choose_window(self._num_ctx, next(lengths, None), needed, memory)
        return self._pinned[self.model]

    def _thinking(self, request: ModelRequest) -> Thinking | None:
        return request.thinking if self._thinks.get(self.model) else None

    def _think(self, request: ModelRequest) -> bool | str | None:
        """Return how much the model should think, as Ollama's parameter; None leaves it to the model."""
        thinking = self._all_settings(request).get("thinking")
        level = str(thinking or Thinking.LOW) if "gpt-oss" in self.model else bool(thinking)  # gpt-oss always thinks
        return None if thinking is None else level

    def _options(self, request: ModelRequest, num_ctx: int) -> dict[str, Any]:
        space = min(num_ctx, self.facts.window or num_ctx) - self.token_estimator.tokens(request)
        if space < 1:
            raise too_long(self.model, num_ctx)
        # By default, Ollama does not limit a reply, so a model that repeats itself would never stop.
        options: dict[str, Any] = {"num_ctx": num_ctx, "num_predict": min(request.max_tokens or space, space)}
        return options if request.temperature is None else {**options, "temperature": request.temperature}

    @contextmanager
    def _translate_errors(self, watch: StreamWatch) -> Iterator[None]:  # noqa: ARG002 - each line is read by the package
        import httpx  # noqa: PLC0415 - loaded by `_connect`
        import ollama  # noqa: PLC0415

        try:
            yield
        except ollama.ResponseError as error:
            raise self._error_of_stream(quote(error.error)) from error
        except (httpx.HTTPError, httpx.StreamError, ConnectionError) as error:
            raise ModelUnavailable(self._say_broken(error)) from error
        except (ValueError, TypeError, AttributeError) as error:
            # JSON errors, pydantic errors and missing attributes mean that the answer is not in Ollama's format.
            raise ModelUnavailable(f"{self._where} sent an answer that is not in Ollama's format") from error


def _turns(messages: Sequence[Message], author: str) -> list[dict[str, Any]]:
    """Convert the messages to the form of Ollama's API, in which a result is linked to its call by the tool's name."""
    turns, names = list[dict[str, Any]](), dict[str, str]()
    for message in pair_calls(messages, OllamaBackend.ids):
        turn: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.author == author and (thought := "".join(each.text for each in message.thoughts if each.id)):
            turn["thinking"] = thought
        if message.tool_calls:
            names |= {call.id: call.name for call in message.tool_calls}
            functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in message.tool_calls]
            turn["tool_calls"] = [{"function": function} for function in functions]
        turns.append({**turn, "tool_name": names[message.call_id]} if message.role == "tool" else turn)
    return turns


def _functions(specs: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Convert tools to the form of Ollama's API."""
    return [
        {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.schema}}
        for s in specs
    ]
