"""A split run: the tests in one process, the tested code in another, which sees nothing of the tests.

It comes before the run in which both share a process, so that no tested code has met an expectation yet. See
`docs/internals/security.md` for what it proves.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH118

import contextlib
import marshal
import os
import socket

from . import files, fresh
from .child import Child, Program, read_all


class Split:
    """Both processes; make it before the job is known, so that nothing of the job is in their memory.

    Args:
        libraries: import paths of the test libraries.
    """

    def __init__(self, libraries):
        self._here, there = socket.socketpair()
        words = ["served", *libraries]
        self._code = Program(lambda told: fresh.argv(told, there.fileno(), words), there.fileno())
        there.close()
        self._libraries, self._tests = libraries, None

    def ready(self, first):
        """Fork the test side; `first` is the child that waits for the run in one process and is left alone."""
        foreign = (*first.descriptors, *self._code.descriptors)
        descriptors = [str(number) for number in (self._here.fileno(), *foreign)]
        words = [str(self._code.pid), str(len(descriptors)), *descriptors]
        self._first = first
        self._tests = Child(_tests, [*words, *self._libraries])
        self._here.close()

    def run(self, job, tree):
        """Run the tests; returns what `Child.watch` does.

        Args:
            job: what the trusted parent was told.
            tree: path to bytes of the workspace without its tests.
        """
        self._tests.send(marshal.dumps(job["split"]))
        session, root = job["session"], _folder("code", tree)
        told = {"root": root, "paths": session["paths"], "own": session["own"], "environ": job["environ"]}
        self._code.send(marshal.dumps(told))
        found = self._tests.watch({**job, **job["split_time"]}, spare=[self._first.pid])
        self._code.discard()
        return found


def _folder(name, tree):
    """A new folder with these files."""
    root = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"{name}-{os.urandom(4).hex()}")  # noqa: S108 (private)
    made = {""}
    os.makedirs(root)
    for path, content in tree.items():
        files.put(os.path.join(root, path), content, made)
    return root


def _tests(told, events, words):
    """In the child: the test side."""
    pid, count = map(int, words[:2])
    descriptor, *foreign = map(int, words[2 : 2 + count])
    for number in foreign:
        with contextlib.suppress(OSError):
            os.close(number)
    from . import split_tests  # noqa: PLC0415 (its libraries are not on the path before)
    from .connection import Side  # noqa: PLC0415 (as above)

    config = marshal.loads(read_all(told))  # noqa: S302 (from the trusted parent)
    os.chdir(_folder("tests", {}))
    return split_tests.run(config, events, Side(descriptor, pid), words[2 + count :])
