"""Starts a setup script: hands a listening socket of the sandbox's own network out, and becomes the script.

The daemon answers on that socket as a proxy. It is all that leads out, and it is given away before anything untrusted
runs: the script has neither the socket nor the channel on which it went.
"""

from __future__ import annotations

import json
import os
import socket
import sys

MOST_DESCRIPTORS = 4096
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def main() -> None:
    """Read what is to be run from standard input, as JSON: `argv`, `environ` and `folder`."""
    order = json.load(sys.stdin.buffer)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with socket.socket(fileno=int(sys.argv[1])) as channel:
            socket.send_fds(channel, [b"listening"], [listening.fileno()])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(1, 2)
    os.closerange(3, MOST_DESCRIPTORS)
    os.chdir(order["folder"])
    os.execvpe(order["argv"][0], order["argv"], {**order["environ"], **dict.fromkeys(PROXIES, proxy)})  # noqa: S606 (what it is for)


if __name__ == "__main__":
    main()
