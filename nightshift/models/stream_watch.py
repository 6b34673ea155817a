"""Watches HTTP responses below the vendors' packages: each byte, whether a stream was complete, and how it began.

A vendor's package is its Python library. The packages drop comments and pings and accept a truncated stream as
complete. They fail on empty frames, and on servers that answer a streaming request with one JSON document. A hook of
the HTTP client (`httpx` or a library modelled on it) corrects all these cases, so the packages always see a valid
stream of events.

A package buffers a line until it ends, so a server that never ends a line would fill the memory. Therefore the size of
a response is limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MAX_RESPONSE_BYTES = 64 << 20
"""Maximum size of a response in bytes. Even the longest reply needs much less, although each word of a stream takes a
few hundred bytes of JSON.
"""
HEAD_BYTES = 300
UNCOMPRESSED = {"Accept-Encoding": "identity"}
"""Headers that ask for uncompressed responses, so that the counted bytes equal the bytes held in memory."""

_BLANK = b"\xef\xbb\xbf \t\r\n"
_NOTHING = re.compile(rb'(?:null|""|\[\]|[A-Za-z][\w-]*)?')
"""Data of an event that only keeps the connection alive."""

Hook = Callable[[Any], Awaitable[None]]


@dataclass(slots=True)
class StreamWatch:
    """The state of the watch over the requests of one `watch_stream` block.

    Attributes:
        on_byte: called with each part that arrives, whatever its content.
        expects_events: True if a successful response is a stream of events, whose frames are then corrected.
        is_done: True after the stream sent `[DONE]`.
        head: the beginning of the response.
        responses: the responses so far.
    """

    on_byte: Callable[[], None] = lambda: None
    expects_events: bool = False
    is_done: bool = False
    head: bytes = b""
    responses: list[Any] = field(default_factory=list)

    async def aclose(self) -> None:
        """Close the responses.

        If a request is cancelled, the vendor's library may leave its response open, and the model would continue to
        write.
        """
        for response in self.responses:
            await response.aclose()

    @property
    def beginning(self) -> str:
        """The beginning of the response if it is not a stream of events; empty otherwise."""
        head = self.head.decode("utf-8", "replace").strip()
        return "" if head.startswith(("data:", "event:", ":", "id:", "retry:")) else head


_current: ContextVar[StreamWatch | None] = ContextVar("stream_watch", default=None)


@contextmanager
def watch_stream(on_byte: Callable[[], None], *, expects_events: bool = False) -> Iterator[StreamWatch]:
    """Watch the requests that this asyncio task makes while the block runs."""
    watch = StreamWatch(on_byte, expects_events)
    token = _current.set(watch)
    try:
        yield watch
    finally:
        _current.reset(token)


def limit_responses(package: Any, max_bytes: int = MAX_RESPONSE_BYTES) -> Hook:
    """Return a response hook for an `httpx` client, which limits the size of responses and feeds the watch.

    Args:
        package: `httpx`, or a package modelled on it.
        max_bytes: how many bytes of a response may be read. If there are more, the package's `RemoteProtocolError` is
            raised.
    """

    class Counted(package.AsyncByteStream):  # type: ignore[misc]  # known at run time only
        """A response's bytes, counted and bounded."""

        def __init__(self, inner: Any, watch: StreamWatch, kind: str) -> None:
            self.inner, self.watch, self.kind = inner, watch, kind
            self.is_over = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            parts = self.read_bounded()
            async for part in _correct_frames(parts, self.watch, self.kind) if self.kind else parts:
                yield part

        async def read_bounded(self) -> AsyncIterator[bytes]:
            # A package may iterate again to drain the response. `httpcore` then never returns and never suspends, if
            # all bytes were read and the server closed the connection.
            if self.is_over:
                return
            read = 0
            async for part in self.inner:
                self.watch.on_byte()
                self.watch.head += part[: HEAD_BYTES - len(self.watch.head)]
                if (read := read + len(part)) > max_bytes:
                    raise package.RemoteProtocolError(f"the answer is longer than {max_bytes:,} bytes")
                yield part
            self.is_over = True

        async def aclose(self) -> None:
            await self.inner.aclose()

    async def hook(response: Any) -> None:
        watch = _current.get() or StreamWatch()
        watch.responses.append(response)
        response.stream = Counted(response.stream, watch, _kind(response) if watch.expects_events else "")

    return hook


def _kind(response: Any) -> str:
    """Return the kind of the response: `events`, `json`, or an empty string for an error, which is not corrected."""
    if response.status_code != 200:
        return ""
    return "json" if "json" in response.headers.get("content-type", "") else "events"


async def _correct_frames(parts: AsyncIterator[bytes], watch: StreamWatch, kind: str) -> AsyncIterator[bytes]:
    """Yield the stream without events that hold no object. A JSON document is converted to a stream of events."""
    begun = b""
    async for part in parts:
        begun += part
        if kind != "json" and begun.strip(_BLANK):
            break
    if begun.strip(_BLANK).startswith(b"{"):  # some servers call their document a stream, or give it no type
        begun = _as_events(begun + b"".join([part async for part in parts]))
    open_line, held, has_data, numbers = b"", b"", False, CallNumbers()
    async for part in _chain_parts(begun, parts):
        *lines, open_line = (open_line + part).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else None
            watch.is_done |= data == b"[DONE]"
            if data is not None and not _NOTHING.fullmatch(data):
                fixed = b"data: " + numbers.renumber(data) if b'"tool_calls"' in data else line
                yield held + fixed + b"\n"
                held, has_data = b"", True
            elif line.strip():
                held += b"" if data is not None or line.strip() == b"data" else line + b"\n"
            else:
                if has_data:
                    yield held + b"\n"
                held, has_data = b"", False
    yield open_line


class CallNumbers:
    """Gives each tool call of a stream a unique number, because some servers repeat numbers or send none."""

    def __init__(self) -> None:
        self._open = dict[object, list[Any]]()  # maps the server's number to ours, the call's id and its arguments
        self._count = 0

    def renumber(self, data: bytes) -> bytes:
        """Replace the call numbers in a chunk of chat completions; other data is returned unchanged."""
        try:
            chunk = json.loads(data)
            delta = chunk["choices"][0]["delta"]
            if isinstance(delta["tool_calls"], dict):  # text-generation-inference sends one call without a list
                delta["tool_calls"] = [delta["tool_calls"]]
            for call in delta["tool_calls"]:
                call["index"] = self._number(call)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return data
        return json.dumps(chunk).encode()

    def _number(self, call: dict[str, Any]) -> int:
        index, call_id, function = call.get("index"), call.get("id") or "", call.get("function") or {}
        before, arguments, name = self._open.get(index), function.get("arguments") or "", function.get("name") or ""
        # The package cannot join an object to a text.
        function["arguments"] = arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
        if (
            before is None
            or (call_id and before[1] and call_id != before[1])
            or _begins_another(before, name, arguments)
        ):
            before = self._open[index] = [self._count, call_id, "", name]
            self._count += 1
        else:
            function.pop("name", None)  # some servers repeat the name in each piece, and the package would join them
        before[1] = before[1] or call_id
        before[2] += arguments
        return int(before[0])


def _begins_another(before: list[Any], name: str, arguments: str) -> bool:
    """Check whether a piece with a name begins a call, although it has the number and the id of the call before."""
    is_other_name = bool(name and before[3] and name != before[3])
    return is_other_name or bool(name and (arguments.strip() or not before[1]) and _is_object(before[2]))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _as_events(document: bytes) -> bytes:
    """Convert a whole chat completion to an event stream, and an error to an error event.

    Other data stays unchanged.
    """
    try:
        data = json.loads(document)
    except (ValueError, RecursionError):
        return document
    if isinstance(data, Mapping) and isinstance(choices := data.get("choices"), list):
        data = {**data, "choices": [{**choice, "delta": choice.get("message") or {}} for choice in choices]}
    elif isinstance(data, Mapping) and (error := data.get("error")):
        data = {"error": error if isinstance(error, Mapping) else {"message": str(error)}}
    else:
        return document
    return b"data: " + json.dumps(data).encode() + b"\n\ndata: [DONE]\n\n"


async def _chain_parts(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part
