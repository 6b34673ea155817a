"""Runs first inside the sandbox: the trusted parent, which starts the tested code and reports what became of it.

It imports nothing of the workspace, cannot be read or traced by its children (same user, but not dumpable), and as
process 1 cannot be killed by them. It alone holds the job's key and the standard output: its one answer is signed with
the key, after every other process in the sandbox has been killed. Standard library only.

The answer is one line of hexadecimal BLAKE2b under the key, then JSON. What children report is passed on as they wrote
it; judging it is the daemon's business.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH108, PTH118, PTH120, PTH123, PTH202

import gc
import json
import os
import signal
import sys

from .child import Child, read_all

SNAPSHOT_FILES, SNAPSHOT_BYTES = 300, 4 << 20
PLAIN_WITHIN_S = 10.0  # a suite that takes longer is not run a third time
NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()  # a tenth of the time that importing pytest takes
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
    if pristine is not None and answer["suite"]["exit"] in (0, 1) and answer["suite"]["duration_s"] < PLAIN_WITHIN_S:
        answer["plain"] = plain(job, pristine, libraries)
    sys.stdout.flush()
    reply(key, answer)


def hide():
    """Close this process to its children: /proc/self and tracing need root from here on."""
    import ctypes  # noqa: PLC0415 (beside the child's imports, not before them)

    if ctypes.CDLL(None).prctl(*NOT_DUMPABLE):
        raise SystemExit("the supervisor could not be hidden")


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
    return child.watch({**job, "twins": ()})


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
    gc.freeze()
    gc.enable()
    config = json.loads(read_all(instructions))
    os.close(instructions)
    return session.run(config, events, libraries)


def plain_session(instructions, events, libraries):
    """In the child: the test functions, called one by one."""
    sys.path.extend(libraries)
    from . import plain as calls  # noqa: PLC0415 (the parent never imports it)

    gc.enable()
    config = json.loads(read_all(instructions))
    os.close(instructions)
    return calls.run(config, events)


def run_command(_instructions, _events, argv):
    """In the child: any command at all."""
    os.execvp(argv[0], argv)  # noqa: S606 (argv of the owner's, no shell)
