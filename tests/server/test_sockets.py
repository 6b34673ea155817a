from __future__ import annotations

import socket

import pytest

from nightshift.core.errors import ConfigError
from nightshift.server.serving.sockets import bind_tcp


def test_a_port_that_was_just_given_up_can_be_taken_at_once() -> None:
    with bind_tcp("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            served, _ = first.accept()
            served.close()
            client.recv(1)
    bind_tcp("127.0.0.1", port).close()


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match="FLASK_HOST"):
        bind_tcp("203.0.113.7", 0)
