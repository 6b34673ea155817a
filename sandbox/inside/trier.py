"""The trusted parent of a run of trials: as `supervisor`, but its child tries changes and calls nothing a verdict."""

import gc
import json
import signal
import sys

from . import files, supervisor
from .child import Child, read_all


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    serve(sys.argv[2:])


def preload(libraries):
    """Import once, for all that are forked from here, what every run needs."""
    sys.path.extend(path for path in libraries if path not in sys.path)
    from . import session, trial_session  # noqa: F401, PLC0415 (their libraries are not on the path before)

    session.preload()


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = Child(trials, libraries)  # before the job comes, so that nothing of its key is in its memory
    supervisor.hide()
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    files.write(files.contents(job, source), job["watched"])
    limits = {"memory_bytes": job["memory_mb"] << 20}
    first.send(json.dumps({"session": job["session"], "trial": {**job["trial"], **limits}}).encode())
    answer = {"python": sys.version.split()[0], "trial": first.watch(job)}
    supervisor.reply(key, answer)


def trials(told, events, libraries):
    """In the child: the trials."""
    preload(libraries)
    from . import trial_session  # noqa: PLC0415 (the parent need not have it)

    config = json.loads(read_all(told))
    return trial_session.run(config["session"], config["trial"], events, libraries)
