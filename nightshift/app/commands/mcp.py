"""`nightshift mcp`: the server of the Model Context Protocol on standard input and output, for one assistant.

Each call looks for the daemon again, so the daemon may start and stop at any time. Without a daemon, tasks can be added
and read. Standard output belongs to the protocol.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import anyio

from nightshift.app.extras import make_extras
from nightshift.client.errors import Exit
from nightshift.client.session import Session
from nightshift.server.mcp.api import Reply, Request


class SessionApi:
    """The API as a session reaches it.

    Each request has its own connection, because a connection belongs to one thread.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def send(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            NightshiftError: nothing answers the request, or it is refused.
        """
        return await anyio.to_thread.run_sync(self._send, request)

    def _send(self, request: Request) -> Reply:
        connection = self._session.connect()
        try:
            reply = connection.send(request.method, request.path, request.body, query=request.query)
        finally:
            connection.close()
        return Reply(status=reply.status, content=reply.content)


def serve(session: Session) -> int:
    """Serve until the other end is closed.

    Raises:
        ExtraMissing: the needed packages are not installed, and may not be installed.
    """
    if find_spec("mcp") is None:
        emit = lambda event: print(event.message, file=sys.stderr)  # noqa: E731
        make_extras(session.settings, emit).ensure("mcp")
    from nightshift.server.mcp.tools import make_server  # noqa: PLC0415  # an extra

    make_server(SessionApi(session)).run("stdio")
    return Exit.OK
