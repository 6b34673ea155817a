"""Measures the live stream with thirty clients: delivery and its delay, cost, the stop, and clients that disconnect.

    .venv/bin/python bench/sse.py [--clients N] [--rate EVENTS_A_SECOND] [--seconds S] [--rounds N]

The real server runs in a process of its own, as in the daemon: the web server's loop in a thread, a workers' loop in
the main thread, and events stored durably through the one writer (`bench/sse_server.py`). The clients are plain sockets
in this process, read by one loop. The delay of a delivery is measured from the moment when an event is emitted. So it
includes the flush of the disk, the time that the server takes, and the time that this process takes; both processes
read the same monotonic clock. The share of a core is that of the whole server process. The lag is how late a sleep of 5
ms ends on the workers' loop.

Then all clients disconnect silently while nothing happens, as closed laptops do, and the remaining connections are
counted 3 s later. Then as many clients connect again, and the server is stopped while they listen.
"""

# ruff: noqa: E402  the path comes first
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

STAMP = re.compile(rb'^id: (\d+)\n.*"data":\{"ns":(\d+)\}', re.MULTILINE)
END = b"event: end\n"
AIMS = {"delivered": 1.0, "p99_ms": 60.0, "share": 0.40, "lag_p99_ms": 15.0, "stop_s": 1.0, "left": 0}


@dataclass(slots=True)
class Client:
    """One client that reads the stream."""

    socket: socket.socket
    rest: bytes = b""
    ids: list[int] = field(default_factory=list)
    ended: bool = False


class Crowd:
    """Many clients, read by one selector."""

    def __init__(self, port: int, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self.clients = [self._join(port) for _ in range(count)]
        self.took_ms: list[float] = []
        waiting = {id(client) for client in self.clients}
        while waiting:
            for key, _ in self._selector.select(10):
                self._read(key.data)
                waiting.discard(id(key.data))

    def _join(self, port: int) -> Client:
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.sendall(f"GET /api/logs/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        connection.setblocking(False)
        client = Client(connection)
        self._selector.register(connection, selectors.EVENT_READ, client)
        return client

    def listen(self, done: Any, wall_s: float) -> None:
        """Read until `done()` is true, or until the time is over."""
        until = time.monotonic() + wall_s
        while not done() and time.monotonic() < until:
            for key, _ in self._selector.select(0.1):
                self._read(key.data)

    def _read(self, client: Client) -> None:
        try:
            data = client.socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._selector.unregister(client.socket)
            return
        now = time.monotonic_ns()
        events, mark, client.rest = (client.rest + data).rpartition(b"\n\n")
        client.ended |= END in events + mark
        for match in STAMP.finditer(events):
            client.ids.append(int(match[1]))
            self.took_ms.append((now - int(match[2])) / 1e6)

    def leave(self) -> None:
        """Disconnect all clients silently."""
        for client in self.clients:
            client.socket.close()
        self._selector.close()


class Server:
    """The child process that runs the server."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, str(ROOT / "bench" / "sse_server.py"), str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self.port = int(self.answer()["port"])

    def ask(self, command: str) -> None:
        """Send a command."""
        assert self._process.stdin
        self._process.stdin.write(command.encode() + b"\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for the next answer of the process."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the server's process has ended"
        return dict(json.loads(line))

    def close(self) -> None:
        """Close the input of the process, and wait until the process has ended."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)


def p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


def one_round(folder: Path, clients: int, rate: float, seconds: float) -> dict[str, float]:
    folder.mkdir()
    server, events = Server(folder), int(rate * seconds)
    crowd = Crowd(server.port, clients)
    server.ask(f"emit {events} {rate}")
    crowd.listen(lambda: len(crowd.took_ms) >= events * clients, seconds + 20)
    answer = server.answer()
    expected = sorted({each for client in crowd.clients for each in client.ids})
    ordered_count = sum(client.ids == expected for client in crowd.clients)
    figures = {
        "delivered": len(crowd.took_ms) / (events * clients), "in_order": ordered_count / clients,
        "p50_ms": statistics.median(crowd.took_ms), "p99_ms": p99(crowd.took_ms), "worst_ms": max(crowd.took_ms),
        "share": answer["share"], "lag_p50_ms": statistics.median(answer["late_s"]) * 1e3,
        "lag_p99_ms": p99(answer["late_s"]) * 1e3,
    }  # fmt: skip
    crowd.leave()
    time.sleep(3)
    server.ask("clients")
    figures["left"] = max(server.answer().values())
    crowd = Crowd(server.port, clients)
    server.ask("stop")
    crowd.listen(lambda: all(client.ended for client in crowd.clients), 10)
    figures["stop_s"] = server.answer()["stop_s"]
    figures["told_the_end"] = sum(client.ended for client in crowd.clients) / clients
    crowd.leave()
    server.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=30)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    print(f"{asked.clients} clients, {asked.rate:g} events a second for {asked.seconds:g} s, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="nightshift-sse-") as folder:
        for number in range(asked.rounds):
            before = os.getloadavg()[0]
            figures = one_round(Path(folder) / str(number), asked.clients, asked.rate, asked.seconds)
            print(f"round {number + 1} (load {before:.1f} before, {os.getloadavg()[0]:.1f} after)")
            for name, value in figures.items():
                aim = f"aim {AIMS[name]:g}" if name in AIMS else ""
                print(f"  {name:14} {value:9.3f}  {aim}", flush=True)


if __name__ == "__main__":
    main()
