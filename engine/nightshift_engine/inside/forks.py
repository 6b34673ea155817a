"""A pool of forked workers: one process per job, a few at a time, each in its own folder.

A fork has everything that its parent has imported. It shares only its slot with the parent: shared memory in which it
reports its progress. So the parent knows the last step of every fork, even of a killed one, the time at which that step
began, and the findings that were reported before. A fork that exceeds its share of memory gets a MemoryError before the
whole sandbox dies.
"""
# Importing pathlib would add some milliseconds to every start of the sandbox.
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

HEAD = struct.Struct("<ddII")  # start of the present step by two clocks, number of steps done, length of the findings
CAPACITY = 4 << 20
FEW_FILES, FEW_BYTES = 300, 4 << 20


class Slot:
    """A place for one fork at a time: shared memory and two folders.

    `work` is a copy of the workspace, and `temporary` is for temporary files. If the workspace is too large to copy,
    forks work in it directly and `is_copy` is false.
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
        """Prepare the slot for the next fork."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), 0.0, 0, 0)
        if os.listdir(self.temporary):
            _remove(self.temporary)
            os.makedirs(self.temporary)
        if self.is_copy and (self._fresh is None or _stamps(self.work) != self._fresh):
            _remove(self.work)
            shutil.copytree(self._workspace, self.work, symlinks=True)
            self._fresh = _stamps(self.work)

    def enter(self):
        """In the fork: switch to the slot's folders; modules of the workspace are imported from the slot's copy."""
        os.chdir(self.work)
        tree = os.path.join(self._workspace, "")
        sys.path[:] = [
            os.path.normpath(self.work + path[len(self._workspace) :]) if f"{path}/".startswith(tree) else path
            for path in sys.path
        ]
        os.environ["TMPDIR"] = self.temporary
        tempfile.tempdir = None

    def step(self, done):
        """In the fork: mark the start of a step, after `done` counted steps."""
        HEAD.pack_into(self._memory, 0, time.monotonic(), time.process_time(), done, HEAD.unpack_from(self._memory)[3])

    def report(self, finding):
        """In the fork: report one finding; the finding is lost if the shared memory is full."""
        text = json.dumps(finding).encode() + b"\n"
        *step, length = HEAD.unpack_from(self._memory)
        start, end = HEAD.size + length, HEAD.size + length + len(text)
        if end <= CAPACITY:
            self._memory[start:end] = text
            HEAD.pack_into(self._memory, 0, *step, length + len(text))

    @property
    def begun(self):
        """Start of the present step, by the monotonic clock and by the fork's processor time."""
        return HEAD.unpack_from(self._memory)[:2]

    @property
    def done(self):
        """Number of counted steps that are done."""
        return HEAD.unpack_from(self._memory)[2]

    @property
    def findings(self):
        """Findings that the fork reported; empty if the memory does not hold JSON."""
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
    """Return a value that differs after any change of a file or folder in `folder`."""
    stamps = {}
    for directory, _, names in os.walk(folder):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            stamps[path] = files.stamp(path)
    return stamps


def _remove(folder):
    """Remove a folder, even if a fork changed its permissions; rename the folder if removing fails."""
    with contextlib.suppress(OSError):
        os.chmod(folder, 0o700)  # noqa: PTH101 (pathlib is slow to import)
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder):  # noqa: PTH112 (as above)
        os.rename(folder, f"{folder}-{os.urandom(4).hex()}")  # noqa: PTH104 (as above)


LEAST_SHARE = 96 << 20
SLACK = 3.0  # wall time of a step, as a multiple of its limit of processor time


class WorkerPool:
    """A few slots, and the forks that work in them.

    Args:
        count: number of forks that run at the same time.
        share: bytes of memory that each fork may use beyond its parent's.
    """

    def __init__(self, count, share):
        self._root = tempfile.mkdtemp(prefix="candidates-")
        self._share, self._workspace, self._count = share, os.getcwd(), count
        self._slots, self._running = [], {}

    def run(self, jobs, perform, ended, *, step_s, whole_s, until=None, ready=None):
        """Work on all jobs.

        Args:
            jobs: a deque of jobs, which may grow meanwhile. Jobs that remain in it were not begun.
            perform: called in a fork with a job and its slot.
            ended: called in this process with a job, its slot, and `exited`, `timeout` or `crashed`.
            step_s: seconds of processor time that a step may take; its wall time may be `SLACK` times as much.
            whole_s: seconds that a job may take.
            until: time (monotonic) after which no job is begun; None for no limit.
            ready: called in this process with a job before its fork; returns whether the job needs a fork.
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
        """Wait, and return the descriptors of forks that have ended or must be ended."""
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
    """Return the earliest time at which a fork's present step may have to end.

    A later call returns a later time if the step has used less processor time than wall time.
    """
    begun, worked = slot.begun
    if now < begun + step_s:
        return begun + step_s
    last = begun + SLACK * step_s
    with contextlib.suppress(OSError):  # the fork may have ended meanwhile
        left = step_s - (time.clock_gettime(~pid << 3 | 2) - worked)  # this number is the fork's processor clock
        return min(last, now + left)
    return last


def pool_for(task):
    """Make the pool of workers that a task allows."""
    return WorkerPool(task["count"], max(LEAST_SHARE, ((task["memory_mb"] << 20) - LEAST_SHARE) // task["count"]))


def in_process(work):
    """Run `work` in a forked process; return whether it succeeded."""
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
    """Write an event; short events, such as those of forks, are written in one piece."""
    text = (json.dumps(event) + "\n").encode()
    while text:
        text = text[os.write(events, text) :]


def _end(descriptor, pid):
    """Kill a fork and its process group, and return how the fork ended."""
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
    """Run `work` in the forked process; never returns."""
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
    """Return how many bytes of address space this process uses."""
    with open("/proc/self/statm", "rb") as source:
        return int(source.read().split()[0]) * resource.getpagesize()


def _limit(most):
    """Limit the address space to `most` bytes."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


class OutOfTime(BaseException):
    """Raised when the time of a `Limited` block is over."""


class Limited:
    """A block with a time limit in seconds; code that hangs in C is not interrupted."""

    def __init__(self, seconds):
        self._seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds / 10)  # repeated, as code may catch OutOfTime

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _over(self, *_):
        raise OutOfTime
