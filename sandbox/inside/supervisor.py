"""Runs first inside the sandbox: the trusted parent, which starts the tested code and reports what became of it.

It imports nothing of the workspace, cannot be read or traced by its children (same user, but not dumpable), and as
process 1 cannot be killed by them. It alone holds the job's key and the standard output: its one answer is signed with
the key, after every other process in the sandbox has been killed. Standard library only.

The answer is one line of hexadecimal BLAKE2b under the key, then JSON. What children report is passed on as they wrote
it; judging it is the daemon's business.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH108, PTH118, PTH120, PTH123, PTH202

import contextlib
import json
import os
import select
import signal
import sys
import time

CHUNK = 1 << 16
SEGMENT = 3000  # bytes of output kept for each test
SEGMENTS = 200_000  # bytes of output kept of a run
EVENTS = 6 << 20
NAME = 400  # the longest path of a test
SNAPSHOT_FILES, SNAPSHOT_BYTES = 300, 4 << 20
NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def main():
    """Take the job from standard input, run it, answer on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    libraries = sys.argv[2:]
    first = Child(pytest_session, libraries)  # starts at once: importing pytest takes longest
    hide()
    job = json.loads(read_all(0))
    key = bytes.fromhex(job.pop("key"))
    for path in job["remove"]:
        os.unlink(path)
    pristine = snapshot(".") if job["plain"] else None
    answer = {"python": sys.version.split()[0]}
    if job["command"]:
        first.discard()
        answer["command"] = Child(run_command, job["command"]).watch(job)
    else:
        first.send(job["session"])
        answer["suite"] = first.watch(job)
        answer["altered"] = altered(job["digests"])
    if pristine is not None and answer["suite"]["exit"] in (0, 1):
        answer["plain"] = plain(job, pristine, libraries)
    sys.stdout.flush()
    reply(key, answer)


def hide():
    """Close this process to its children: /proc/self and tracing need root from here on."""
    import ctypes  # noqa: PLC0415 (beside the child's imports, not before them)

    if ctypes.CDLL(None).prctl(*NOT_DUMPABLE):
        raise SystemExit("the supervisor could not be hidden")


def read_all(descriptor):
    """Everything up to the end of a descriptor."""
    parts = []
    while part := os.read(descriptor, CHUNK):
        parts.append(part)
    return b"".join(parts)


def reply(key, answer):
    """Write the signed answer and nothing more."""
    from hashlib import blake2b  # noqa: PLC0415 (beside the child's work, not before it)

    text = json.dumps(answer).encode()
    text = blake2b(text, key=key).hexdigest().encode() + b"\n" + text
    while text:
        text = text[os.write(1, text) :]


def snapshot(root):
    """The workspace as it is now, in memory, where no child can reach it; None when it is large."""
    files, left = {}, SNAPSHOT_BYTES
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            left -= os.path.getsize(path)
            if left < 0 or len(files) >= SNAPSHOT_FILES:
                return None
            with open(path, "rb") as file:
                files[os.path.relpath(path, root)] = file.read()
    return files


def plain(job, files, libraries):
    """The same tests once more, without pytest in the process, in a fresh copy of the workspace."""
    root = os.path.join(os.environ.get("TMPDIR", "/tmp"), "plain-" + os.urandom(4).hex())  # noqa: S108 (private)
    for path, content in files.items():
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
    os.chdir(root)
    child = Child(plain_session, libraries)
    child.send({"files": job["plain"], "paths": job["session"]["paths"]})
    return child.watch({**job, "twins": []})


def altered(digests):
    """Those of the given files that no longer have the bytes they were staged with."""
    from hashlib import sha256  # noqa: PLC0415 (beside the child's work, not before it)

    changed = []
    for path, digest in digests.items():
        try:
            with open(path, "rb") as file:
                same = sha256(file.read()).hexdigest() == digest
        except OSError:
            same = False
        if not same:
            changed.append(path)
    return changed


def pytest_session(instructions, events, libraries):
    """In the child: pytest, with a recorder that reports into `events`."""
    sys.path.extend(libraries)
    from . import session  # noqa: PLC0415 (the parent never imports it)

    session.preload()
    config = json.loads(read_all(instructions))
    os.close(instructions)
    return session.run(config, events, libraries)


def plain_session(instructions, events, libraries):
    """In the child: the test functions, called one by one."""
    sys.path.extend(libraries)
    from . import plain as calls  # noqa: PLC0415 (the parent never imports it)

    config = json.loads(read_all(instructions))
    os.close(instructions)
    return calls.run(config, events)


def run_command(_instructions, _events, argv):
    """In the child: any command at all."""
    os.execvp(argv[0], argv)  # noqa: S606 (argv of the owner's, no shell)


class Child:
    """A forked process with a pipe for what it is told, one for its events and one for its output."""

    def __init__(self, work, argument):
        told, self.telling = os.pipe()
        self.events, reporting = os.pipe()
        self.output, printing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor in (self.telling, self.events, self.output):
                os.close(descriptor)
            _become(work, told, reporting, printing, argument)
        for descriptor in (told, reporting, printing):
            os.close(descriptor)
        self.ended, self.status = os.pidfd_open(self.pid), None

    def send(self, config):
        """Tell the child what to do; it may have died already."""
        text = json.dumps(config).encode()
        with contextlib.suppress(BrokenPipeError):
            while text:
                text = text[os.write(self.telling, text) :]
        os.close(self.telling)

    def discard(self):
        """End a child that is not needed."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for descriptor in (self.telling, self.events, self.output, self.ended):
            os.close(descriptor)

    def watch(self, job):
        """Collect what it reports until it ends or a limit is reached; then end it and all it started."""
        started = time.monotonic()
        deadline, twins = started + job["wall_s"], [name.encode() for name in job["twins"]]
        taken = {self.events: bytearray(), self.output: bytearray()}
        most = {self.events: EVENTS, self.output: job["output_bytes"]}
        poll = select.poll()
        for descriptor in (*taken, self.ended):
            os.set_blocking(descriptor, False)
            poll.register(descriptor, select.POLLIN)
        why = ""
        while not why:
            left = deadline - time.monotonic()
            ready = [descriptor for descriptor, _ in poll.poll(min(1.0, max(0.0, left)) * 1000)]
            why = "timeout" if left <= 0 else "exited" if self.ended in ready else ""
            seen = max(0, len(taken[self.events]) - NAME)
            for descriptor, data in taken.items():
                if not drain(descriptor, data, most[descriptor], poll):
                    why = "flood"
            if twins and any(taken[self.events].find(name, seen) >= 0 for name in twins):
                deadline, twins = time.monotonic() + job["wall_s"], []  # the twins get the same time again
            self._reap(os.WNOHANG)
        exit_code = self._end(why)
        for descriptor, data in taken.items():
            drain(descriptor, data, most[descriptor], poll)
            os.close(descriptor)
        return {
            "ended": why,
            "exit": exit_code,
            "events": taken[self.events].decode("utf-8", "replace"),
            "output": segments(bytes(taken[self.output]), job["token"].encode()),
            "duration_s": time.monotonic() - started,
        }

    def _reap(self, flags):
        """Wait for what has ended; as process 1 that includes orphans, which would count as processes until then."""
        try:
            while True:
                pid, status = os.waitpid(-1 if os.getpid() == 1 else self.pid, flags)
                if pid == self.pid:
                    self.status = status
                if pid == 0 or (pid == self.pid and os.getpid() != 1):
                    return
        except ChildProcessError:
            return

    def _end(self, why):
        with contextlib.suppress(ProcessLookupError):
            if os.getpid() == 1:
                os.kill(-1, signal.SIGKILL)
            else:
                os.killpg(self.pid, signal.SIGKILL)
        self._reap(0)
        os.close(self.ended)
        return os.waitstatus_to_exitcode(self.status) if why == "exited" else None


def drain(descriptor, taken, most, poll):
    """Read what is there; false when there was more than is allowed."""
    while len(taken) < most:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return True
        if not data:
            with contextlib.suppress(KeyError):
                poll.unregister(descriptor)
            return True
        taken += data
    return False


def segments(output, token):
    """Output by test: the child writes the token and a test's id before each of them."""
    found, left = {}, SEGMENTS
    for number, part in enumerate(output.split(token)):
        name, _, text = part.partition(b"\n") if number else (b"", b"", part)
        text = text[-SEGMENT:]
        if text.strip() and left > 0:
            found[name.decode("utf-8", "replace")] = text.decode("utf-8", "replace")
            left -= len(text)
    return found


def _become(work, told, reporting, printing, argument):
    """Turn the forked child into its work; never returns."""
    status = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (printing, 1), (printing, 2)):
            os.dup2(source, target)
        for descriptor in (null, printing):
            os.close(descriptor)
        status = work(told, reporting, argument)
    except BaseException:  # noqa: BLE001 (whatever it is, the child ends here)
        import traceback  # noqa: PLC0415 (only needed here)

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status if isinstance(status, int) else 70)
