"""`nightshift mcp`: the server of the Model Context Protocol on standard input and output, for one assistant.

Each call looks for the daemon anew, so that the assistant need not care when it starts and stops; without one, tasks
can be added and read. Standard output belongs to the protocol.
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
    """The API as a session reaches it; a connection is for one thread, so each request has its own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def send(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            NightshiftError: nobody answers it, or he refuses.
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
        ExtraMissing: the packages for it are not installed, and are not to be.
    """
    if find_spec("mcp") is None:
        emit = lambda event: print(event.message, file=sys.stderr)  # noqa: E731
        make_extras(session.settings, emit).ensure("mcp")
    from nightshift.server.mcp.tools import make_server  # noqa: PLC0415  # an extra

    make_server(SessionApi(session)).run("stdio")
    return Exit.OK
