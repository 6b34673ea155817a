"""Binds the server's sockets, and says in the owner's words why one cannot be bound."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from pathlib import Path

from nightshift.core.errors import ConfigError

BACKLOG = 512


def bind_tcp(address: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        ConfigError: names the setting that mends it.
    """
    try:
        family, kind, proto, _, where = socket.getaddrinfo(_numeric(address), port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError([f"FLASK_HOST: {address} is no address of this machine ({error.strerror})"]) from error
    bound = socket.socket(family, kind, proto)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(where)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError([_why(error, address, port)]) from error
    return bound


def _numeric(address: str) -> str:
    """`localhost` may be either loopback; browsers and the command line try 127.0.0.1."""
    return "127.0.0.1" if address == "localhost" else address


def _why(error: OSError, address: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"FLASK_PORT: port {port} on {address} is taken by another program; "
            f"stop that program or set FLASK_PORT to a free port"
        )
    if error.errno == errno.EACCES:
        return f"FLASK_PORT: this user may not listen on port {port}; set FLASK_PORT to 1024 or more"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"FLASK_HOST: {address} is no address of this machine"
    return f"FLASK_HOST: cannot listen on {address}:{port} ({error.strerror})"


def bind_unix(path: Path) -> socket.socket:
    """Open a listening unix socket in a folder that only this user can enter.

    Raises:
        ConfigError: the folder is another user's, the path is too long, or another server listens there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.chmod(0o700)
        _clear(path)
        bound = socket.socket(socket.AF_UNIX)
    except OSError as error:
        raise ConfigError([f"cannot make the socket {path}: {error.strerror}"]) from error
    try:
        bound.bind(str(path))
        path.chmod(0o600)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError([f"cannot listen on {path}: {error.strerror or error}"]) from error
    return bound


def _clear(path: Path) -> None:
    """Remove the socket that a dead server left behind."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ConfigError([f"{path} is in the way: it is not a socket"])
        if _answers(path):
            raise ConfigError([f"another server listens on {path}"])
        path.unlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
