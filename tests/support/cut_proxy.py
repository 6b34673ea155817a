"""A proxy that can cut the connections to a server, or swallow the bytes that are sent."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CutProxy:
    """Forwards bytes to a port of this machine.

    Args:
        target: the server's port.
    """

    def __init__(self, target: int) -> None:
        self._target, self._is_cut = target, threading.Event()
        self._passes = threading.Event()
        self._passes.set()
        self._ends: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections, and close each new connection at once."""
        self._is_cut.set()
        for end in tuple(self._ends):
            _end(end)

    def swallow(self) -> None:
        """Stop forwarding, but keep the connections open."""
        self._passes.clear()

    def mend(self) -> None:
        """Accept connections and forward bytes again."""
        self._is_cut.clear()
        self._passes.set()

    def close(self) -> None:
        """Stop the proxy for good."""
        self._listener.close()
        self.cut()
        self._passes.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    if self._is_cut.is_set():
                        raise OSError
                    far = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    _end(near)
                    continue
                self._ends |= {near, far}
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._passes.wait()
                target.sendall(data)
        for end in (source, target):
            _end(end)
            self._ends.discard(end)


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
