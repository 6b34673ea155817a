"""Stays in an outer sandbox with what runs need imported, and forks a nested sandbox for each order that comes.

It never sees a job: orders hold limits, the name of a trusted parent and four descriptors, which the fork takes over.
What was imported here is shared with the forks copy-on-write and was never near untrusted code, so a fork is as fresh
as a new interpreter and costs a tenth of it.
"""

import gc
import json
import signal
import socket
import sys

from . import nested

MESSAGE = 1 << 16


def main():
    """Import what runs need, then serve orders from the given socket until it is closed."""
    gc.disable()
    code, descriptor, entries, own, *libraries = sys.argv[1:]
    sys.path.insert(0, own)  # the same folder, but for a program of another package's
    parents = {}
    for entry in entries.split(","):
        __import__(entry)
        parents[entry] = sys.modules[entry]
    sys.path[:] = [path for path in sys.path if path not in {code, own}]  # the workspace's names are not to meet ours
    for parent in parents.values():
        parent.preload(libraries)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    orders = socket.socket(fileno=int(descriptor))
    orders.send(b"ready")
    while True:
        text, descriptors, _, _ = socket.recv_fds(orders, MESSAGE, 4)
        if not text:
            return
        order = json.loads(text)
        nested.start(order, descriptors, orders, lambda parent=parents[order["parent"]]: parent.serve(libraries))
