"""The server's half of `bench/sse.py`: the real server in its thread, and a workers' loop in the main thread.

Commands are lines on standard input, and answers are JSON lines on standard output. `emit COUNT RATE` stores events as
the daemon does, and answers when the last event is on the disk. `clients` counts connections. `stop` stops the server.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from nightshift.core.events import Event, Kind  # noqa: E402  the path comes first
from nightshift.server.serving.host import Host  # noqa: E402
from nightshift.server.serving.listen import Listen  # noqa: E402
from tests.support.app_context import make_desk  # noqa: E402

TICK_S = 0.005
MESSAGE = "worker-1 · CODING · the model answered in 1.24 s with 812 tokens; tests passed: 12 of 14"


class Lag:
    """Measures the lag of an event loop: a sleep ends late if other work of the loop or the interpreter held it up."""

    def __init__(self) -> None:
        self.late_s: list[float] = []

    async def watch(self) -> None:
        """Record the delay until cancelled."""
        while True:
            due = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            self.late_s.append(time.monotonic() - due)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def serve(folder: Path) -> None:
    context = make_desk(folder)
    host, lag = Host(context, Listen(port=0)), Lag()
    host.start()
    tell(port=host.port)
    watching = asyncio.create_task(lag.watch())
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while words := (await lines.readline()).decode().split():
        if words[0] == "emit":
            lag.late_s.clear()
            began_s, began_cpu_s = time.monotonic(), cpu_s()
            await emit(context.events, int(words[1]), float(words[2]))
            took_s = time.monotonic() - began_s
            tell(share=(cpu_s() - began_cpu_s) / took_s, late_s=lag.late_s, took_s=took_s)
        elif words[0] == "clients":
            connections = len(host._engine.server_state.connections)  # noqa: SLF001  what uvicorn itself counts
            tell(clients=connections, feeds=len(host._stream._feeds))  # noqa: SLF001  what the stream still serves
        elif words[0] == "stop":
            began_s = time.monotonic()
            await asyncio.to_thread(host.stop)
            tell(stop_s=time.monotonic() - began_s)
            break
    watching.cancel()
    context.database.close()


async def emit(events: Any, count: int, rate: float) -> None:
    """Store events at a rate, each with the time at which it was emitted."""
    began_s = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, began_s + number / rate - time.monotonic()))
        stamp = {"ns": time.monotonic_ns()}
        events.emit(Event(kind=Kind.MODEL_CALLED, message=MESSAGE, task_id=number % 9 + 1, worker="w", data=stamp))
    await asyncio.wrap_future(events.catch_up())


def tell(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
