"""Shuts a process off from the others of its user: what it and its children do may not look into processes outside.

Landlock is made for files. A process in a domain of its own besides may neither trace others nor open what `/proc` has
of their memory and descriptors, and since Linux 6.12 send them no signals; that alone is wanted here, so the domain
allows every file.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.

import ctypes
import os
import struct

CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # system calls, on every machine alike
VERSION, BENEATH = 1, 1
REFER = 1 << 13  # moving files between folders: denied in every domain that does not allow it
SIGNALS = 1 << 1
OLDEST, WITH_SCOPES = 2, 6  # versions: the first that can allow moves, the first that knows signals
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38


def restrict() -> bool:
    """Put this process into a domain of its own, for good; false where the kernel has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE, None, ctypes.c_size_t(0), VERSION)
    if version < OLDEST:
        return False
    rules = struct.pack("=QQQ", REFER, 0, SIGNALS) if version >= WITH_SCOPES else struct.pack("=Q", REFER)
    ruleset = libc.syscall(CREATE, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return False
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    allowed = libc.syscall(ADD_RULE, ruleset, BENEATH, struct.pack("=Qi", REFER, root), 0) == 0
    zero = ctypes.c_ulong(0)
    allowed = allowed and libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) == 0
    done: bool = allowed and libc.syscall(RESTRICT, ruleset, 0) == 0
    os.close(root)
    os.close(ruleset)
    return done


def holds() -> bool:
    """Try it: whether a process in such a domain is kept from one that is open to all others of its user."""
    ready, started = os.pipe()
    over, waiting = os.pipe()
    target = os.fork()
    if target == 0:
        try:
            os.close(waiting)
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)
            os.write(started, b"1")
            os.read(over, 1)
        finally:
            os._exit(0)
    os.close(over)
    os.close(started)
    try:
        os.read(ready, 1)
        return _is_kept_out(target)
    finally:
        os.close(ready)
        os.close(waiting)
        os.waitpid(target, 0)


def _is_kept_out(target: int) -> bool:
    """Whether a fork that restricts itself can open neither the memory nor the descriptors of a process."""
    trier = os.fork()
    if trier == 0:
        status = 1
        try:
            if restrict() and not any(_opens(f"/proc/{target}/{name}") for name in ("mem", "environ", "maps", "fd/0")):
                status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(trier, 0)[1]) == 0


def _opens(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True
