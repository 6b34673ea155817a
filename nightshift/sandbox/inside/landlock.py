"""Isolates a process from the other processes of its user: it and its children cannot inspect processes outside.

Landlock is made for restricting access to files, in so-called domains. In addition, a process in a domain of its own
can neither trace processes outside, nor open what `/proc` shows of their memory and descriptors. Since Linux 6.12, it
cannot send them signals either. If only this isolation from processes is wanted, the domain allows access to every
file.
"""

import ctypes
import os
import struct
from collections.abc import Iterable

CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # system calls, the same on every machine
VERSION, BENEATH = 1, 1
READING = 1 << 0 | 1 << 2 | 1 << 3  # executing and reading files, listing folders
REFER = 1 << 13  # moving files between folders; denied unless the domain allows it
EVERYTHING = (1 << 16) - 1
OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # the subset that applies to files
KNOWN = {2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: EVERYTHING}  # by version: all rights known since that version
SIGNALS = 1 << 1
OLDEST, WITH_SCOPES = 2, 6  # versions: the first that can allow moves, and the first that can restrict signals
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38


def restrict() -> bool:
    """Put this process into its own Landlock domain, permanently; return False if the kernel does not support that."""
    return _restrict_rights(REFER, [("/", REFER)])


def restrict_to(own: Iterable[str], readable: Iterable[str]) -> bool:
    """Restrict this process like `restrict`, and also deny access to all files except the given ones.

    Args:
        own: folders in which everything is allowed.
        readable: files and folders that may be read and executed.
    """
    return _restrict_rights(
        EVERYTHING, [*((path, EVERYTHING) for path in own), *((path, READING) for path in readable)]
    )


def _restrict_rights(handled: int, allowed: Iterable[tuple[str, int]]) -> bool:
    """Deny the rights in `handled` for all files. `allowed` has paths with the rights that stay allowed below them."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE, None, ctypes.c_size_t(0), VERSION)
    if version < OLDEST:
        return False
    handled &= KNOWN[max(first for first in KNOWN if first <= version)]
    rules = struct.pack("=QQQ", handled, 0, SIGNALS) if version >= WITH_SCOPES else struct.pack("=Q", handled)
    ruleset = libc.syscall(CREATE, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return False
    done = all(_is_allowed(libc, ruleset, path, rights & handled) for path, rights in allowed)
    zero = ctypes.c_ulong(0)
    done = done and libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) == 0
    done = done and libc.syscall(RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return done


def _is_allowed(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> bool:
    """Allow rights below a path; return False if the kernel refuses."""
    beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    path_rights = rights if os.path.isdir(path) else rights & OF_FILES  # noqa: PTH112 (pathlib is slow to import)
    taken: bool = libc.syscall(ADD_RULE, ruleset, BENEATH, struct.pack("=Qi", path_rights, beneath), 0) == 0
    os.close(beneath)
    return taken


def holds() -> bool:
    """Test whether a Landlock domain keeps a process from inspecting another process of the same user."""
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
    """Check that a fork which restricts itself can open neither the memory nor the descriptors of a process."""
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
