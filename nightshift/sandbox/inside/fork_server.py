"""Runs in an outer sandbox, imports what runs need, and forks a nested sandbox for each order.

The fork server never sees a job. An order has limits, the name of a trusted parent and four descriptors, which the fork
takes over. The last descriptor is a socket on which the daemon learns how the fork ended. The forks share the imported
modules by copy-on-write. No untrusted code has ever run in the fork server, so a fork is as clean as a new interpreter,
but costs only a tenth of it.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys

from . import nested

MESSAGE = 1 << 16
COLLAPSE = 25  # MADV_COLLAPSE


def main():
    """Import what runs need, then serve orders from the given socket until the socket is closed."""
    gc.disable()
    code, descriptor, entry, own, *libraries = sys.argv[1:]
    sys.path.insert(0, own)  # our code's folder, or that of another package's program
    __import__(entry)
    parent = sys.modules[entry]
    sys.path[:] = [path for path in sys.path if path not in {code, own}]  # workspace names must not conflict with ours
    parent.preload(libraries)
    gc.collect()
    gc.freeze()
    in_large_pages()
    ended, ending = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(ending)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    orders = socket.socket(fileno=int(descriptor))
    orders.send(b"ready overlays" if nested.overlays() else b"ready")
    poll, running = select.poll(), {}
    for source in (orders, ended):
        poll.register(source, select.POLLIN)
    while True:
        ready = [source for source, _ in poll.poll()]
        if ended in ready:
            os.read(ended, MESSAGE)
            reap(running)
        if orders.fileno() not in ready:
            continue
        text, descriptors, _, _ = socket.recv_fds(orders, MESSAGE, 4)
        if not text:
            return
        order = json.loads(text)
        pid, control = nested.start(order, descriptors, orders, lambda: parent.serve(libraries))
        running[pid] = control


def in_large_pages():
    """Move this process's memory into large pages (from Linux 6.1), so that a fork copies a smaller page table."""
    madvise = ctypes.CDLL(None).madvise
    with open("/proc/self/maps", encoding="ascii") as file:  # noqa: PTH123 (pathlib is slow to import)
        mapped = [line.split() for line in file]
    for span, rights, _, _, inode, *_ in mapped:
        if rights == "rw-p" and inode == "0":  # not mapped from a file
            start, end = (int(address, 16) for address in span.split("-"))
            madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), COLLAPSE)


def reap(running):
    """Wait for forks that have ended. `running` maps each process number to the fork's control socket."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as control, contextlib.suppress(OSError):
            control.send(b"end %d" % os.waitstatus_to_exitcode(status))
