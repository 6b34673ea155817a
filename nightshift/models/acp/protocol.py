"""The part of the Agent Client Protocol that Nightshift uses: JSON-RPC 2.0 in lines, and one session with one prompt.

The peer is not trusted, so the size and number of its messages are limited. A permission is granted if all its paths
are inside the sandbox, and refused if one is outside; the sandbox would block such an access anyway. An agent reads and
writes the files of its copy directly, since the copy is in the same sandbox.
"""

from __future__ import annotations

import asyncio
import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightshift.core.errors import NightshiftError
from nightshift.core.isolation import WORK
from nightshift.core.text.masking import printable
from nightshift.core.version import VERSION
from nightshift.models.base import CallName, CallText, OnText

MOST_LINE = 16 << 20
"""Maximum size of one message, in bytes."""
MOST_BYTES = 256 << 20
"""Maximum size of all messages of one session together, in bytes."""
MOST_NOISE = 200
"""Number of lines that are not messages and are ignored. Some agents print a log to the stream of messages."""
METHOD_NOT_FOUND, INTERNAL = -32601, -32603
AUTH_REQUIRED = -32000
_MOST_SAID = 500


class PeerGone(NightshiftError):
    """The peer has closed its side of the connection."""


class PeerFault(NightshiftError):
    """The peer violates the protocol."""


class RpcError(NightshiftError):
    """An error response, received from the peer or to be sent to it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Connection:
    """A connection to an agent. One request at a time is sent to the agent.

    While a request waits for its response, the agent's own requests are answered one after the other.

    Args:
        reader: the stream from the agent; the reader's limit is the maximum size of a message.
        writer: the stream to the agent.
        session: answers the agent's requests.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: AgentSession) -> None:
        self._reader, self._writer, self._session = reader, writer, session
        self._last, self._received, self._noise = 0, 0, 0

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request to the peer and return its result.

        Raises:
            RpcError: the peer answers with an error.
            PeerGone: the peer went away.
            PeerFault: the peer violates the protocol.
        """
        self._last += 1
        await self._send({"id": self._last, "method": method, "params": params})
        while True:
            message = await self._receive()
            called = message.get("method")
            if isinstance(called, str):
                await self._take(called, message)
            elif message.get("id") == self._last:
                return _result(message)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification to the peer.

        Raises:
            PeerGone: the peer went away.
        """
        await self._send({"method": method, "params": params})

    async def _receive(self) -> dict[str, Any]:
        """Return the next message. A limited number of lines that are not messages are ignored."""
        while True:
            line = await self._line()
            if message := _read(line):
                return message
            self._noise += bool(line.strip())
            if self._noise > MOST_NOISE:
                raise PeerFault(f"more than {MOST_NOISE} lines of the agent's output are not messages")

    async def _line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise PeerGone("the agent closed its output") from None
        except asyncio.LimitOverrunError:
            raise PeerFault(f"the agent sent a message of more than {MOST_LINE >> 20} MB") from None
        except OSError as error:
            raise PeerGone(f"the connection broke: {error.strerror}") from None
        self._received += len(line)
        if self._received > MOST_BYTES:
            raise PeerFault(f"the agent sent more than {MOST_BYTES >> 20} MB")
        return line

    async def _take(self, method: str, message: Mapping[str, Any]) -> None:
        number, params = message.get("id"), _mapping(message.get("params"))
        if number is None:
            self._session.take_update(method, params)
            return
        try:
            outcome: Mapping[str, Any] = {"result": self._session.answer(method, params)}
        except RpcError as error:
            outcome = {"error": {"code": error.code, "message": str(error)}}
        await self._send({"id": number, **outcome})

    async def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await self._writer.drain()
        except OSError as error:
            raise PeerGone(f"the agent no longer reads its input: {error.strerror}") from None


def _result(message: Mapping[str, Any]) -> Any:
    if not isinstance(error := message.get("error"), dict):
        return message.get("result")
    code, text = error.get("code"), printable(str(error.get("message", "")), max_chars=_MOST_SAID)
    details = printable(json.dumps(error["data"]), max_chars=_MOST_SAID) if error.get("data") else ""
    raise RpcError(code if isinstance(code, int) else INTERNAL, f"{text} {details}".strip())


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and ("method" in message or "id" in message) else None


PROTOCOL = 1
OWN_PLACES = (WORK, "/tmp")  # noqa: S108 (inside)
"""Folders in which an agent may do anything."""
_ALLOWING = ("allow_once", "allow_always")
_REFUSING = ("reject_once", "reject_always")
_MOST_REFUSED, _MOST_TITLE = 20, 200


class NotLoggedIn(RpcError):
    """The agent needs a login; the message says what the owner can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The agent's answer to the prompt.

    Attributes:
        reason: the protocol's stop reason.
        text: the agent's last message.
        tokens: input and output tokens as the agent reports them; None if it reports none.
        cost_usd: cost in USD as the agent reports it; None if it reports none.
        refused: descriptions of the permissions that the agent was refused.
    """

    reason: str
    text: str
    tokens: tuple[int, int] | None = None
    cost_usd: float | None = None
    refused: tuple[str, ...] = ()


class AgentSession:
    """One session with one prompt. It handles the messages of its connection.

    Args:
        on_text: receives the text that the agent writes, and its tool calls.
    """

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._text, self._before, self._calls = list[str](), "", set[str]()
        self._id, self._refused = "", dict[str, None]()
        self._cost: float | None = None

    async def begin(self, connection: Connection, auth_method: str) -> None:
        """Agree on the protocol version, log in if a login method is configured, and open the session.

        Raises:
            NotLoggedIn: the agent needs a login.
            PeerFault: the agent speaks another version of the protocol, or opens a session without an id.
            RpcError: the agent refuses.
        """
        hello = {
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
            "clientInfo": {"name": "nightshift", "version": VERSION},
        }
        answer = _mapping(await connection.request("initialize", hello))
        if answer.get("protocolVersion") != PROTOCOL:
            raise PeerFault(f"the agent speaks version {printable(str(answer.get('protocolVersion')))} of ACP, not 1")
        methods = [str(each.get("id")) for each in _mappings(answer.get("authMethods"))]
        if auth_method:
            await connection.request("authenticate", {"methodId": auth_method})
        try:
            opened = _mapping(await connection.request("session/new", {"cwd": WORK, "mcpServers": []}))
        except RpcError as error:
            if error.code != AUTH_REQUIRED:
                raise
            ways = printable(", ".join(methods[:20])) or "none"
            fix = f"add the variable of the agent's key to ACP_VARIABLES, and set ACP_AUTH (the agent offers {ways})"
            raise NotLoggedIn(error.code, f"{error}; {fix}") from None
        if not isinstance(session_id := opened.get("sessionId"), str):
            raise PeerFault("the agent opened a session without an id")
        self._id = session_id

    async def prompt(self, connection: Connection, text: str) -> Turn:
        """Send the prompt and wait until the agent has answered it. Raises the errors of `Connection.request`."""
        asked = {"sessionId": self._id, "prompt": [{"type": "text", "text": text}]}
        return self._turn(_mapping(await connection.request("session/prompt", asked)))

    async def cancel(self, connection: Connection) -> None:
        """Ask the agent to stop working on the prompt."""
        await connection.notify("session/cancel", {"sessionId": self._id})

    def cut_short(self) -> Turn:
        """Return the answer so far, marked as cancelled."""
        return self._turn({"stopReason": "cancelled"})

    def _turn(self, answer: Mapping[str, Any]) -> Turn:
        usage = _mapping(answer.get("usage"))
        counts = (usage.get("inputTokens"), usage.get("outputTokens"))
        is_counted = all(isinstance(count, int) and count >= 0 for count in counts)
        return Turn(
            reason=str(answer.get("stopReason", "")),
            text="".join(self._text).strip() or self._before,
            tokens=(int(counts[0] or 0), int(counts[1] or 0)) if is_counted else None,
            cost_usd=self._cost,
            refused=tuple(self._refused),
        )

    def take_update(self, method: str, params: Mapping[str, Any]) -> None:
        """Process a session update; any other notification only counts as a sign of life."""
        self._on_text("")
        if method != "session/update" or params.get("sessionId") != self._id:
            return
        update = _mapping(params.get("update"))
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            text = _mapping(update.get("content")).get("text")
            if isinstance(text, str) and text:
                self._text.append(text)
                self._on_text(text)
        elif kind == "tool_call":
            self._begin_call(update)
        elif kind == "plan":
            self._show("plan", [entry.get("content") for entry in _mappings(update.get("entries"))][:20])
        elif kind == "usage_update":
            cost = _mapping(update.get("cost"))
            amount = cost.get("amount")
            if cost.get("currency") == "USD" and isinstance(amount, int | float) and 0 <= amount < 1e6:
                self._cost = float(amount)

    def _begin_call(self, update: Mapping[str, Any]) -> None:
        """Record a tool call, which ends the current message.

        Only the text after the last tool call is the agent's answer, so text that follows this call begins a new
        message.
        """
        name = str(update.get("toolCallId"))
        if name in self._calls or len(self._calls) > 10_000:
            return
        self._calls.add(name)
        if text := "".join(self._text).strip():
            self._before = text
        self._text.clear()
        given = update.get("rawInput") or [location.get("path") for location in _mappings(update.get("locations"))]
        self._show(str(update.get("title") or update.get("kind") or "tool"), given)

    def _show(self, name: str, given: object) -> None:
        self._on_text(CallName(printable(name, max_chars=_MOST_TITLE).replace("\n", " ")))
        self._on_text(CallText(json.dumps(given, ensure_ascii=False)[:4000]))

    def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a request of the agent.

        Raises:
            RpcError: the method is not offered.
        """
        self._on_text("")
        if method == "session/request_permission":
            return {"outcome": self._decide(params)}
        raise RpcError(METHOD_NOT_FOUND, f"{printable(method, max_chars=100)} is not offered here")

    def _decide(self, params: Mapping[str, Any]) -> Mapping[str, str]:
        call = _mapping(params.get("toolCall"))
        paths = [location.get("path") for key in ("locations", "content") for location in _mappings(call.get(key))]
        outside = [path for path in paths if path is not None and not _is_own(path)]
        if outside:
            self._note_refused(f"{call.get('title') or call.get('kind') or 'a tool call'} on {outside[0]}")
        wanted = _REFUSING if outside else _ALLOWING
        options = {each.get("kind"): each.get("optionId") for each in _mappings(params.get("options"))}
        chosen = next((options[kind] for kind in wanted if isinstance(options.get(kind), str)), None)
        return {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}

    def _note_refused(self, what: str) -> None:
        if len(self._refused) < _MOST_REFUSED:
            self._refused[printable(what, max_chars=_MOST_TITLE).replace("\n", " ")] = None


def _is_own(path: object) -> bool:
    """Check whether a path is in a folder of the agent's own. A relative path starts at the agent's working folder."""
    if not isinstance(path, str):
        return False
    path_inside = posixpath.normpath(posixpath.join(WORK, path))
    return any(path_inside == own or path_inside.startswith(f"{own}/") for own in OWN_PLACES)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
