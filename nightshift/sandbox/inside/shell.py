"""The trusted parent of a command: unpacks a tree, runs `sh` in it, and tells which files the command left otherwise.

It looks at them once every process of the command is gone; what the command prints has no say in it.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH101, PTH103, PTH109, PTH112, PTH118, PTH120, PTH123, PTH211

import os
import re
import signal
import sys

from . import changes, files, own_packages, services, supervisor
from .child import Child, Ends

KEPT = 32 << 10
"""Bytes of the output's beginning, and of its end."""


def main():
    """Take the job from standard input, run it, answer on standard output."""
    serve(supervisor.begun())


def preload(_libraries):
    """What every run needs is imported with this module."""


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths that the command's Python has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    supervisor.hide()
    supervisor.answer_job(lambda job, source: executed(job, source, libraries))


def executed(job, source, libraries):
    """Run the command, with the services of the job; returns the answer."""
    beside = services.started(job)
    files.write(files.contents(job, source), (), job["gone"])
    before = changes.Before(job)
    env = settled(job, libraries)
    output = Ends(KEPT)
    # The fork's copy of this memory, with the key in it, is gone when it becomes the shell.
    answer = {"command": Child(run, (job["command"], env)).watch(job, output=output)} | beside.ended()
    answer["output"] = [*(bytes(end).decode("utf-8", "replace") for end in output.ends), output.left_out]
    answer["files"], answer["dropped"] = changes.told(before)
    return answer


def run(_told, _reporting, argument):
    """In the child: the shell."""
    command, env = argument
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, which the command would inherit
    os.execve("/bin/sh", ["sh", "-c", command], env)  # noqa: S606 (this is what the sandbox is for)


def settled(job, libraries):
    """Put a virtual environment beside the tree, and return the environment variables that make it the command's.

    Its Python imports what tests import: the libraries, and the tree as if it had been installed for editing.
    """
    venv, tree = os.path.join(os.environ["HOME"], ".venv"), os.getcwd()
    programs = os.path.join(venv, "bin")
    series = ".".join(map(str, sys.version_info[:2]))
    packages = os.path.join(venv, "lib", f"python{series}", "site-packages")
    os.makedirs(programs)
    os.makedirs(packages)
    for name in ("python", "python3"):
        os.symlink(sys.executable, os.path.join(programs, name))
    more = {}
    if job["go"] and re.search(r"\b(?:go|make)\b", job["command"]):
        from . import go  # noqa: PLC0415 (only where it is needed)

        more = go.environment(job["go"], go.work_folder())
    if job["node"]:
        os.symlink(job["node"], os.path.join(programs, "node"))
    source = os.path.join(tree, "src")
    shown = [*libraries, tree, *([source] if os.path.isdir(source) else [])]
    settings = f"home = {os.path.dirname(sys.executable)}\ninclude-system-site-packages = false\n"
    for path, text, mode in (
        (f"{venv}/pyvenv.cfg", settings, 0o644),
        (f"{packages}/shown.pth", "".join(f"{path}\n" for path in shown), 0o644),
        (f"{programs}/pytest", f'#!/bin/sh\nexec "{programs}/python" -m pytest "$@"\n', 0o755),
    ):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
    path = os.pathsep.join((programs, more.pop("PATH", os.environ.get("PATH", "/usr/bin:/bin"))))
    more |= own_packages.search_path(job["own"])
    return {**os.environ, **more, "PATH": path, "VIRTUAL_ENV": venv, "PWD": tree}
