"""Starts a program that can use the network only through a proxy of the daemon.

First, a listening socket in the sandbox's network is passed to the daemon, which serves the proxy on that socket. The
socket is the only way out, and it is passed on before anything untrusted runs: a setup script has neither the socket
nor the channel over which it was sent. If the daemon communicates with the program, the program gets two more channels
(`talks`), one as its standard input and one as its standard output. With a single channel for both, some programs would
take every arrival of data for the end of the connection.
"""

from __future__ import annotations

import json
import os
import socket
import sys

MOST_DESCRIPTORS = 4096
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def main() -> None:
    """Read the program to run from standard input, as JSON: `argv`, `environ`, `folder` and optionally `talks`."""
    order = json.load(sys.stdin.buffer)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with socket.socket(fileno=int(sys.argv[1])) as channel:
            socket.send_fds(channel, [b"listening"], [listening.fileno()])
    if talks := order.get("talks"):
        for standard, descriptor in enumerate(talks):
            os.dup2(descriptor, standard)
    else:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(1, 2)
    os.closerange(3, MOST_DESCRIPTORS)
    os.chdir(order["folder"])
    os.execvpe(order["argv"][0], order["argv"], {**order["environ"], **dict.fromkeys(PROXIES, proxy)})  # noqa: S606 (what it is for)


if __name__ == "__main__":
    main()
