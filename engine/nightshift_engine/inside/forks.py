"""A pool of forked workers: a process for each job, a few at a time, each in a folder of its own.

A fork has all that its parent has imported, and shares nothing back but its slot: shared memory in which it reports how
far it is. So its parent knows, also of one that was killed, which step it was at, when that began and what was found
before. One that needs more memory than its share gets a MemoryError, before the whole sandbox has to die for it.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH109, PTH118, PTH123, PTH208

import contextlib
import json
import mmap
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time

from nightshift_inside import files

HEAD = struct.Struct("<ddII")  # the present step's begin by two clocks, steps that count, the length of the findings
CAPACITY = 4 << 20
FEW_FILES, FEW_BYTES = 300, 4 << 20


class Slot:
    """The slot of one fork at a time: shared memory and two folders, `work` (a copy of the workspace) and `temporary`.

    A workspace that is too large to be copied is worked in directly; `is_copy` tells.
    """

    def __init__(self, root, workspace):
        self._memory = mmap.mmap(-1, CAPACITY)
        self._workspace = workspace
        self.is_copy = _is_small(workspace)
        self.work = os.path.join(root, "work") if self.is_copy else workspace
        self.temporary = os.path.join(root, "tmp")
        self._fresh = None
        os.makedirs(self.temporary)

    def prepare(self):
        """Make it ready for the next fork."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), 0.0, 0, 0)
        if os.listdir(self.temporary):
            _remove(self.temporary)
            os.makedirs(self.temporary)
        if self.is_copy and (self._fresh is None or _stamps(self.work) != self._fresh):
            _remove(self.work)
            shutil.copytree(self._workspace, self.work, symlinks=True)
            self._fresh = _stamps(self.work)

    def enter(self):
        """In the fork: make the folders its own; modules of the workspace come from its copy."""
        os.chdir(self.work)
        tree = os.path.join(self._workspace, "")
        sys.path[:] = [
            os.path.normpath(self.work + path[len(self._workspace) :]) if f"{path}/".startswith(tree) else path
            for path in sys.path
        ]
        os.environ["TMPDIR"] = self.temporary
        tempfile.tempdir = None

    def step(self, done):
        """In the fork: a step begins, after `done` that count."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), time.process_time(), done, HEAD.unpack_from(self._memory)[3])

    def report(self, finding):
        """In the fork: report one finding; it is lost when the memory is full."""
        text = json.dumps(finding).encode() + b"\n"
        *step, length = HEAD.unpack_from(self._memory)
        start, end = HEAD.size + length, HEAD.size + length + len(text)
        if end <= CAPACITY:
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
        """Return the report of the fork; nothing when it is no JSON."""
        length = min(HEAD.unpack_from(self._memory)[3], CAPACITY - HEAD.size)
        try:
            return [json.loads(line) for line in self._memory[HEAD.size : HEAD.size + length].splitlines()]
        except ValueError:
            return []


def _is_small(folder):
    count = size = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            count, size = count + 1, size + os.lstat(os.path.join(directory, name)).st_size
            if count > FEW_FILES or size > FEW_BYTES:
                return False
    return True


def _stamps(folder):
    """Return a value that differs after any change of a file or folder in there."""
    stamps = {}
    for directory, _, names in os.walk(folder):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            stamps[path] = files.stamp(path)
    return stamps


def _remove(folder):
    """Remove a folder, whatever a fork made of it."""
    with contextlib.suppress(OSError):
        os.chmod(folder, 0o700)  # noqa: PTH101 (pathlib is slow to import)
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder):  # noqa: PTH112 (as above)
        os.rename(folder, f"{folder}-{os.urandom(4).hex()}")  # noqa: PTH104 (as above)


LEAST_SHARE = 96 << 20
SLACK = 3.0  # a step may wait so many times as long as it may work


class WorkerPool:
    """A few slots, and the forks that work in them.

    Args:
        count: how many forks run at the same time.
        share: how many bytes of memory each may use besides what it has of its parent.
    """

    def __init__(self, count, share):
        self._root = tempfile.mkdtemp(prefix="candidates-")
        self._share, self._workspace, self._count = share, os.getcwd(), count
        self._slots, self._running = [], {}

    def run(self, jobs, perform, ended, *, step_s, whole_s, until=None, ready=None):
        """Work on all jobs.

        Args:
            jobs: a deque of them; it may get more meanwhile. What is left in it was not begun.
            perform: called with a job and its slot in a fork.
            ended: called with a job, its slot, and `exited`, `timeout` or `crashed` in here.
            step_s: how long a step may take: processor time, and some times as much where it waits or is kept waiting.
            whole_s: how long a job may take.
            until: when (monotonic) no more is begun.
            ready: called with a job in here, before its fork; tells whether it needs one.
        """
        self._most = _address_space() + self._share
        while self._running or (jobs and (until is None or time.monotonic() < until)):
            while jobs and len(self._running) < self._count and (until is None or time.monotonic() < until):
                job = jobs.popleft()
                if ready is None or ready(job):
                    self._start(job, perform)
            for descriptor in self._wait(step_s, whole_s) if self._running else ():
                job, slot, pid, _ = self._running.pop(descriptor)
                how = _end(descriptor, pid)
                ended(job, slot, how)
                self._slots.append(slot)

    def _start(self, job, perform):
        slot = self._slots.pop() if self._slots else self._new_slot()
        slot.prepare()
        pid = os.fork()
        if pid == 0:
            _become(slot, self._most, lambda: perform(job, slot))
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._running[os.pidfd_open(pid)] = job, slot, pid, time.monotonic()

    def _new_slot(self):
        return Slot(tempfile.mkdtemp(dir=self._root), self._workspace)

    def _wait(self, step_s, whole_s):
        """The descriptors of forks that have ended, or that have to."""
        poll = select.poll()
        for descriptor in self._running:
            poll.register(descriptor, select.POLLIN)
        while True:
            now = time.monotonic()
            ends = {
                descriptor: min(_step_end(slot, pid, step_s, now), begun + whole_s)
                for descriptor, (_, slot, pid, begun) in self._running.items()
            }
            late = [descriptor for descriptor, end in ends.items() if end <= now]
            left = 0.0 if late else min(ends.values()) - now
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000 + 1)}
            if late or ready:
                return ready.union(late)


def _step_end(slot, pid, step_s, now):
    """When a fork's present step has to end, as far as can be said now."""
    begun, worked = slot.begun
    if now < begun + step_s:
        return begun + step_s
    last = begun + SLACK * step_s
    with contextlib.suppress(OSError):  # it has just ended
        left = step_s - (time.clock_gettime(~pid << 3 | 2) - worked)  # the kernel's number of its processor clock
        return min(last, now + left)
    return last


def pool_for(task):
    """The pool of workers that a run is allowed."""
    return WorkerPool(task["count"], max(LEAST_SHARE, ((task["memory_mb"] << 20) - LEAST_SHARE) // task["count"]))


def in_process(work):
    """Work in a forked process; returns whether it came to its end."""
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def emit(events, *event):
    """Write an event; a short one, as forks write, comes in one piece."""
    text = (json.dumps(event) + "\n").encode()
    while text:
        text = text[os.write(events, text) :]


def _end(descriptor, pid):
    """End a fork with all that it started, and return how it ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    was_over = bool(poll.poll(0))
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    os.close(descriptor)
    return "timeout" if not was_over else "exited" if status == 0 else "crashed"


def _become(slot, most, work):
    """Turn the forked process into its work; never returns."""
    status = 70
    try:
        os.setpgid(0, 0)
        _limit(most)
        slot.enter()
        work()
        status = 0
    except BaseException:  # noqa: BLE001 (whatever it is, the fork ends here)
        import traceback  # noqa: PLC0415 (only needed here)

        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def _address_space():
    """How many bytes of addresses this process uses."""
    with open("/proc/self/statm", "rb") as source:
        return int(source.read().split()[0]) * resource.getpagesize()


def _limit(most):
    """Bound the address space."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


class OutOfTime(BaseException):
    """The time is over."""


class Limited:
    """A block that may take so many seconds; what hangs in C is not reached by this."""

    def __init__(self, seconds):
        self._seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds / 10)  # again, if it is caught somewhere

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _over(self, *_):
        raise OutOfTime
