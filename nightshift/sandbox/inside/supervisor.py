"""Runs first inside the sandbox: the trusted parent, which starts the tested code and reports what became of it.

It imports nothing of the workspace, cannot be read or traced by its children (same user, but not dumpable), and as
process 1 cannot be killed by them. It alone holds the job's key and the standard output: its one answer is signed with
the key, after every other process in the sandbox has been killed. Standard library only.

The answer is one line of hexadecimal BLAKE2b under the key, then JSON. What children report is passed on as they wrote
it; judging it is the daemon's business.
"""

import gc
import json
import os
import signal
import sys

from . import files, services
from .child import Child, read_all

NOT_DUMPABLE = (4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def main():
    """Take the job from standard input, run it, answer on standard output."""
    libraries = begin()
    preload(libraries)
    serve(libraries)


def begin():
    """Begin a trusted parent that is started by itself; returns the import paths of libraries that it was given."""
    gc.disable()  # a tenth of the time that importing pytest takes
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    return sys.argv[2:]


def preload(libraries):
    """Import once, for all that are forked from here, what every run needs."""
    sys.path.extend(libraries)
    from . import session  # noqa: PLC0415 (its libraries are not on the path before)

    session.preload()


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hide()  # the children as well, until they become other programs
    # Before the job comes, because what it says must not be in its memory.
    first = Child(pytest_session, libraries)
    answer_job(lambda job, source: run(job, source, first, libraries))


def answer_job(work):
    """Receive the one job, do it by `work(job, source)`, and reply; a service that is not up is the answer then."""
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    os.environ.update(job["environ"])
    try:
        answer = work(job, source)
    except services.NotUp as error:
        answer = error.answer
    reply(key, answer)


def run(job, source, first, libraries):
    """Run the job with its services; returns the answer."""
    answer, beside = {"python": sys.version.split()[0]}, services.start(job)
    files.unpack(job, source)
    watch = files.Watch(job["watched"])
    answer["suite"] = suite(job, first, libraries)
    answer["altered"] = watch.touched()
    return answer | beside.ended()


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


def suite(job, first, libraries):
    """Run the tests: in the child that has pytest, by a command, or by the runners of other languages."""
    from . import command  # noqa: PLC0415 (only where it is needed)

    if job["session"]["words"] is not None:
        first.send(json.dumps(job["session"]).encode())
        return command.watch(first, job)
    first.discard()
    if job["command"]:
        return command.run(job, libraries)
    from . import node  # noqa: PLC0415 (only where it is needed)

    return node.suite(job)


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
