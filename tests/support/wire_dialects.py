"""How OpenAI, Anthropic and Ollama write an answer, a stream and an error on the wire; used by `WireServer`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CREATED = 1_700_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a scripted model answers; a plain `str` stands for `Reply(text=…)`.

    `finish` is stop, length, tool or filter; `usage=False` leaves the token counts out; `tools` are (name, arguments).
    """

    text: str
    finish: str = "stop"
    usage: bool = True
    tools: Sequence[tuple[str, Mapping[str, Any]]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply with what its envelope needs; tokens are counted as words."""

    model: str
    reply: Reply
    tokens_in: int

    @property
    def tokens_out(self) -> int:
        return len(self.reply.text.split())


class Dialect(Protocol):
    """One wire format. `events` yields the pieces of a stream as they are sent; the last `closing` end it."""

    content_type: str
    closing: int

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, str]]: ...
    def whole(self, answer: Answer) -> dict[str, Any]: ...
    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]: ...
    def error(self, status: int, message: str, code: str) -> dict[str, Any]: ...
    def error_event(self, message: str) -> bytes: ...


def pieces(text: str, words: int) -> list[str]:
    """Cut a text into chunks of so many words; joined they give the text."""
    return re.findall(rf"(?:\s*\S+){{1,{words}}}\s*|\s+", text)


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"role": str(m.get("role")), "content": _plain(m.get("content"))} for m in messages]


def _sse(data: object, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


class OpenAI:
    """`/v1/chat/completions`."""

    content_type = "text/event-stream"
    closing = 3
    finishes: Mapping[str, str] = {"tool": "tool_calls", "filter": "content_filter"}

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, str]]:
        return _turns(body.get("messages") or [])

    def _head(self, answer: Answer, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": CREATED, "model": answer.model}

    def _usage(self, answer: Answer) -> dict[str, int]:
        total = answer.tokens_in + answer.tokens_out
        return {"prompt_tokens": answer.tokens_in, "completion_tokens": answer.tokens_out, "total_tokens": total}

    def _tools(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, (n, a) in enumerate(answer.reply.tools)
        ]

    def _finish(self, answer: Answer) -> str:
        return self.finishes.get(answer.reply.finish, answer.reply.finish)

    def whole(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.reply.text}
        if answer.reply.tools:
            message["tool_calls"] = self._tools(answer)  # type: ignore[assignment]  # the wire's own loose shape
        choice = {"index": 0, "message": message, "finish_reason": self._finish(answer)}
        usage = {"usage": self._usage(answer)} if answer.reply.usage else {}
        return {**self._head(answer, "chat.completion"), "choices": [choice], **usage}

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        head = self._head(answer, "chat.completion.chunk")

        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
            return _sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        texts = [chunk({"content": piece}) for piece in pieces(answer.reply.text, chunk_words)]
        tools = [chunk({"tool_calls": [call]}) for call in self._tools(answer)]
        wanted = (body.get("stream_options") or {}).get("include_usage") and answer.reply.usage
        usage = _sse({**head, "choices": [], "usage": self._usage(answer)}) if wanted else b": no usage\n\n"
        start, end = chunk({"role": "assistant", "content": ""}), chunk({}, self._finish(answer))
        return [start, *texts, *tools, end, usage, _sse("[DONE]")]

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}

    def error_event(self, message: str) -> bytes:
        return _sse(self.error(500, message, "server_error"))


class Anthropic:
    """`/v1/messages`."""

    content_type = "text/event-stream"
    closing = 3
    finishes: Mapping[str, str] = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use", "filter": "refusal"}

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, str]]:
        system = [{"role": "system", "content": _plain(body["system"])}] if body.get("system") else []
        return system + _turns(body.get("messages") or [])

    def _message(self, answer: Answer, content: list[dict[str, Any]], stop: str | None, out: int) -> dict[str, Any]:
        usage = {"input_tokens": answer.tokens_in, "output_tokens": out}
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": answer.model, "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        tools = [
            {"type": "tool_use", "id": f"toolu_{i}", "name": n, "input": dict(a)}
            for i, (n, a) in enumerate(answer.reply.tools)
        ]
        return [{"type": "text", "text": answer.reply.text}, *tools]

    def whole(self, answer: Answer) -> dict[str, Any]:
        stop = self.finishes[answer.reply.finish]
        return self._message(answer, self._blocks(answer), stop, answer.tokens_out)

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        return list(self._events(answer, chunk_words))

    def _events(self, answer: Answer, chunk_words: int) -> Iterator[bytes]:
        yield self._event("message_start", message=self._message(answer, [], None, 1))
        for index, block in enumerate(self._blocks(answer)):
            text = block["type"] == "text"
            start: dict[str, Any] = {**block, "text": ""} if text else {**block, "input": {}}
            yield self._event("content_block_start", index=index, content_block=start)
            parts = pieces(block["text"], chunk_words) if text else [json.dumps(block["input"])]
            for part in parts:
                delta = {"type": "text_delta", "text": part} if text else _json_delta(part)
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        end = {"stop_reason": self.finishes[answer.reply.finish], "stop_sequence": None}
        yield self._event("message_delta", delta=end, usage={"output_tokens": answer.tokens_out})
        yield self._event("message_stop")

    def _event(self, kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code, "message": message}}

    def error_event(self, message: str) -> bytes:
        return _sse(self.error(529, message, "overloaded_error"), "error")


def _json_delta(part: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": part}


class Ollama:
    """`/api/chat`."""

    content_type = "application/x-ndjson"
    closing = 1

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, str]]:
        return _turns(body.get("messages") or [])

    def _part(self, answer: Answer, text: str, **more: Any) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text, **more}
        return {"model": answer.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}

    def _end(self, answer: Answer) -> dict[str, Any]:
        reason = {"tool": "stop", "filter": "stop"}.get(answer.reply.finish, answer.reply.finish)
        counts = {"prompt_eval_count": answer.tokens_in, "eval_count": answer.tokens_out}
        return {"done": True, "done_reason": reason, "total_duration": 10**6, **(counts if answer.reply.usage else {})}

    def _tools(self, answer: Answer) -> dict[str, Any]:
        calls = [{"function": {"name": name, "arguments": dict(given)}} for name, given in answer.reply.tools]
        return {"tool_calls": calls} if calls else {}

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._part(answer, answer.reply.text, **self._tools(answer)) | self._end(answer)

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        parts = [self._part(answer, piece) for piece in pieces(answer.reply.text, chunk_words)]
        tools = [self._part(answer, "", **self._tools(answer))] if answer.reply.tools else []
        last = self._part(answer, "") | self._end(answer)
        return [json.dumps(part).encode() + b"\n" for part in (*parts, *tools, last)]

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": message}

    def error_event(self, message: str) -> bytes:
        return json.dumps({"error": message}).encode() + b"\n"


DIALECTS: dict[str, Dialect] = {"openai": OpenAI(), "anthropic": Anthropic(), "ollama": Ollama()}
