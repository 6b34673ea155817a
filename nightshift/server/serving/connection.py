"""One connection of a client, and how long it may take: to send the head of a request, and to take in an answer.

What a client owes is a head, or the rest of a body. Connections that owe something are counted, and where they become
too many the one that has owed it longest is closed: so idle or slow clients, however many, keep nobody else out, while
a slow client that is alone has all the time of its walls. How slowly a body may come is `server.auth.limits`' business.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import socket
import struct
import sys
import termios
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from nightshift.server.auth.asgi import Refused
from nightshift.server.auth.guard import SECURITY_HEADERS


class ClientLimits:
    """How long clients may take, and which of them make use of it.

    Args:
        head_wall_s: from the first byte of a request, or the beginning of a connection, to the end of the head.
        stall_s: a client that takes nothing of its answer for so long is dropped.
        most_owing: so many connections may owe something at once.
    """

    def __init__(self, *, head_wall_s: float = 30.0, stall_s: float = 60.0, most_owing: int = 200) -> None:
        self.head_wall_s, self.stall_s, self._most_owing = head_wall_s, stall_s, most_owing
        self._owing: dict[Connection, None] = {}

    def expect(self, connection: Connection) -> None:
        """Note that it owes something; the one that has done so longest is closed where they are too many."""
        self._owing.setdefault(connection)
        if len(self._owing) > self._most_owing:
            oldest = next(iter(self._owing))
            self.settle(oldest)
            cut_off(oldest.transport)

    def settle(self, connection: Connection) -> None:
        """Note that it owes nothing any more."""
        self._owing.pop(connection, None)


class Connection(H11Protocol):
    """HTTP/1.1 with a client that must get on."""

    def __init__(self, limits: ClientLimits, **given: Any) -> None:
        super().__init__(**given)
        self._limits = limits
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._untaken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Wait for the first request."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request, of which a part may have come already."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._unset_keepalive_if_required()
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._limits.settle(self)
        self._stop_head_timer()
        self._stop_stall_timer()
        super().connection_lost(exc)

    def _look(self) -> None:
        """See what the client owes now. Between two requests it owes nothing, and uvicorn waits for some seconds."""
        state = self.conn.their_state
        if state not in {h11.IDLE, h11.SEND_BODY} or self.transport.is_closing():
            self._limits.settle(self)
            self._stop_head_timer()
            return
        self._limits.expect(self)
        # The rest of a body whose request was refused is read by nobody, so no wall of its reader holds.
        is_read = state is h11.SEND_BODY and not self.cycle.response_complete
        if is_read:
            self._stop_head_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_wall_s, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.transport.is_closing():
            return
        begun, _ = self.conn.trailing_data
        if begun and self.conn.our_state is h11.IDLE:
            why = f"the head of the request did not arrive within {self._limits.head_wall_s:g} s"
            self._refuse(Refused(408, why, headers=[(b"connection", b"close"), *SECURITY_HEADERS.items()]))
        self.transport.close()

    def _refuse(self, refused: Refused) -> None:
        head, body = refused.answer()
        for event in (h11.Response(status_code=refused.status, headers=head), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")

    def _stop_head_timer(self) -> None:
        if self._head_timer:
            self._head_timer.cancel()
            self._head_timer = None

    def pause_writing(self) -> None:
        """Note that the client takes its answer more slowly than it is made."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Note that the client has caught up."""
        super().resume_writing()
        self._stop_stall_timer()

    def _watch(self) -> None:
        self._untaken = _untaken_bytes(self.transport)
        self._stall_timer = self.loop.call_later(self._limits.stall_s, self._is_it_stalled)

    def _is_it_stalled(self) -> None:
        if _untaken_bytes(self.transport) < self._untaken:
            self._watch()
        else:
            cut_off(self.transport)

    def _stop_stall_timer(self) -> None:
        if self._stall_timer:
            self._stall_timer.cancel()
            self._stall_timer = None


def cut_off(transport: asyncio.Transport) -> None:
    """End a connection at once; the kernel, too, keeps nothing for a client that takes nothing."""
    with contextlib.suppress(OSError):  # it has ended already
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _untaken_bytes(transport: asyncio.Transport) -> int:
    """Count the bytes sent and not taken yet: here, and in the kernel, which asks for more only when much has gone."""
    with contextlib.suppress(OSError):
        held = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, b"\0" * 4)
        return transport.get_write_buffer_size() + int.from_bytes(held, sys.byteorder)
    return transport.get_write_buffer_size()
