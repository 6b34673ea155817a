from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from nightshift.core.errors import ConfigError
from nightshift.server.serving.sockets import bind_tcp, bind_unix


def test_a_taken_port_is_named_with_the_setting_that_mends_it() -> None:
    with bind_tcp("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} on 127.0.0.1 is taken.*FLASK_PORT"):
            bind_tcp("127.0.0.1", port)


def test_a_port_that_was_just_given_up_can_be_taken_at_once() -> None:
    with bind_tcp("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            served, _ = first.accept()
            served.close()
            client.recv(1)
    bind_tcp("127.0.0.1", port).close()


@pytest.mark.parametrize("address", ["no such name", "203.0.113.7"])
def test_an_address_of_another_machine_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="FLASK_HOST"):
        bind_tcp(address, 0)


def test_localhost_is_the_address_that_the_command_line_tries() -> None:
    with bind_tcp("localhost", 0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_a_unix_socket_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "run" / "api.sock"
    with bind_unix(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    bind_unix(folder / "api.sock").close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_a_dead_server_left_is_replaced_and_a_live_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    bind_unix(path).close()
    with bind_unix(path), pytest.raises(ConfigError, match="another server"):
        bind_unix(path)


def test_a_file_in_the_way_is_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="in the way"):
        bind_unix(path)
    assert path.read_text() == "mine"


def test_a_path_that_is_too_long_for_a_socket_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too long"):
        bind_unix(tmp_path / ("x" * 200))
