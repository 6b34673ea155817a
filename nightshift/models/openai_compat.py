"""OpenAI, and every server that speaks its chat completions: vLLM, llama.cpp, LM Studio, OpenRouter and so on."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.models.base import BackendSettings, CallName, CallText, OnText
from nightshift.models.http_access import CODERS, choose, fetch_json
from nightshift.models.model_sizes import listed_parameters
from nightshift.models.remote import RemoteBackend
from nightshift.models.token_estimates import estimate_reply, estimate_request
from nightshift.models.tool_wire import CallParts, functions, paired, tool_calls, written_arguments
from nightshift.models.windows import listed_window, started_window, trained_window, window_by_name

OFFICIAL = "https://api.openai.com/v1"
PREFERRED = (*CODERS, r"^gpt-[\d.]+-mini(-|$)", r"^gpt-[\d.]+(-|$)", r"^gpt-4o")
UNFIT = (
    r"embed|whisper|tts|audio|realtime|image|dall-e|moderation|transcri|search|rerank|codex"
    r"|davinci|babbage|sora|turbo-instruct"
)
FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "tool_calls": Finish.TOOL,
    "function_call": Finish.TOOL,
    "content_filter": Finish.FILTER,
}
_IDS = re.compile(r".{1,40}")


@dataclass(slots=True)
class _Received:
    """What a stream has brought so far."""

    texts: list[str] = field(default_factory=list)
    calls: list[CallParts] = field(default_factory=list)
    open_calls: dict[int | None, CallParts] = field(default_factory=dict)
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    model: str = ""


class OpenAIBackend(RemoteBackend):
    """Chat completions, streamed."""

    name = "openai"
    vendor = "OpenAI"
    setup = "set OPENAI_API_KEY, or OPENAI_BASE_URL for any server that speaks OpenAI's API"
    optional: ClassVar[frozenset[str]] = frozenset(
        {"temperature", "max_tokens", "max_completion_tokens", "stream_options", "response_format"}
    )

    def __init__(self, *, model: str | None, api_key: str | None, base_url: str, connect_s: float = 5.0) -> None:
        super().__init__(model=model, api_key=api_key, base_url=base_url, connect_s=connect_s)
        self._windows, self._listed_b = dict[str, int](), dict[str, float]()
        self._is_ollama = False

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """A key or an address of its own suffices; local servers want no key."""
        if not (settings.openai_api_key or settings.openai_base_url):
            return None
        base_url = settings.openai_base_url or OFFICIAL
        return cls(model=model, api_key=settings.openai_api_key, base_url=base_url, connect_s=settings.connect_s)

    def is_available(self) -> bool:
        """Ask for the list of models: it shows that the server is there and takes the key."""
        head = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        probe = fetch_json(f"{self._base_url}/models", head)
        rows = sorted(probe.rows("data"), key=lambda row: str(row.get("created", "")), reverse=True)
        names = [str(row["id"]) for row in rows if row.get("id")]
        if not self._named and self._model not in names:
            self._model = choose(names, PREFERRED, UNFIT) or self._model
        self._look_at_listing(rows)
        return self._check_listing(probe, names, "OPENAI_API_KEY")

    @property
    def window(self) -> int | None:
        """What the server lists of the model, or what is known of its name."""
        return self._windows.get(self.model) or window_by_name(self.model)

    @property
    def parameters_b(self) -> float | None:
        """See `BaseModelHandler.parameters_b`."""
        return self._listed_b.get(self.model) or super().parameters_b

    @property
    def advice(self) -> str:
        """What to do where Ollama is behind the address, which cuts longer prompts there and says nothing."""
        if not self._is_ollama:
            return ""
        use = f"set MODEL_TYPE=ollama and OLLAMA_BASE_URL={self._root}"
        return f"this is Ollama, which cuts long prompts without a word when it is asked by OpenAI's API: {use}"

    @property
    def _root(self) -> str:
        return self._base_url.removesuffix("/v1")

    def _look_at_listing(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Learn the model's window, and whether Ollama is behind this; what is known already is not asked again."""
        row = next((row for row in rows if row.get("id") == self._model), {})
        if billions := listed_parameters(row):
            self._listed_b[self.model] = billions
        if window := listed_window(row):
            self._windows[self.model] = window
        elif self.model not in self._windows and (trained := trained_window(row)):
            self._windows[self.model] = started_window(fetch_json(f"{self._root}/props", {}).data) or trained
        if not self._is_ollama and any(row.get("owned_by") == "library" for row in rows):
            self._is_ollama = fetch_json(f"{self._root}/api/version", {}).status == 200
            if self._is_ollama:  # whose own parser of calls fails with many models
                self.protocols = tuple(sorted(self.protocols, key=lambda one: one is not ToolProtocol.TEXT))

    def _new_client(self, http_options: dict[str, Any]) -> Any:
        import openai  # noqa: PLC0415 - heavy; only needed once this model is asked

        http = openai.DefaultAsyncHttpxClient(**http_options)
        key = self._key or "none"
        return openai.AsyncOpenAI(api_key=key, base_url=self._base_url, max_retries=0, http_client=http)

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """See `BaseModelHandler.generate`. Without usage in the stream the token counts are estimates and say so."""
        client = await self._connected()
        import openai  # noqa: PLC0415 - loaded by `_connected`

        began = time.monotonic()
        with self._translated(openai):
            stream = await self._open(client, request)
            received = await self._listen(stream, on_text)
            if received.finish is None:
                raise self._cut_off(stream)
            return self._completion(request, received, time.monotonic() - began)

    async def _open(self, client: Any, request: ModelRequest) -> Any:
        """Start the stream, leaving out what this server or model turns out not to know."""
        import openai  # noqa: PLC0415 - loaded by `_connected`

        while True:
            params = self._params(request)
            try:
                # Every token is a chunk: to make objects of them costs more than all else that is done with them.
                kind = openai.AsyncStream[object]
                return await client.post("/chat/completions", body=params, cast_to=object, stream=True, stream_cls=kind)
            except openai.APIStatusError as error:
                if not self._drop_unsupported(error.status_code, error.message, params):
                    raise

    def _params(self, request: ModelRequest) -> dict[str, Any]:
        wanted = {
            "temperature": request.temperature,
            self._limit_name(): request.max_tokens,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_object"} if request.json_reply else None,
            "tools": functions(request.tools) or None,
        }
        extra = {k: v for k, v in wanted.items() if v is not None and k not in self._unsupported}
        turns = [_turn(message) for message in paired(request.messages, _IDS)]
        return {"model": self.model, "messages": turns, "stream": True, **extra}

    def _limit_name(self) -> str:
        """OpenAI's own models want the newer name, most other servers know the older one only."""
        newer, older = "max_completion_tokens", "max_tokens"
        first, second = (newer, older) if self._base_url == OFFICIAL else (older, newer)
        return second if first in self._unsupported else first

    async def _listen(self, stream: Any, on_text: OnText | None) -> _Received:
        received = _Received()
        async with stream:
            async for chunk in stream:
                for text in self._take(chunk, received):
                    if on_text:
                        on_text(text)
        return received

    def _take(self, chunk: Mapping[str, Any], received: _Received) -> list[str]:
        """Add one chunk; its texts, of which "" stands for thinking and the like."""
        received.usage = chunk.get("usage") or received.usage
        received.model = chunk.get("model") or received.model
        choices = chunk.get("choices")
        if not choices:
            return [""]
        delta = choices[0].get("delta") or {}
        received.finish = choices[0].get("finish_reason") or received.finish
        text = delta.get("content") or ""
        received.texts.append(text)
        return [text, *(one for call in delta.get("tool_calls") or () for one in _take_call(call, received))]

    def _completion(self, request: ModelRequest, received: _Received, latency_s: float) -> Completion:
        text = "".join(received.texts)
        calls = tool_calls(received.calls)
        tokens_in, tokens_out, extra = _usage(request, estimate_reply(text, calls), received.usage)
        return Completion(
            text=text,
            backend=self.name,
            model=received.model or self.model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            latency_s=latency_s,
            finish=FINISHES.get(received.finish or "", Finish.STOP),
            tool_calls=calls,
            extra=extra,
        )


def _turn(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": written_arguments(call)}}
            for call in message.tool_calls
        ]
    return {**turn, "tool_call_id": message.call_id} if message.role == "tool" else turn


def _take_call(piece: Mapping[str, Any], received: _Received) -> tuple[CallText, ...]:
    """Add a piece of a call; its texts.

    Some servers leave out the index or give the same to all: then a new id begins a call.
    """
    index, own_id, given = piece.get("index"), piece.get("id") or "", piece.get("function") or {}
    parts = received.open_calls.get(index)
    begins = parts is None or bool(own_id and parts.id and own_id != parts.id)
    if parts is None or begins:
        parts = received.open_calls[index] = CallParts()
        received.calls.append(parts)
    name, arguments = given.get("name") or "", given.get("arguments") or ""
    parts.id = parts.id or own_id
    parts.name = parts.name if parts.name == name else parts.name + name
    parts.arguments += arguments
    return (CallName(name), CallText(arguments)) if begins else (CallText(name + arguments),)


def _usage(request: ModelRequest, written: int, usage: Mapping[str, Any] | None) -> tuple[int, int, Mapping[str, Any]]:
    if usage is None:
        return estimate_request(request), written, {"estimated": True}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    extra = {"cached_tokens": cached} if cached else {}
    return usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0, extra
