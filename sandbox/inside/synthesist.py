"""The trusted parent of a run that looks for a function: the tests in one child, then the search in another.

The search runs none of the workspace's code, and begins when all that the tests started is gone.
"""

import gc
import json
import signal
import sys

from . import files, supervisor
from .child import Child, read_all

LEAST_S, SPARE_S = 1.0, 3.0
"""What the search has at least, however long the tests took, and after how much more it is ended from outside."""


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    serve(sys.argv[2:])


def preload(libraries):
    """Import once, for all that are forked from here, what every run needs."""
    supervisor.preload(libraries)


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = Child(tests, libraries)  # before the job comes, so that nothing of its key is in its memory
    supervisor.hide()
    job, source = files.receive(0)
    key = bytes.fromhex(job.pop("key"))
    files.write(files.contents(job, source), job["watched"])
    task = job["trial"]
    first.send(json.dumps({"session": job["session"], "seconds": task["tests_s"]}).encode())
    seen = first.watch({**job, "wall_s": task["tests_s"]})
    left_s = max(LEAST_S, task["budget_s"] - seen["duration_s"])
    second = Child(search, libraries)
    told = {**task, "budget_s": left_s, "seen": seen["events"], "memory_mb": job["memory_mb"]}
    second.send(json.dumps(told).encode())
    said = second.watch({**job, "wall_s": left_s + SPARE_S})
    supervisor.reply(key, {"python": sys.version.split()[0], "trial": said})


def tests(told, events, libraries):
    """In the first child: the tests, with a recorder in the place of the function."""
    supervisor.preload(libraries)
    from .synthesis import recorder  # noqa: PLC0415 (the parent need not have it)

    gc.freeze()
    gc.enable()
    config = json.loads(read_all(told))
    return recorder.run(config["session"], events, libraries, config["seconds"])


def search(told, events, _libraries):
    """In the second child: the search."""
    from .synthesis import work  # noqa: PLC0415 (the first child must not have it)

    return work.run(json.loads(read_all(told)), events)
