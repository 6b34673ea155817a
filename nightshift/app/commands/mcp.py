"""`nightshift mcp`: a Model Context Protocol server on standard input and output, for one assistant.

Each call connects to the daemon again, so the daemon may start and stop at any time. Without a daemon, tasks can still
be added and read. Nothing else may print to standard output, which carries the protocol.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from nightshift.app.extras import make_extras
from nightshift.client.errors import Exit
from nightshift.client.session import Session
from nightshift.server.mcp.api import Api, Reply, Request


def connect_session(session: Session) -> Api:
    """Return the API that a session reaches.

    Each request opens its own connection, because a connection belongs to one thread.
    """

    def send(request: Request) -> Reply:
        connection = session.connect()
        try:
            reply = connection.send(request.method, request.path, request.body, query=request.query)
        finally:
            connection.close()
        return Reply(status=reply.status, content=reply.content)

    return send


def serve(session: Session) -> int:
    """Serve until the client closes its end.

    Raises:
        ExtraMissing: the needed packages are missing, and the settings forbid installing them.
    """
    if find_spec("mcp") is None:
        emit = lambda event: print(event.message, file=sys.stderr)  # noqa: E731
        make_extras(session.settings, emit).ensure("mcp")
    from nightshift.server.mcp.tools import make_server  # noqa: PLC0415  # an extra

    make_server(connect_session(session)).run("stdio")
    return Exit.OK
