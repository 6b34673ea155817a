"""JSON-RPC 2.0 in lines with a peer that is not trusted: messages, their sizes and their number are bounded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from nightshift.core.errors import NightshiftError
from nightshift.core.text.masking import printable

MOST_LINE = 16 << 20
"""The bytes of one message."""
MOST_BYTES = 256 << 20
"""The bytes of all messages of one session."""
MOST_NOISE = 200
"""So many lines that are no messages are passed over: some agents print a log where messages belong."""
METHOD_NOT_FOUND, INTERNAL = -32601, -32603
AUTH_REQUIRED = -32000
_MOST_SAID = 500


class PeerGone(NightshiftError):
    """The peer has closed its side."""


class PeerFault(NightshiftError):
    """The peer does not keep to the protocol."""


class RpcError(NightshiftError):
    """An answer that is an error, from the peer or for it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Handler(Protocol):
    """What answers the peer."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification."""
        ...

    async def asked(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Answer a request.

        Raises:
            RpcError: what is answered instead.
        """
        ...


class Connection:
    """One connection. Requests of the peer are answered one after the other, so that it can have no more than one open.

    Args:
        reader: from the peer; its limit is that of a message.
        writer: to the peer.
        handler: answers it.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
        self._reader, self._writer, self._handler = reader, writer, handler
        self._waiting = dict[int, asyncio.Future[Any]]()
        self._next, self._received, self._noise = 1, 0, 0
        self._ended: BaseException | None = None

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the peer, while `listen` runs.

        Raises:
            RpcError: it answers with an error.
            PeerGone: it went away; what else ends `listen` is raised as well.
        """
        if self._ended:
            raise self._ended
        number, self._next = self._next, self._next + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the peer something.

        Raises:
            PeerGone: it went away.
        """
        await self._send({"method": method, "params": params})

    async def listen(self) -> None:
        """Take what comes until the peer goes away; requests that wait get what ended it."""
        try:
            while True:
                await self._take(await self._line())
        except BaseException as error:
            self._ended = error if isinstance(error, Exception) else PeerGone("the connection was closed")
            raise
        finally:
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._ended or PeerGone("the connection was closed"))

    async def _line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise PeerGone("it closed its output") from None
        except asyncio.LimitOverrunError:
            raise PeerFault(f"it sent a message of more than {MOST_LINE >> 20} MB") from None
        except OSError as error:
            raise PeerGone(f"the connection broke: {error.strerror}") from None
        self._received += len(line)
        if self._received > MOST_BYTES:
            raise PeerFault(f"it sent more than {MOST_BYTES >> 20} MB")
        return line

    async def _take(self, line: bytes) -> None:
        message = _read(line)
        if message is None:
            self._noise += bool(line.strip())
            if self._noise > MOST_NOISE:
                raise PeerFault(f"more than {MOST_NOISE} lines of its output are no messages")
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self._answered(number, message)
        elif number is None:
            self._handler.notified(method, params)
        else:
            await self._answer(number, self._handler.asked(method, params))

    def _answered(self, number: object, message: Mapping[str, Any]) -> None:
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        if isinstance(error := message.get("error"), dict):
            code, said = error.get("code"), printable(str(error.get("message", "")), max_chars=_MOST_SAID)
            details = printable(json.dumps(error["data"]), max_chars=_MOST_SAID) if error.get("data") else ""
            answer.set_exception(RpcError(code if isinstance(code, int) else INTERNAL, f"{said} {details}".strip()))
        else:
            answer.set_result(message.get("result"))

    async def _answer(self, number: object, work: Awaitable[Mapping[str, Any] | None]) -> None:
        try:
            await self._send({"id": number, "result": await work})
        except RpcError as error:
            await self._send({"id": number, "error": {"code": error.code, "message": str(error)}})

    async def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await self._writer.drain()
        except OSError as error:
            raise PeerGone(f"it does not read any more: {error.strerror}") from None


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and ("method" in found or "id" in found) else None
