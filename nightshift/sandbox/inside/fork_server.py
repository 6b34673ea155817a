"""Stays in an outer sandbox with what runs need imported, and forks a nested sandbox for each order that comes.

It never sees a job: orders hold limits, the name of a trusted parent and four descriptors, which the fork takes over;
the last of them is a socket on which the daemon is told how the fork ended.
What was imported here is shared with the forks copy-on-write and was never near untrusted code, so a fork is as fresh
as a new interpreter and costs a tenth of it.
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
    """Import what runs need, then serve orders from the given socket until it is closed."""
    gc.disable()
    code, descriptor, entry, own, *libraries = sys.argv[1:]
    sys.path.insert(0, own)  # the same folder, but for a program of another package's
    __import__(entry)
    parent = sys.modules[entry]
    sys.path[:] = [path for path in sys.path if path not in {code, own}]  # the workspace's names are not to meet ours
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
    """Have this memory in as few pages as can be, where the kernel can (Linux 6.1): a fork copies less of the table."""
    madvise = ctypes.CDLL(None).madvise
    with open("/proc/self/maps", encoding="ascii") as file:  # noqa: PTH123 (pathlib is slow to import)
        mapped = [line.split() for line in file]
    for span, rights, _, _, inode, *_ in mapped:
        if rights == "rw-p" and inode == "0":  # no file's
            start, end = (int(address, 16) for address in span.split("-"))
            madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), COLLAPSE)


def reap(running):
    """Wait for the forks that have ended; `running` has the control socket of each."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as control, contextlib.suppress(OSError):
            control.send(b"end %d" % os.waitstatus_to_exitcode(status))
