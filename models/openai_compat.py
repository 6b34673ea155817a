"""OpenAI, and every server that speaks its chat completions: vLLM, llama.cpp, LM Studio, OpenRouter and so on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from core.dialogue import Completion, Finish, ModelRequest
from models.base import BackendSettings, OnText
from models.http_access import CODERS, choose, fetch_json
from models.remote import RemoteBackend, tool_calls
from models.token_estimates import estimate_request, estimate_tokens

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


@dataclass(slots=True)
class _Received:
    """What a stream has brought so far."""

    texts: list[str] = field(default_factory=list)
    tools: dict[int, tuple[str, str]] = field(default_factory=dict)
    finish: str | None = None
    usage: Any = None
    model: str = ""


class OpenAIBackend(RemoteBackend):
    """Chat completions, streamed."""

    name = "openai"
    vendor = "OpenAI"
    setup = "set OPENAI_API_KEY, or OPENAI_BASE_URL for any server that speaks OpenAI's API"
    optional: ClassVar[frozenset[str]] = frozenset(
        {"temperature", "max_tokens", "max_completion_tokens", "stream_options", "response_format"}
    )

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
        return self._check_listing(probe, names, "OPENAI_API_KEY")

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
                return await client.chat.completions.create(**params)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if not self._drop_unsupported(error.message, params):
                    raise

    def _params(self, request: ModelRequest) -> dict[str, Any]:
        wanted = {
            "temperature": request.temperature,
            self._limit_name(): request.max_tokens,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_object"} if request.json_reply else None,
        }
        extra = {k: v for k, v in wanted.items() if v is not None and k not in self._unsupported}
        turns = [{"role": message.role, "content": message.text} for message in request.messages]
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
                text = self._take(chunk, received)
                if on_text:
                    on_text(text)
        return received

    def _take(self, chunk: Any, received: _Received) -> str:
        """Add one chunk; its text, or "" for thinking, tool calls and the like."""
        received.usage = chunk.usage or received.usage
        received.model = chunk.model or received.model
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        received.finish = choice.finish_reason or received.finish
        for call in choice.delta.tool_calls or ():
            name, arguments = received.tools.get(call.index, ("", ""))
            given = call.function
            received.tools[call.index] = (name + (given.name or ""), arguments + (given.arguments or ""))
        text = choice.delta.content or ""
        received.texts.append(text)
        return text

    def _completion(self, request: ModelRequest, received: _Received, latency_s: float) -> Completion:
        text = "".join(received.texts)
        tokens_in, tokens_out, extra = _usage(request, text, received.usage)
        return Completion(
            text=text,
            backend=self.name,
            model=received.model or self.model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            latency_s=latency_s,
            finish=FINISHES.get(received.finish or "", Finish.STOP),
            tool_calls=tool_calls(received.tools),
            extra=extra,
        )


def _usage(request: ModelRequest, text: str, usage: Any) -> tuple[int, int, Mapping[str, Any]]:
    if usage is None:
        return estimate_request(request.messages), estimate_tokens([text]), {"estimated": True}
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None)
    return usage.prompt_tokens or 0, usage.completion_tokens or 0, {"cached_tokens": cached} if cached else {}
