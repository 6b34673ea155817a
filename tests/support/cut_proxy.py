"""A way to a server that can be cut (connections end, none is taken) or swallow what is sent, until it is mended."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CutProxy:
    """Passes bytes on to a port of this machine.

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
        """End all connections, and take none; whoever connects hears nothing but an end."""
        self._is_cut.set()
        for end in tuple(self._ends):
            _end(end)

    def swallow(self) -> None:
        """Pass nothing on, and end nothing."""
        self._passes.clear()

    def mend(self) -> None:
        """Take connections again, and pass on."""
        self._is_cut.clear()
        self._passes.set()

    def close(self) -> None:
        """End for good."""
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
