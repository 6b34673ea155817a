"""Anthropic's messages API.

What stays the same is marked for the prompt cache, with the four marks that the API allows: the system prompt always,
and where tools are called also the last of them and the last two turns of the user's. The next request, which has this
one as its beginning, then reads what this one wrote, and writes what is new.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest
from nightshift.models.base import BackendSettings, CallName, CallText, OnText
from nightshift.models.http_access import choose, fetch_json
from nightshift.models.remote import RemoteBackend
from nightshift.models.tool_wire import CallParts, paired, tool_calls
from nightshift.models.windows import window_by_name

OFFICIAL = "https://api.anthropic.com"
API_VERSION = "2026-10-21"
PREFERRED = (r"sonnet", r"opus", r"haiku")
FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "pause_turn": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL,
    "refusal": Finish.FILTER,
}
_IDS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MARK = {"type": "ephemeral"}

Block = dict[str, Any]
"""A part of a turn as the API takes it."""


@dataclass(slots=True)
class _Received:
    """What a stream has brought so far. Tokens in count cached ones too, which the API reports apart."""

    texts: list[str] = field(default_factory=list)
    calls: dict[int, CallParts] = field(default_factory=dict)
    model: str = ""
    stop_reason: str | None = None
    ended: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0


class AnthropicBackend(RemoteBackend):
    """Messages, streamed."""

    name = "anthropic"
    vendor = "Anthropic"
    setup = "set ANTHROPIC_API_KEY"
    optional: ClassVar[frozenset[str]] = frozenset({"temperature"})

    def __init__(
        self, *, model: str | None, api_key: str | None, base_url: str, connect_s: float = 5.0, max_tokens: int = 8192
    ) -> None:
        super().__init__(model=model, api_key=api_key, base_url=base_url, connect_s=connect_s)
        self._max_tokens = max_tokens

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Needs a key."""
        if not settings.anthropic_api_key:
            return None
        return cls(
            model=model,
            api_key=settings.anthropic_api_key,
            base_url=settings.anthropic_base_url or OFFICIAL,
            connect_s=settings.connect_s,
            max_tokens=settings.max_tokens,
        )

    def is_available(self) -> bool:
        """Ask for the list of models: it shows that the server is there and takes the key."""
        # The same headers as those of the vendor's package.
        head = {"Authorization": f"Bearer {self._key}", "anthropic-version": API_VERSION}
        probe = fetch_json(f"{self._base_url}/v1/models?limit=100", head)
        names = [str(row["id"]) for row in probe.rows("data") if row.get("id")]
        if not self._named and self._model not in names:
            self._model = choose(names, PREFERRED, r"embed") or self._model
        return self._check_listing(probe, names, "ANTHROPIC_API_KEY")

    @property
    def window(self) -> int | None:
        """What is known of the model's name."""
        return window_by_name(self.model)

    def _new_client(self, http_options: dict[str, Any]) -> Any:
        import anthropic  # noqa: PLC0415 - heavy; only needed once this model is asked

        http = anthropic.DefaultAsyncHttpxClient(**http_options)
        key = self._key or "none"
        return anthropic.AsyncAnthropic(
            api_key=key, base_url=self._base_url, max_retries=0, http_client=http, open_telemetry=False
        )

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """See `BaseModelHandler.generate`. `extra` tells the tokens read from and written to the prompt cache."""
        client = await self._connected()
        import anthropic  # noqa: PLC0415 - loaded by `_connected`

        began = time.monotonic()
        with self._translated(anthropic):
            stream = await self._open(client, request)
            received = await self._listen(stream, on_text)
            if not received.ended:
                raise self._cut_off(stream)
            return self._completion(received, time.monotonic() - began)

    async def _open(self, client: Any, request: ModelRequest) -> Any:
        """Start the stream; some models take no temperature, and say so."""
        import anthropic  # noqa: PLC0415 - loaded by `_connected`

        while True:
            params = self._params(request)
            try:
                return await client.messages.create(**params)
            except anthropic.APIStatusError as error:
                if not self._drop_unsupported(error.status_code, error.message, {*params, *params["extra_body"]}):
                    raise

    def _params(self, request: ModelRequest) -> dict[str, Any]:
        system, turns = _split(request)
        params: dict[str, Any] = {
            "model": self.model,
            "messages": turns,
            "max_tokens": request.max_tokens or self._max_tokens,
            "stream": True,
            "extra_body": self._temperature(request),
        }
        tools: list[Block] = [
            {"name": spec.name, "description": spec.description, "input_schema": spec.schema} for spec in request.tools
        ]
        if tools:
            tools[-1]["cache_control"] = _MARK
        return {**params, **({"system": system} if system else {}), **({"tools": tools} if tools else {})}

    def _temperature(self, request: ModelRequest) -> dict[str, float]:
        """Sent beside the package's own parameters, which leave it out since the newest models take none."""
        wanted = request.temperature is not None and "temperature" not in self._unsupported
        return {"temperature": min(request.temperature or 0.0, 1.0)} if wanted else {}

    async def _listen(self, stream: Any, on_text: OnText | None) -> _Received:
        received = _Received()
        async with stream:
            async for event in stream:
                text = _take(event, received)
                if on_text:
                    on_text(text)
        return received

    def _completion(self, received: _Received, latency_s: float) -> Completion:
        cache = {"cached_tokens": received.cache_read, "cache_write_tokens": received.cache_write}
        return Completion(
            text="".join(received.texts),
            backend=self.name,
            model=received.model or self.model,
            tokens_in=received.tokens_in,
            tokens_out=received.tokens_out,
            latency_s=latency_s,
            finish=FINISHES.get(received.stop_reason or "", Finish.STOP),
            tool_calls=tool_calls(parts for _, parts in sorted(received.calls.items())),
            extra={name: count for name, count in cache.items() if count},
        )


def _split(request: ModelRequest) -> tuple[list[Block], list[dict[str, Any]]]:
    """The system prompt as blocks and the turns, of which there is at least one; both with their marks for the cache.

    Turns alternate, so all results of a reply's calls, and what the user says then, are one turn.
    """
    messages = request.messages
    system: list[Block] = [{"type": "text", "text": m.text} for m in messages if m.role == "system" and m.text]
    turns = _turns(paired((m for m in messages if m.role != "system"), _IDS))
    if not turns:
        return [], [{"role": "user", "content": "\n\n".join(block["text"] for block in system)}]
    if system:
        system[-1]["cache_control"] = _MARK
    if not request.tools:
        return system, [{**turn, "content": "\n\n".join(block["text"] for block in turn["content"])} for turn in turns]
    for turn in [turn for turn in turns if turn["role"] == "user"][-2:]:
        turn["content"][-1]["cache_control"] = _MARK
    return system, turns


def _turns(messages: Iterable[Message]) -> list[dict[str, Any]]:
    turns = list[dict[str, Any]]()
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if not (blocks := _blocks(message)):
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[Block]:
    """A message as blocks; the API takes no empty text."""
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.text or "(empty)"}]
    text: list[Block] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = message.tool_calls
    return [*text, *({"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)} for c in calls)]


def _take(event: Any, received: _Received) -> str:
    """Add one event of the stream; its text, or ""."""
    if event.type == "message_start":
        received.model = event.message.model or ""
        _count(event.message.usage, received)
    elif event.type == "content_block_start" and event.content_block.type == "tool_use":
        received.calls[event.index] = CallParts(id=event.content_block.id or "", name=event.content_block.name)
        return CallName(event.content_block.name)
    elif event.type == "content_block_delta":
        return _take_delta(event, received)
    elif event.type == "message_delta":
        received.stop_reason = event.delta.stop_reason
        _count(event.usage, received)
    elif event.type == "message_stop":
        received.ended = True
    return ""


def _take_delta(event: Any, received: _Received) -> str:
    delta = event.delta
    if delta.type == "text_delta":
        received.texts.append(delta.text)
        return str(delta.text)
    if delta.type == "input_json_delta":
        received.calls[event.index].arguments += delta.partial_json
        return CallText(delta.partial_json)
    return ""


def _count(usage: Any, received: _Received) -> None:
    """Usage comes twice, the second time with the final numbers; a missing one leaves what was known."""

    def number(name: str, known: int) -> int:
        value = getattr(usage, name, None)
        return known if value is None else int(value)

    received.cache_read = number("cache_read_input_tokens", received.cache_read)
    received.cache_write = number("cache_creation_input_tokens", received.cache_write)
    if getattr(usage, "input_tokens", None) is not None:
        received.tokens_in = int(usage.input_tokens) + received.cache_read + received.cache_write
    received.tokens_out = number("output_tokens", received.tokens_out)
