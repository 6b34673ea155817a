"""Runs a snippet as a script of its own: unpacks its files, puts its standard input in place, starts Python on it.

The first process of the sandbox stays behind as its parent: signals that a first process sends itself are ignored by
the kernel, and orphans would stay as zombies.
"""

import os
import sys

from . import files


def main():
    """Take code, files and input from standard input; end as the snippet ends."""
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
    """The status of the snippet; orphans that end before it are taken as they come."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def end(code):
    """End with the same status, by a signal where the snippet did; a first process can only tell of one."""
    if code < 0 and os.getpid() != 1:
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)
