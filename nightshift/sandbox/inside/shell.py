"""The trusted parent of a command: unpacks a tree, runs `sh` in it, and reports which files the command changed.

It examines the files once every process of the command is gone; the command's output cannot influence the report.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH112, PTH118, PTH211

import os
import re
import signal

from . import changes, files, services, supervisor, virtual
from .child import Child, Ends

KEPT = 32 << 10
"""Bytes kept of the output's beginning, and of its end."""


def main():
    """Read the job from standard input, run it, and answer on standard output."""
    serve(supervisor.begin())


def preload(_libraries):
    """Do nothing: the modules that every run needs are imported with this one."""


def serve(libraries):
    """Serve the one job; `libraries` are the import paths of the command's Python."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    supervisor.hide()
    supervisor.answer_job(lambda job, source: execute(job, source, libraries))


def execute(job, source, libraries):
    """Run the command, with the services of the job; return the answer."""
    beside = services.start(job)
    files.unpack(job, source)
    before = changes.Before(job)
    env = make_environment(job, libraries)
    output = Ends(KEPT)
    # The fork's copy of this memory, with the key in it, is gone when the fork becomes the shell.
    answer = {"command": Child(run, (job["command"], env)).watch(job, output=output)} | beside.ended()
    answer["output"] = [*(bytes(end).decode("utf-8", "replace") for end in output.ends), output.left_out]
    answer["files"], answer["dropped"] = changes.list_changes(before)
    return answer


def run(_instructions, _reporting, argument):
    """Become the shell, in the child."""
    command, env = argument
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, which the command would inherit
    os.execve("/bin/sh", ["sh", "-c", command], env)  # noqa: S606 (this is what the sandbox is for)


def make_environment(job, libraries):
    """Return the environment variables of the command; its Python imports what tests import."""
    more = {}
    if job["go"] and re.search(r"\b(?:go|make)\b", job["command"]):
        from . import go  # noqa: PLC0415 (only where it is needed)

        more = go.environment(job["go"], go.work_folder())
    env = virtual.environment(libraries, (".", *(["src"] if os.path.isdir("src") else [])), more=more)
    if job["node"]:
        os.symlink(job["node"], os.path.join(env["VIRTUAL_ENV"], "bin", "node"))
    return env
