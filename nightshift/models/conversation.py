"""Converts our messages to those of the library that speaks to vendors, and the library's replies to ours.

Thoughts and the vendor-specific details of tool calls are sent back only to the model that wrote them. Thoughts that a
model wrote into its text are sent to no model. The library (pydantic_ai) is imported when the first model is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest, Thought
from nightshift.core.tools import ToolCall
from nightshift.models.base import CallName, CallText, ThoughtText
from nightshift.models.model_table import TABLE

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, ModelResponseStreamEvent
    from pydantic_ai.models import Model, ModelRequestParameters

ENDS = {word: Finish(name) for name, words in TABLE["ends"].items() for word in words}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BEFORE_NAME = re.compile(r"\A(?:.*\bto=)?[\s`'\"]*(?:(?:functions|default_api|tools?)[.:])?", re.DOTALL)
_BEHIND_NAME = re.compile(r"(?<=.)(?:<\||[\s(\[{<:`'\"]).*", re.DOTALL)
"""Matches leftovers of a chat format before and after a tool's name. Some servers forget to remove them."""
_NO_NAME = "unknown_tool"
NO_RESULT = "This call has no result."


def as_history(
    request: ModelRequest, model: Model[Any], author: str, ids: re.Pattern[str], lacks: Collection[str]
) -> list[ModelMessage]:
    """Convert the conversation to the library's messages.

    Args:
        request: the request to convert.
        model: the library's object for the model that is asked. It labels vendor-specific details as that model's own.
        author: the same model as `backend=model`; thoughts of other models are left out.
        ids: pattern of the call ids that the vendor accepts.
        lacks: features that the server lacks, such as `system` and `parallel`.
    """
    from pydantic_ai import messages as pai  # noqa: PLC0415 - heavy; only needed once a model is asked

    turns: Iterable[Message] = request.messages
    if "system" in lacks or all(turn.role == "system" for turn in request.messages):  # system prompts alone are refused
        turns = without_system(request.messages)
    turns = pair_calls(turns, ids)
    if "parallel" in lacks:
        turns = _one_call_each(turns)
    names: dict[str, str] = {}
    history: list[ModelMessage] = []
    for turn in turns:
        if turn.role == "assistant" and not (turn.text.strip() or turn.tool_calls):
            continue
        if turn.role == "assistant":
            names |= {call.id: _sendable(call.name) for call in turn.tool_calls}
            history.append(_response(turn, model, is_own=turn.author == author))
            continue
        part: pai.ModelRequestPart
        if turn.role == "tool":
            part = pai.ToolReturnPart(names[turn.call_id], turn.text, turn.call_id)
        else:
            part = pai.SystemPromptPart(turn.text) if turn.role == "system" else pai.UserPromptPart(turn.text)
        if history and isinstance(history[-1], pai.ModelRequest):
            history[-1].parts = [*history[-1].parts, part]
        else:
            history.append(pai.ModelRequest([part]))
    return history


def pair_calls(messages: Iterable[Message], allowed: re.Pattern[str]) -> tuple[Message, ...]:
    """Return the messages in a form that every vendor accepts: calls have unique ids, and results follow their calls.

    A conversation may have begun with another vendor, or with calls written as text, which have no ids. Duplicate ids
    and ids that are not `allowed` are replaced, in the same way in each later request. A result without a known call
    becomes a user message.
    """
    turns, used, waiting = list[Message](), set[str](), dict[str, str]()  # new id to old id of calls without a result
    for message in messages:
        wanted = message.call_id  # a result without an id answers the next call
        answered = next((new for new, old in waiting.items() if old == wanted or not wanted), "")
        if message.role == "tool" and answered:
            del waiting[answered]
            turns.append(replace(message, call_id=answered))
            continue
        turns += map(_answer_nothing, waiting)
        calls = tuple(replace(call, id=_fresh(call.id, used, allowed)) for call in message.tool_calls)
        waiting = {new.id: old.id for new, old in zip(calls, message.tool_calls, strict=True)}
        role = "user" if message.role == "tool" else message.role
        turns.append(replace(message, role=role, tool_calls=calls, call_id=""))
    return (*turns, *map(_answer_nothing, waiting))


def _answer_nothing(call_id: str) -> Message:
    return Message(role="tool", text=NO_RESULT, call_id=call_id)


def _fresh(call_id: str, used: set[str], allowed: re.Pattern[str]) -> str:
    # Nine letters and digits are the format of the strictest server (Mistral's).
    fresh_ids = (f"call{number:05d}" for number in count(len(used)))
    new = next(each for each in chain([call_id] if allowed.fullmatch(call_id) else [], fresh_ids) if each not in used)
    used.add(new)
    return new


def without_system(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Move the system prompts to the start of the first user turn."""
    system = [message.text for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not rest or rest[0].role != "user":
        rest.insert(0, Message(role="user", text=""))
    rest[0] = replace(rest[0], text="\n\n".join(filter(None, [*system, rest[0].text])))
    return tuple(rest)


def _one_call_each(messages: Iterable[Message]) -> Iterator[Message]:
    """Split turns with several calls into one turn per call, each followed by its result."""
    waiting = list[ToolCall]()
    for message in messages:
        if len(message.tool_calls) > 1:
            yield replace(message, tool_calls=message.tool_calls[:1])
            waiting = list(message.tool_calls[1:])
            continue
        yield message
        if message.role == "tool" and waiting:
            yield Message(role="assistant", text="", tool_calls=(waiting.pop(0),))


def _response(turn: Message, model: Model[Any], *, is_own: bool) -> ModelResponse:
    from pydantic_ai import messages as pai  # noqa: PLC0415 - heavy

    own: dict[str, Any] = {"provider_name": model.system} if is_own else {}
    parts: list[ModelResponsePart] = [pai.TextPart(turn.text)] if turn.text.strip() else []
    for call in turn.tool_calls:
        details = {**call.details} if is_own else {}
        item_id = details.pop("id", None)
        marks = {"id": item_id, "provider_details": details or None, **own} if item_id or details else {}
        parts.append(pai.ToolCallPart(_sendable(call.name), dict(call.arguments), call.id, **marks))
    marked = [each for each in turn.thoughts if each.id or each.signature or each.details]
    for before, thought in enumerate(marked if is_own else ()):
        marks = {"id": thought.id or None, "signature": thought.signature or None, **own}
        part = pai.ThinkingPart(thought.text, provider_details=dict(thought.details) or None, **marks)
        parts.insert(min(thought.place + before, len(parts)), part)
    where: dict[str, Any] = {"provider_url": model.base_url, "canonical_system": model.canonical_system}
    where = where if is_own else {}
    return pai.ModelResponse(parts, model_name=model.model_name, **own, **where)


def _sendable(name: str) -> str:
    """Return a tool's name in a form that every vendor accepts."""
    return name if _NAME.fullmatch(name) else re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or _NO_NAME


def parameters_of(request: ModelRequest) -> ModelRequestParameters:
    """Convert the tools of a request to the library's form."""
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - heavy
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

    tools = [
        ToolDefinition(name=spec.name, description=spec.description, parameters_json_schema=spec.schema)
        for spec in request.tools
    ]
    return ModelRequestParameters(function_tools=tools)


def pieces_of(event: ModelResponseStreamEvent) -> Iterator[str]:
    """Yield the pieces of a reply that a stream event contains, as `models.base.OnText` expects them."""
    part = getattr(event, "part", None) if event.event_kind == "part_start" else getattr(event, "delta", None)
    if event.event_kind not in {"part_start", "part_delta"} or part is None:
        return
    kind = getattr(part, "part_kind", None) or part.part_delta_kind
    if kind in {"text", "thinking"}:
        text = (part.content if event.event_kind == "part_start" else part.content_delta) or ""
        yield ThoughtText(text) if kind == "thinking" else text
    elif event.event_kind == "part_start" and kind == "tool-call":
        yield CallName(clean_name(part.tool_name))
        yield CallText(_write_arguments(part.args))
    elif kind in {"tool_call", "tool-call"}:
        yield CallText(_write_arguments(part.args_delta))


def _write_arguments(arguments: str | Mapping[str, Any] | None) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""


def read_arguments(text: str) -> Mapping[str, Any]:
    """Parse a tool call's arguments. Text that is not a JSON object is returned under the key `text`.

    Raw newlines within strings are accepted: JSON requires them to be escaped, and models forget to do so.
    """
    try:
        read = json.loads(text or "{}", strict=False)
        read = json.loads(read, strict=False) if isinstance(read, str) else read  # some servers encode twice
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"text": text}


def clean_name(name: str) -> str:
    """Return a tool's name without the parts of the chat format that leaked into it."""
    return _BEHIND_NAME.sub("", _BEFORE_NAME.sub("", name)) or name[:64]


def as_completion(response: ModelResponse, *, backend: str, model: str) -> Completion:
    """Convert the library's response. Token counts are those of the server, or 0 if the server sent none."""
    texts, calls, thoughts = list[str](), list[ToolCall](), list[Thought]()
    for part in response.parts:
        if part.part_kind == "text":
            texts.append(part.content)
        elif part.part_kind == "thinking":
            thoughts.append(
                Thought(
                    text=part.content,
                    signature=part.signature or "",
                    id=part.id or "",
                    details=part.provider_details or {},
                    place=len(calls) + bool("".join(texts).strip()),
                )
            )
        elif part.part_kind == "tool-call":
            details = {**({"id": part.id} if part.id else {}), **(part.provider_details or {})}
            arguments = dict(part.args) if isinstance(part.args, Mapping) else read_arguments(part.args or "")
            calls.append(
                ToolCall(name=clean_name(part.tool_name), arguments=arguments, id=part.tool_call_id, details=details)
            )
    ended = ENDS.get(str((response.provider_details or {}).get("finish_reason") or "stop").lower(), Finish.CUT)
    usage = response.usage
    cache = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return Completion(
        text="".join(texts),
        backend=backend,
        model=response.model_name or model,
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
        finish=Finish.TOOL if calls and ended is Finish.STOP else ended,
        tool_calls=tuple(calls),
        thoughts=tuple(thoughts),
        extra={name: count for name, count in cache.items() if count},
    )
