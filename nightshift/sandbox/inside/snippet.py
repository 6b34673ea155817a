"""Runs a snippet as a separate script: unpacks its files, provides its standard input, and starts Python with it.

This process is the first of the sandbox and stays as the snippet's parent. If the snippet were the first process, the
kernel would ignore signals that it sends to itself, and orphans would remain as zombies.
"""

import os
import sys

from . import files


def main():
    """Read the code, files and input from standard input, run the snippet, and end with its status."""
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
    """Replace this process with Python running the snippet; does not return."""
    seen = {"PYTHONPATH": os.pathsep.join(libraries)} if libraries else {}
    os.execve(sys.executable, [sys.executable, "-s", "-B", path], {**os.environ, **seen})  # noqa: S606 (no shell)


def wait(child):
    """Wait for the snippet and return its status. Also wait for orphans that end before it."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def end(code):
    """End this process with the snippet's status or signal. Process 1 reports signal N as the status 128 + N."""
    if code < 0 and os.getpid() != 1:
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)
