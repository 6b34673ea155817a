"""The trusted parent: the first process of the sandbox, which starts the tested code and reports its result.

It imports nothing of the workspace. Its children have the same user, but cannot read or trace it, because it is not
dumpable. As process 1, it cannot be killed by them. Only this process has the job's key and the standard output. It
signs its one answer with the key, after every other process in the sandbox was killed. It uses only the standard
library.

The answer is a line with the hexadecimal BLAKE2b hash under the key, followed by JSON. Reports of children are passed
on unchanged; the daemon judges them.
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
    """Read the job from standard input, run it, and answer on standard output."""
    libraries = begin()
    preload(libraries)
    serve(libraries)


def begin():
    """Prepare a trusted parent that was started, not forked; return the import paths of libraries given to it."""
    gc.disable()  # saves a tenth of the time of importing pytest
    sys.path.remove(sys.argv[1])  # this file's path; names of the workspace must not conflict with ours
    return sys.argv[2:]


def preload(libraries):
    """Import what every run needs, once for all processes forked from here."""
    sys.path.extend(libraries)
    from . import session  # noqa: PLC0415 (its libraries are not on the path before)

    session.preload()


def serve(libraries):
    """Serve the single job. `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hide()  # applies to the children as well, until they become other programs
    # The child is forked before the job is read, because its memory must not contain the job's key.
    first = Child(pytest_session, libraries)
    answer_job(lambda job, source: run(job, source, first, libraries))


def answer_job(work):
    """Receive the single job, run `work(job, source)`, and reply. If a service did not start, the reply says so."""
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    os.environ.update(job["environ"])
    try:
        answer = work(job, source)
    except services.NotUp as error:
        answer = error.answer
    reply(key, answer)


def run(job, source, first, libraries):
    """Start the services of the job and run its tests; return the answer."""
    answer, beside = {"python": sys.version.split()[0]}, services.start(job)
    files.unpack(job, source)
    watch = files.Watch(job["watched"])
    answer["suite"] = suite(job, first, libraries)
    answer["altered"] = watch.touched()
    return answer | beside.ended()


def hide():
    """Hide this process from its children, by making /proc/self and tracing require root from now on."""
    import ctypes  # noqa: PLC0415 (beside the child's imports, not before them)

    if ctypes.CDLL(None).prctl(*NOT_DUMPABLE):
        raise SystemExit("the supervisor could not be hidden")


def reply(key, answer):
    """Write the signed answer, and close the output, which shows that the answer is complete."""
    from hashlib import blake2b  # noqa: PLC0415 (beside the child's work, not before it)

    text = json.dumps(answer).encode()
    text = blake2b(text, key=key).hexdigest().encode() + b"\n" + text
    while text:
        text = text[os.write(1, text) :]
    os.close(1)


def suite(job, first, libraries):
    """Run the tests: with pytest in the child, by a command, or with the test runners of other languages."""
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
    """Run pytest in the child, with a recorder that writes to `events`."""
    sys.path.extend(path for path in libraries if path not in sys.path)
    from . import session  # noqa: PLC0415 (the parent never imports it)

    session.preload()
    gc.freeze()
    gc.enable()
    config = json.loads(read_all(instructions))
    os.close(instructions)
    return session.run(config, events, libraries)
