"""The trusted parent for a command: unpacks a tree, runs `sh` in it, and reports which files the command has changed.

The files are examined after every process of the command has ended. The command's output cannot influence the report.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH112, PTH118, PTH211

import os
import re
import signal

from . import changes, files, services, supervisor, virtual
from .child import Child, Ends

KEPT = 32 << 10
"""Number of bytes that are kept of the beginning, and of the end, of the output."""


def main():
    """Read the job from standard input, run it, and answer on standard output."""
    serve(supervisor.begin())


def preload(_libraries):
    """Do nothing, because the modules that every run needs are imported together with this module."""


def serve(libraries):
    """Serve the single job. `libraries` are the import paths for the Python of the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    supervisor.hide()
    supervisor.answer_job(lambda job, source: execute(job, source, libraries))


def execute(job, source, libraries):
    """Start the services of the job and run its command; return the answer."""
    beside = services.start(job)
    files.unpack(job, source)
    before = changes.Before(job)
    env = make_environment(job, libraries)
    output = Ends(KEPT)
    # The forked child has a copy of this memory, which contains the job's key, but only until the child becomes the
    # shell.
    answer = {"command": Child(run, (job["command"], env)).watch(job, output=output)} | beside.ended()
    answer["output"] = [*(bytes(end).decode("utf-8", "replace") for end in output.ends), output.left_out]
    answer["files"], answer["dropped"] = changes.list_changes(before)
    return answer


def run(_instructions, _reporting, argument):
    """Become the shell, in the child."""
    command, env = argument
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, and the command would inherit that
    os.execve("/bin/sh", ["sh", "-c", command], env)  # noqa: S606 (this is what the sandbox is for)


def make_environment(job, libraries):
    """Return the environment variables of the command. Its Python can import what tests import."""
    more = {}
    if job["go"] and re.search(r"\b(?:go|make)\b", job["command"]):
        from . import go  # noqa: PLC0415 (only where it is needed)

        more = go.environment(job["go"], go.work_folder())
    env = virtual.environment(libraries, (".", *(["src"] if os.path.isdir("src") else [])), more=more)
    if job["node"]:
        os.symlink(job["node"], os.path.join(env["VIRTUAL_ENV"], "bin", "node"))
    return env
