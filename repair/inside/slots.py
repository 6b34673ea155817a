"""The places where forks work: shared memory in which a fork says how far it is, and folders that are its own.

So its parent knows, also of one that was killed, which step it was at, when that began and what was found before.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH118, PTH208

import contextlib
import json
import mmap
import os
import shutil
import struct
import tempfile
import time

from nightshift_inside import files

HEAD = struct.Struct("<ddII")  # the present step's begin by two clocks, steps that count, the length of the findings
ROOM = 4 << 20
FEW_FILES, FEW_BYTES = 300, 4 << 20


class Slot:
    """Where one fork at a time works: shared memory and two folders, `work` (a copy of the workspace) and `temporary`.

    A workspace that is too large to be copied is worked in directly; `is_copy` tells.
    """

    def __init__(self, root, workspace):
        self._memory = mmap.mmap(-1, ROOM)
        self._workspace = workspace
        self.is_copy = _is_small(workspace)
        self.work = os.path.join(root, "work") if self.is_copy else workspace
        self.temporary = os.path.join(root, "tmp")
        self._fresh = None
        os.makedirs(self.temporary)

    def prepare(self):
        """Make it as new."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), 0.0, 0, 0)
        if os.listdir(self.temporary):
            _remove(self.temporary)
            os.makedirs(self.temporary)
        if self.is_copy and (self._fresh is None or _stamps(self.work) != self._fresh):
            _remove(self.work)
            shutil.copytree(self._workspace, self.work, symlinks=True)
            self._fresh = _stamps(self.work)

    def enter(self):
        """In the fork: make the folders its own."""
        os.chdir(self.work)
        os.environ["TMPDIR"] = self.temporary
        tempfile.tempdir = None

    def step(self, done):
        """In the fork: a step begins, after `done` that count."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), time.process_time(), done, HEAD.unpack_from(self._memory)[3])

    def say(self, finding):
        """In the fork: one thing that it found; lost when there is no room left."""
        text = json.dumps(finding).encode() + b"\n"
        *step, length = HEAD.unpack_from(self._memory)
        start, end = HEAD.size + length, HEAD.size + length + len(text)
        if end <= ROOM:
            self._memory[start:end] = text
            HEAD.pack_into(self._memory, 0, *step, length + len(text))

    @property
    def begun(self):
        """When its present step began, by the monotonic clock and by the fork's processor time."""
        return HEAD.unpack_from(self._memory)[:2]

    @property
    def done(self):
        """How many steps are done that count."""
        return HEAD.unpack_from(self._memory)[2]

    @property
    def findings(self):
        """What the fork said; nothing when it is no JSON."""
        length = min(HEAD.unpack_from(self._memory)[3], ROOM - HEAD.size)
        try:
            return [json.loads(line) for line in self._memory[HEAD.size : HEAD.size + length].splitlines()]
        except ValueError:
            return []


def _is_small(folder):
    count = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            count, size = count + 1, size + os.lstat(os.path.join(place, name)).st_size
            if count > FEW_FILES or size > FEW_BYTES:
                return False
    return True


def _stamps(folder):
    """What differs after any change of a file or folder in there."""
    found = {}
    for place, _, names in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in names)):
            found[path] = files.stamp(path)
    return found


def _remove(folder):
    """Remove a folder, whatever a fork made of it."""
    with contextlib.suppress(OSError):
        os.chmod(folder, 0o700)  # noqa: PTH101 (pathlib is slow to import)
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder):  # noqa: PTH112 (as above)
        os.rename(folder, f"{folder}-{os.urandom(4).hex()}")  # noqa: PTH104 (as above)
