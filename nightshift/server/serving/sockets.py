"""Binds the server's sockets. If a socket cannot be bound, the error names the setting to change."""

from __future__ import annotations

import errno
import socket

from nightshift.core.errors import ConfigError

BACKLOG = 512


def bind_tcp(address: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        ConfigError: the socket cannot be bound. The message names the setting to change.
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
    """Resolve `localhost` to IPv4, because browsers and the command line try 127.0.0.1."""
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
