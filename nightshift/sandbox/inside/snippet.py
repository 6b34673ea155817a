"""Runs a snippet as a separate script: unpacks its files, provides its standard input, and starts Python on it.

The first process of the sandbox remains as its parent: the kernel ignores signals that a first process sends to itself,
and orphans would remain as zombies.
"""

import os
import sys

from . import files


def main():
    """Read code, files and input from standard input; end with the snippet's status."""
    job, source = files.receive(0)
    files.write(files.contents(job, source), ())
    given = os.memfd_create("stdin")
    with open(given, "wb", closefd=False) as file:
        file.write(source.read())
    os.lseek(given, 0, os.SEEK_SET)
    os.dup2(given, 0)
    child = os.fork()
    if child == 0:
        start(job["start"], sys.argv[2:])
    end(wait(child))


def start(path, libraries):
    """Become the snippet."""
    seen = {"PYTHONPATH": os.pathsep.join(libraries)} if libraries else {}
    os.execve(sys.executable, [sys.executable, "-s", "-B", path], {**os.environ, **seen})  # noqa: S606 (no shell)


def wait(child):
    """Return the status of the snippet; wait for orphans that end before it."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def end(code):
    """End with the same status, or by the same signal; as process 1 a signal can only be reported as a status."""
    if code < 0 and os.getpid() != 1:
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)
