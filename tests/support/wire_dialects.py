"""The vendors' wire formats for replies, streams and errors; `WireServer` uses them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CREATED = 1_700_000_000
SIGNATURE = "c2lnbmVk"
"""The signature of a thinking block, as base64. Vendors that send one expect it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A scripted model's reply. A plain `str` stands for `Reply(text=…)`.

    Attributes:
        text: the text of the reply.
        thinking: comes before everything else, in each vendor's own form, with a signature if the vendor has one.
        finish: the reason for the end: stop, length, tool or filter.
        usage: False leaves the token counts out.
        tools: tool calls as (name, arguments). The arguments are a mapping, or a text as a model writes it, which may
            be broken JSON. Ollama's server parses the arguments itself and answers with an error if it cannot. In a
            stream the arguments come in pieces.
    """

    text: str
    thinking: str = ""
    finish: str = "stop"
    usage: bool = True
    tools: Sequence[tuple[str, Mapping[str, Any] | str]] = ()

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls, with their arguments as text."""
        return [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in self.tools]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply with the model's name and the token count that its response needs. Tokens are counted as words."""

    model: str
    reply: Reply
    tokens_in: int

    @property
    def tokens_out(self) -> int:
        return len(" ".join([self.reply.text, *(f"{name} {given}" for name, given in self.reply.calls)]).split())


class Dialect(Protocol):
    """One wire format. `events` returns the pieces of a stream in order; the last `closing` pieces end the stream."""

    content_type: str
    closing: int

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, Any]]: ...
    def tools(self, body: Mapping[str, Any]) -> list[dict[str, Any]]: ...
    def full_response(self, answer: Answer) -> dict[str, Any]: ...
    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]: ...
    def error(self, status: int, message: str, code: str) -> dict[str, Any]: ...
    def error_event(self, message: str) -> bytes: ...


def pieces(text: str, words: int) -> list[str]:
    """Cut a text into chunks of this many words; joined, the chunks give the text."""
    return re.findall(rf"(?:\s*\S+){{1,{words}}}\s*|\s+", text)


def _letters(text: str, size: int = 7) -> list[str]:
    """Cut the JSON text of a tool call's arguments into pieces that may break within words, as vendors do."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def _neutral(name: object, given: object, call_id: object = "") -> dict[str, Any]:
    """Return a tool call in the vendor-neutral form that tests read."""
    return {"id": call_id, "name": name, "arguments": json.loads(given) if isinstance(given, str) else given}


def _functions(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = ("name", "description", "parameters")
    return [{name: tool["function"].get(name) for name in names} for tool in body.get("tools") or []]


def _read_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert messages of OpenAI's chat API or of Ollama to the vendor-neutral form that tests read."""
    turns = []
    for message in messages:
        turn: dict[str, Any] = {"role": str(message.get("role")), "content": _read_text(message.get("content"))}
        if calls := message.get("tool_calls"):
            named = [(call["function"], call.get("id", "")) for call in calls]
            turn["calls"] = [_neutral(function["name"], function["arguments"], call_id) for function, call_id in named]
        if turn["role"] == "tool":
            turn["call_id"] = message.get("tool_call_id") or message.get("tool_name", "")
        turns.append(turn)
    return turns


def _sse(data: object, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


class OpenAI:
    """The wire format of OpenAI's chat API, `/v1/chat/completions`."""

    content_type = "text/event-stream"
    closing = 3
    finishes: Mapping[str, str] = {"tool": "tool_calls", "filter": "content_filter"}

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return _turns(body.get("messages") or [])

    def tools(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return _functions(body)

    def _head(self, answer: Answer, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": CREATED, "model": answer.model}

    def _usage(self, answer: Answer) -> dict[str, int]:
        total = answer.tokens_in + answer.tokens_out
        return {"prompt_tokens": answer.tokens_in, "completion_tokens": answer.tokens_out, "total_tokens": total}

    def _tools(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": a}}
            for i, (n, a) in enumerate(answer.reply.calls)
        ]

    def _tool_pieces(self, answer: Answer) -> Iterator[dict[str, Any]]:
        """Yield a stream's pieces of the tool calls.

        The name of each call comes first, then its arguments in pieces without id and name.
        """
        for call in self._tools(answer):
            name, given = call["function"]["name"], call["function"]["arguments"]
            yield {**call, "function": {"name": name, "arguments": ""}}
            yield from ({"index": call["index"], "function": {"arguments": piece}} for piece in _letters(given))

    def _finish(self, answer: Answer) -> str:
        return self.finishes.get(answer.reply.finish, answer.reply.finish)

    def full_response(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.reply.text}
        if answer.reply.thinking:
            message["reasoning_content"] = answer.reply.thinking
        if answer.reply.tools:
            message["tool_calls"] = self._tools(answer)  # type: ignore[assignment]  # the wire's own loose shape
        choice = {"index": 0, "message": message, "finish_reason": self._finish(answer)}
        usage = {"usage": self._usage(answer)} if answer.reply.usage else {}
        return {**self._head(answer, "chat.completion"), "choices": [choice], **usage}

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        head = self._head(answer, "chat.completion.chunk")

        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
            return _sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        thoughts = [chunk({"reasoning_content": piece}) for piece in pieces(answer.reply.thinking, chunk_words)]
        texts = [*thoughts, *(chunk({"content": piece}) for piece in pieces(answer.reply.text, chunk_words))]
        tools = [chunk({"tool_calls": [piece]}) for piece in self._tool_pieces(answer)]
        wanted = (body.get("stream_options") or {}).get("include_usage") and answer.reply.usage
        usage = _sse({**head, "choices": [], "usage": self._usage(answer)}) if wanted else b": no usage\n\n"
        start, end = chunk({"role": "assistant", "content": ""}), chunk({}, self._finish(answer))
        return [start, *texts, *tools, end, usage, _sse("[DONE]")]

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}

    def error_event(self, message: str) -> bytes:
        return _sse(self.error(500, message, "server_error"))


class Anthropic:
    """The wire format of Anthropic's API, `/v1/messages`."""

    content_type = "text/event-stream"
    closing = 3
    finishes: Mapping[str, str] = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use", "filter": "refusal"}

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        system = [{"role": "system", "content": _read_text(body["system"])}] if body.get("system") else []
        turns = [turn for message in body.get("messages") or [] for turn in self._turns_of(message)]
        return [*system, *turns]

    def _turns_of(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Split a message into vendor-neutral messages.

        Each tool result becomes a message of its own, before the rest of the message.
        """
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            if block["type"] == "tool_result":
                yield {"role": "tool", "content": _read_text(block["content"]), "call_id": block["tool_use_id"]}
        texts = [block for block in blocks if block["type"] == "text"]
        calls = [_neutral(b["name"], b["input"], b["id"]) for b in blocks if b["type"] == "tool_use"]
        if texts or calls:
            yield {"role": message["role"], "content": _read_text(texts), **({"calls": calls} if calls else {})}

    def tools(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
            for tool in body.get("tools") or []
        ]

    def _message(self, answer: Answer, content: list[dict[str, Any]], stop: str | None, out: int) -> dict[str, Any]:
        usage = {"input_tokens": answer.tokens_in, "output_tokens": out}
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": answer.model, "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        tools = [
            {"type": "tool_use", "id": f"toolu_{i}", "name": n, "input": a}
            for i, (n, a) in enumerate(answer.reply.calls)
        ]
        thought = {"type": "thinking", "thinking": answer.reply.thinking, "signature": SIGNATURE}
        return [*([thought] if answer.reply.thinking else []), {"type": "text", "text": answer.reply.text}, *tools]

    def full_response(self, answer: Answer) -> dict[str, Any]:
        stop = self.finishes[answer.reply.finish]
        blocks = [{**b, "input": json.loads(b["input"])} if "input" in b else b for b in self._blocks(answer)]
        return self._message(answer, blocks, stop, answer.tokens_out)

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        return list(self._events(answer, chunk_words))

    def _events(self, answer: Answer, chunk_words: int) -> Iterator[bytes]:
        yield self._event("message_start", message=self._message(answer, [], None, 1))
        for index, block in enumerate(self._blocks(answer)):
            if block["type"] == "thinking":
                yield from self._thought(index, block)
                continue
            text = block["type"] == "text"
            start: dict[str, Any] = {**block, "text": ""} if text else {**block, "input": {}}
            yield self._event("content_block_start", index=index, content_block=start)
            parts = pieces(block["text"], chunk_words) if text else ["", *_letters(block["input"])]
            for part in parts:
                delta = {"type": "text_delta", "text": part} if text else _json_delta(part)
                yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        end = {"stop_reason": self.finishes[answer.reply.finish], "stop_sequence": None}
        yield self._event("message_delta", delta=end, usage={"output_tokens": answer.tokens_out})
        yield self._event("message_stop")

    def _thought(self, index: int, block: Mapping[str, Any]) -> Iterator[bytes]:
        yield self._event("content_block_start", index=index, content_block={**block, "thinking": "", "signature": ""})
        delta = {"type": "thinking_delta", "thinking": block["thinking"]}
        yield self._event("content_block_delta", index=index, delta=delta)
        proof = {"type": "signature_delta", "signature": block["signature"]}
        yield self._event("content_block_delta", index=index, delta=proof)
        yield self._event("content_block_stop", index=index)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code, "message": message}}

    def error_event(self, message: str) -> bytes:
        return _sse(self.error(529, message, "overloaded_error"), "error")


def _json_delta(part: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": part}


class Ollama:
    """The wire format of Ollama's API, `/api/chat`."""

    content_type = "application/x-ndjson"
    closing = 1

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return _turns(body.get("messages") or [])

    def tools(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return _functions(body)

    def _part(self, answer: Answer, text: str, **more: Any) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text, **more}
        return {"model": answer.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}

    def _end(self, answer: Answer) -> dict[str, Any]:
        reason = {"tool": "stop", "filter": "stop"}.get(answer.reply.finish, answer.reply.finish)
        counts = {"prompt_eval_count": answer.tokens_in, "eval_count": answer.tokens_out}
        return {"done": True, "done_reason": reason, "total_duration": 10**6, **(counts if answer.reply.usage else {})}

    def _tools(self, answer: Answer) -> dict[str, Any]:
        calls = [{"function": {"name": name, "arguments": json.loads(given)}} for name, given in answer.reply.calls]
        return {"tool_calls": calls} if calls else {}

    def full_response(self, answer: Answer) -> dict[str, Any]:
        return self._part(answer, answer.reply.text, **self._tools(answer)) | self._end(answer)

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        thoughts = [self._part(answer, "", thinking=piece) for piece in pieces(answer.reply.thinking, chunk_words)]
        parts = [*thoughts, *(self._part(answer, piece) for piece in pieces(answer.reply.text, chunk_words))]
        try:
            tools = [self._part(answer, "", **self._tools(answer))] if answer.reply.tools else []
        except (ValueError, RecursionError) as error:
            raw = answer.reply.calls[0][1]
            return [self.error_event(f"error parsing tool call: raw='{raw}', err={error}")]
        last = self._part(answer, "") | self._end(answer)
        return [json.dumps(part).encode() + b"\n" for part in (*parts, *tools, last)]

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": message}

    def error_event(self, message: str) -> bytes:
        return json.dumps({"error": message}).encode() + b"\n"


class Responses:
    """The wire format of OpenAI's Responses API, `/v1/responses`."""

    content_type = "text/event-stream"
    closing = 1

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        turns = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
        for item in body.get("input") or []:
            kind = item.get("type", "message")
            if kind == "function_call":
                call = _neutral(item["name"], item["arguments"], item["call_id"])
                if not (turns and turns[-1]["role"] == "assistant"):
                    turns.append({"role": "assistant", "content": ""})
                turns[-1].setdefault("calls", []).append(call)
            elif kind == "function_call_output":
                turns.append({"role": "tool", "content": _read_text(item["output"]), "call_id": item["call_id"]})
            elif kind == "message":
                role = "system" if item["role"] == "developer" else item["role"]
                turns.append({"role": role, "content": _read_text(item["content"])})
        return turns

    def tools(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {name: tool.get(name) for name in ("name", "description", "parameters")} for tool in body.get("tools") or []
        ]

    def _items(self, answer: Answer) -> list[dict[str, Any]]:
        reply = answer.reply
        thought = {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "encrypted_content": SIGNATURE,
            "status": "completed",
        }
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        calls = [
            {"type": "function_call", "id": f"fc_{i}", "call_id": f"call_{i}", "name": name, "arguments": given,
             "status": "completed"} for i, (name, given) in enumerate(reply.calls)
        ]  # fmt: skip
        return [*([thought] if reply.thinking else []), *([message] if reply.text or not calls else []), *calls]

    def full_response(self, answer: Answer, status: str = "") -> dict[str, Any]:
        reply = answer.reply
        cut = {"length": "max_output_tokens", "filter": "content_filter"}.get(reply.finish)
        usage = {
            "input_tokens": answer.tokens_in, "output_tokens": answer.tokens_out,
            "total_tokens": answer.tokens_in + answer.tokens_out,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
        }  # fmt: skip
        return {
            "id": "resp_1", "object": "response", "created_at": CREATED, "model": answer.model,
            "status": status or ("incomplete" if cut else "completed"),
            "incomplete_details": {"reason": cut} if cut else None, "error": None, "instructions": None,
            "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [],
            "top_p": 1.0, "output": [] if status else self._items(answer),
            "usage": usage if reply.usage and not status else None,
        }  # fmt: skip

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        numbered = enumerate(self._events(answer, chunk_words))
        return [_sse({"sequence_number": n, **event}, event["type"]) for n, event in numbered]

    def _events(self, answer: Answer, chunk_words: int) -> Iterator[dict[str, Any]]:
        yield {"type": "response.created", "response": self.full_response(answer, "in_progress")}
        for index, item in enumerate(self._items(answer)):
            where = {"item_id": item["id"], "output_index": index}
            empty: dict[str, Any] = (
                {"content": []} if item["type"] == "message" else {"arguments": ""} if "arguments" in item else {}
            )
            begun = {**item, "status": "in_progress", **empty}
            yield {"type": "response.output_item.added", "output_index": index, "item": begun}
            if item["type"] == "message":
                text, part = item["content"][0]["text"], {**item["content"][0], "text": ""}
                yield {"type": "response.content_part.added", **where, "content_index": 0, "part": part}
                for piece in pieces(text, chunk_words):
                    delta = {"content_index": 0, "delta": piece, "logprobs": []}
                    yield {"type": "response.output_text.delta", **where, **delta}
                yield {"type": "response.output_text.done", **where, "content_index": 0, "text": text, "logprobs": []}
            elif item["type"] == "function_call":
                for piece in _letters(item["arguments"]):
                    yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
                ended = {"arguments": item["arguments"], "name": item["name"]}
                yield {"type": "response.function_call_arguments.done", **where, **ended}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        end = self.full_response(answer)
        yield {"type": f"response.{end['status']}", "response": end}

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}

    def error_event(self, message: str) -> bytes:
        event = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 9}
        return _sse(event, "error")


class Gemini:
    """The wire format of Gemini's API, `/v1beta/models/…:streamGenerateContent`."""

    content_type = "text/event-stream"
    closing = 1
    finishes: Mapping[str, str] = {"stop": "STOP", "length": "MAX_TOKENS", "tool": "STOP", "filter": "SAFETY"}

    def turns(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        system = body.get("systemInstruction") or {}
        turns = [{"role": "system", "content": _read_text(system.get("parts"))}] if system else []
        for content in body.get("contents") or []:
            role = "assistant" if content.get("role") == "model" else "user"
            results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            turns += [
                {"role": "tool", "content": _result_of(each["response"]), "call_id": each.get("id", each["name"])}
                for each in results
            ]
            calls = [
                _neutral(part["functionCall"]["name"], part["functionCall"]["args"], part["functionCall"].get("id", ""))
                for part in content["parts"] if "functionCall" in part
            ]  # fmt: skip
            texts = [part for part in content["parts"] if "text" in part and not part.get("thought")]
            if texts or calls:
                call_fields: dict[str, Any] = {"calls": calls} if calls else {}
                turns.append({"role": role, "content": _read_text(texts), **call_fields})
        return turns

    def tools(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        offered = [
            declaration for tool in body.get("tools") or [] for declaration in tool.get("functionDeclarations") or []
        ]
        return [
            {
                "name": declaration["name"],
                "description": declaration.get("description"),
                "parameters": _schema(declaration),
            }
            for declaration in offered
        ]

    def _part(self, answer: Answer, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
        counts = {"promptTokenCount": answer.tokens_in, "candidatesTokenCount": answer.tokens_out}
        usage = {"usageMetadata": counts} if answer.reply.usage else {}
        ended = {"finishReason": finish} if finish else {}
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ended}
        return {"candidates": [candidate], "modelVersion": answer.model, "responseId": "r1", **usage}

    def _parts(self, answer: Answer, chunk_words: int) -> Iterator[dict[str, Any]]:
        reply, proof = answer.reply, {"thoughtSignature": SIGNATURE}
        if reply.thinking:
            yield {"text": reply.thinking, "thought": True}
        yield from ({"text": piece} for piece in pieces(reply.text, chunk_words))
        for number, (name, given) in enumerate(reply.calls):
            call = {"functionCall": {"id": f"call_{number}", "name": name, "args": _arguments(given)}}
            yield {**call, **(proof if reply.thinking and not number else {})}

    def full_response(self, answer: Answer) -> dict[str, Any]:
        return self._part(answer, list(self._parts(answer, 10**6)), self.finishes[answer.reply.finish])

    def events(self, answer: Answer, body: Mapping[str, Any], chunk_words: int) -> list[bytes]:
        parts = [self._part(answer, [part]) for part in self._parts(answer, chunk_words)]
        last = self._part(answer, [{"text": ""}], self.finishes[answer.reply.finish])
        return [_sse(part) for part in (*parts, last)]

    def error(self, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": code.upper()}}

    def error_event(self, message: str) -> bytes:
        return _sse(self.error(503, message, "unavailable"))


def _arguments(given: str) -> dict[str, Any]:
    try:
        read = json.loads(given, strict=False)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"text": given}


def _result_of(response: Mapping[str, Any]) -> str:
    return str(next(iter(response.values()), ""))


DIALECTS: dict[str, Dialect] = {
    "openai": OpenAI(), "responses": Responses(), "anthropic": Anthropic(), "gemini": Gemini(), "ollama": Ollama(),
}  # fmt: skip


def _schema(declaration: Mapping[str, Any]) -> Any:
    """Return the parameter schema of a Gemini tool, which clients send under either of two names."""
    return declaration.get("parametersJsonSchema") or declaration.get("parameters_json_schema")
