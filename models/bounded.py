"""Answers of servers that do not end: no response is read beyond a limit, whatever the vendor's package would take.

The packages gather a line until it ends, so a server that never ends one would fill the memory. Responses are asked for
uncompressed, so that what is counted is what has to be held.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

MAX_BYTES = 64 << 20
"""Far more than the longest reply, each of whose words comes in a few hundred bytes of JSON."""
HEAD_BYTES = 300
UNCOMPRESSED = {"Accept-Encoding": "identity"}

Hook = Callable[[Any], Awaitable[None]]


def bounded(package: Any, max_bytes: int = MAX_BYTES) -> Hook:
    """A hook for responses of an `httpx` client.

    Args:
        package: `httpx`, or what is made after it.
        max_bytes: how much of a response may be read; beyond that the package's `RemoteProtocolError` is raised.
    """

    class Counted(package.AsyncByteStream):  # type: ignore[misc]  # known at run time only
        """A response's bytes, and how they began."""

        def __init__(self, inner: Any) -> None:
            self.inner, self.head = inner, b""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = 0
            async for part in self.inner:
                self.head += part[: HEAD_BYTES - len(self.head)]
                if (read := read + len(part)) > max_bytes:
                    raise package.RemoteProtocolError(f"the answer is longer than {max_bytes:,} bytes")
                yield part

        async def aclose(self) -> None:
            await self.inner.aclose()

    async def hook(response: Any) -> None:
        response.stream = Counted(response.stream)

    return hook


def beginning(response: Any) -> str:
    """How a response began that was bounded, where that is no stream of events; else nothing."""
    head = getattr(response.stream, "head", b"").decode("utf-8", "replace").strip()
    return "" if head.startswith(("data:", "event:", ":", "id:", "retry:")) else head
