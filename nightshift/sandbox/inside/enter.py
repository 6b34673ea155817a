"""Enters the sandbox of a container: loads the system-call filter, writes the start mark, and becomes the command.

    python -c SOURCE FILTER MARKER [NAME=VALUE ...] -- COMMAND [WORD ...]

If the filter cannot be loaded, nothing is started and the marker is not written.
"""

import ctypes
import os
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
STEP = 8  # bytes of a struct sock_filter


class Program(ctypes.Structure):
    """The kernel's struct sock_fprog."""

    _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def main():
    """Parse the command line and run the command; never returns."""
    steps, marker, *words = sys.argv[1:]
    bound = words.index("--")
    environment = dict(word.split("=", 1) for word in words[:bound])
    argv = words[bound + 1 :]
    load(bytes.fromhex(steps))
    os.write(2, marker.encode() + b"\n")
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606 (what a sandbox is for)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)  # like a shell


def load(steps):
    """Apply the filter to this process and to all child processes that it starts from now on."""
    text = ctypes.create_string_buffer(steps, len(steps))
    program = Program(len(steps) // STEP, ctypes.addressof(text))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    if prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or prctl(
        PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(program), zero, zero
    ):
        sys.exit(f"the system-call filter could not be loaded: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
