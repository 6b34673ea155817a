"""Runs first inside the sandbox: the trusted parent, which starts the tested code and reports what became of it.

It imports nothing of the workspace, cannot be read or traced by its children (same user, but not dumpable), and as
process 1 cannot be killed by them. It alone holds the job's key and the standard output: its one answer is signed with
the key, after every other process in the sandbox has been killed. Standard library only.

The answer is one line of hexadecimal BLAKE2b under the key, then JSON. What children report is passed on as they wrote
it; judging it is the daemon's business.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH103, PTH118

import gc
import json
import marshal
import os
import signal
import sys

from . import files, fresh
from .child import Child, read_all

PLAIN_WITHIN_S = 10.0  # a suite that takes longer is not run a third time
NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()  # a tenth of the time that importing pytest takes
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    serve(sys.argv[2:])


def preload(libraries):
    """Import once, for all that are forked from here, what every run needs."""
    sys.path.extend(libraries)
    from . import session  # noqa: PLC0415 (its libraries are not on the path before)

    session.preload()


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Starts at once, because importing pytest takes longest, and because what the job says must not be in its memory.
    first = Child(pytest_session, libraries)
    hide()
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    kept = files.unpack(job, source)
    watch = files.Watch(job["watched"])
    answer = {"python": sys.version.split()[0]}
    if job["command"]:
        first.discard()
        answer["command"] = Child(run_command, job["command"]).watch(job)
    else:
        answer["suite"] = suite(job, first)
        answer["altered"] = watch.touched()
    if kept and answer["suite"]["exit"] in (0, 1) and answer["suite"]["duration_s"] < PLAIN_WITHIN_S:
        answer["plain"] = plain(job, kept, libraries)
    reply(key, answer)


def hide():
    """Close this process to its children: /proc/self and tracing need root from here on."""
    import ctypes  # noqa: PLC0415 (beside the child's imports, not before them)

    if ctypes.CDLL(None).prctl(*NOT_DUMPABLE):
        raise SystemExit("the supervisor could not be hidden")


def reply(key, answer):
    """Write the signed answer and nothing more; closing the output says that it is whole."""
    from hashlib import blake2b  # noqa: PLC0415 (beside the child's work, not before it)

    text = json.dumps(answer).encode()
    text = blake2b(text, key=key).hexdigest().encode() + b"\n" + text
    while text:
        text = text[os.write(1, text) :]
    os.close(1)


def suite(job, first):
    """Run the tests: in the child that has pytest, or in processes of Node.js."""
    if job["node"] is None:
        first.send(json.dumps(job["session"]).encode())
        return first.watch(job)
    from . import node  # noqa: PLC0415 (only where it is needed)

    first.discard()
    return node.suite(job)


def plain(job, kept, libraries):
    """The same tests once more, without their framework in the process, in a fresh copy of the workspace."""
    root = os.path.join(os.environ.get("TMPDIR", "/tmp"), "plain-" + os.urandom(4).hex())  # noqa: S108 (private)
    os.makedirs(root)
    os.chdir(root)
    made = {""}
    for path, content in kept.items():
        files.put(path, content, made)
    if job["node"] is not None:
        from . import node  # noqa: PLC0415 (only where it is needed)

        return node.plain(job)
    child = Child(fresh.become, ["plain", *libraries])
    child.send(marshal.dumps({"files": job["plain"], "paths": job["session"]["paths"]}))
    return child.watch({**job, "twins": ()})


def pytest_session(instructions, events, libraries):
    """In the child: pytest, with a recorder that reports into `events`."""
    sys.path.extend(path for path in libraries if path not in sys.path)
    from . import session  # noqa: PLC0415 (the parent never imports it)

    session.preload()
    gc.freeze()
    gc.enable()
    config = json.loads(read_all(instructions))
    os.close(instructions)
    return session.run(config, events, libraries)


def run_command(_instructions, _events, argv):
    """In the child: any command at all."""
    os.execvp(argv[0], argv)  # noqa: S606 (argv of the owner's, no shell)
