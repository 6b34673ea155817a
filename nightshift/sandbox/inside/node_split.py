"""Runs files of node:test with the tested code in another process than its tests: one process of Node.js for each side.

This is part of the trusted parent. The code side has a copy of the workspace without any test and is shut off from the
test side, which has the text of its file in memory alone; the two speak over a pair of sockets. No tested code runs on
the test side, so what it reports is believed.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH118, PTH120

import contextlib
import functools
import json
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from . import files, landlock
from .child import Child
from .node import CODE, Found, Job, execute, less

SIDES = os.path.join(CODE, "apart")
MODULES_OF_TEXTS = "--experimental-vm-modules"


def run(job: Job, tree: Mapping[str, bytes]) -> Found | None:
    """Run each file that may be run so; returns what `Child.watch` does, or None where the sides cannot be kept apart.

    Args:
        job: what the daemon asked for.
        tree: the workspace without its tests, path to bytes.
    """
    folder = _code_tree(job, tree)
    total = {"ended": "exited", "exit": 0, "events": "", "output": {}, "duration_s": 0.0, "cpu_s": 0.0, "limit": ""}
    for number, suites in enumerate(job["node"]["pairs"]):
        if number:  # what a must-fail copy has left with a service is nothing for the next file
            job["running"].end()
            job["running"].start()
        pair = _Pair(job, suites[0], folder)
        if not number and not landlock.holds():  # while both sides start
            pair.discard()
            return None
        pair.tell(_told(job, suites, folder))
        found = pair.watch(less({**job, **job["split_time"]}, total))
        total = {
            "ended": found["ended"],
            "exit": total["exit"] or found["exit"],
            "events": total["events"] + found["events"],
            "output": total["output"] | found["output"],
            "duration_s": total["duration_s"] + found["duration_s"],
            "cpu_s": total["cpu_s"] + found["cpu_s"],
            "limit": found["limit"],
        }
        if found["ended"] != "exited":
            break
    return total


def _told(job: Job, suites: Sequence[str], folder: str) -> dict[str, Any]:
    """What the test side is told: a file and its must-fail copy, which runs if all tests of the file passed."""
    split, node = job["split"], job["node"]
    files = [
        {
            "id": path,
            "path": os.path.join(folder, path),
            "text": split["texts"][path],
            "isModule": path in node["modules"],
            "tests": split["simple"][path],
        }
        for path in suites
    ]
    return {"files": files, "helper": node["told"]["helper"]}


def _code_tree(job: Job, tree: Mapping[str, bytes]) -> str:
    """A copy of the workspace without its tests."""
    root = os.path.join(os.environ.get("TMPDIR", "/tmp"), "code-" + os.urandom(4).hex())  # noqa: S108 (private)
    os.makedirs(root)
    made = {root}
    for path, content in tree.items():
        files.put(os.path.join(root, path), content, made)
    for path in job["split"]["texts"]:
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
    return root


class _Pair:
    """Both sides of one file's run, started and not yet told what to do."""

    def __init__(self, job: Job, path: str, folder: str) -> None:
        mine, theirs = socket.socketpair()
        words = [job["node"]["path"], *job["node"]["flags"]]
        beside = os.path.join(folder, os.path.dirname(path), "")
        self._code = _forked(
            functools.partial(_code_side, theirs.fileno(), [*words, *_code_words(theirs, beside)], job["variables"]),
            folder,
        )
        tests = [*words, MODULES_OF_TEXTS, os.path.join(SIDES, "tests.mjs")]
        self._tests = Child(functools.partial(_test_side, mine.fileno(), job["variables"]), tests)
        mine.close()
        theirs.close()

    def tell(self, told: Mapping[str, object]) -> None:
        """Tell the test side what it runs."""
        self._tests.send(json.dumps(told).encode())

    def watch(self, job: Job) -> Found:
        """What the test side reports until it ends; nothing of either side is left then."""
        found = self._tests.watch(job)
        self._end()
        return found

    def discard(self) -> None:
        """End both."""
        self._tests.discard()
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._code, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._code, 0)


def _code_words(link: socket.socket, folder: str) -> list[str]:
    return [os.path.join(SIDES, "code.mjs"), str(link.fileno()), folder]


def _forked(work: Any, folder: str) -> int:
    """Fork a process without input and output that does some work in a folder."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir(folder)
            null = os.open(os.devnull, os.O_RDWR)
            for target in (0, 1, 2):
                os.dup2(null, target)
            os.close(null)
            work()
        finally:
            os._exit(70)
    return pid


def _code_side(link: int, words: Sequence[str], variables: Mapping[str, str]) -> None:
    """In a forked child: become the code side, if it can be shut off."""
    if landlock.restrict():
        os.set_inheritable(link, True)
        execute(words, variables)


def _test_side(link: int, variables: Mapping[str, str], told: int, reporting: int, words: Sequence[str]) -> NoReturn:
    """In a forked child: become the test side."""
    for descriptor in (told, reporting, link):
        os.set_inheritable(descriptor, True)
    os.chdir("/")
    execute([*words, str(told), str(reporting), str(link)], variables)
