from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.errors import ConfigError
from nightshift.core.status import DaemonStatus
from nightshift.server.context import AppContext
from nightshift.server.serving.host import Host
from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, make_desk, serving
from tests.support.sse import Listener


def test_it_answers_when_start_returns_and_is_gone_when_stop_does(context: AppContext) -> None:
    host = Host(context, Listen(port=0))
    host.start()
    port = host.port
    assert port > 0
    assert host.url == f"http://127.0.0.1:{port}"
    assert Client(host).get("/healthz").status == 200
    host.stop()
    host.stop()
    with pytest.raises(ConnectionRefusedError):
        Client(host).get("/healthz")
    again = Host(context, Listen(port=port))
    again.start()
    again.stop()


def test_a_taken_port_is_reported_where_the_daemon_starts(context: AppContext) -> None:
    with serving(context) as client:
        with pytest.raises(ConfigError, match=f"port {client.host.port} .* FLASK_PORT"):
            Host(context, Listen(port=client.host.port)).start()
        assert client.get("/healthz").status == 200


def test_it_stops_at_once_with_fifty_streams_open(context: AppContext, listen: type[Listener]) -> None:
    host = Host(context, Listen(port=0))
    host.start()
    listeners = [listen(host.port) for _ in range(50)]
    host.stop()
    assert all(listener.rest()[-1] == ("end", None, {}) for listener in listeners)


def test_a_request_that_is_being_answered_is_finished_at_the_stop(context: AppContext) -> None:
    asked = threading.Event()

    def slow() -> DaemonStatus:
        if asked_for_real.is_set():
            asked.set()
            time.sleep(0.3)
        return context.status()

    asked_for_real = threading.Event()
    host = Host(replace(context, status=slow), Listen(port=0))
    host.start()
    asked_for_real.set()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(Client(host).get, "/api/status")
        assert asked.wait(5)
        host.stop()
        assert answer.result().json["state"] == "running"


def test_no_thread_is_left_behind(tmp_path: Path, listen: type[Listener]) -> None:
    context = make_desk(tmp_path)
    before = set(threading.enumerate())
    with serving(context) as client:
        client.get("/api/status")
        listen(client.host.port).close()
    time.sleep(0.1)
    left = {thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()}
    assert left <= {"db-writer"}
    context.database.close()
