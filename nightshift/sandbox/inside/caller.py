"""The trusted parent of a run of calls: as `supervisor`, but with no test framework in any process of the sandbox."""

import gc
import marshal
import os
import signal
import sys

from . import calls, files, services, supervisor
from .child import Child, read_all


def main():
    """Take the job from standard input, run it, answer on standard output."""
    serve(supervisor.begin())


def preload(_libraries):
    """Import the modules that every run needs, which come with this one."""


def serve(libraries):
    """Serve the one job that comes; `libraries` are import paths for the called code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = Child(calling, libraries)  # before the job comes, so that nothing of it is in its memory
    supervisor.hide()
    supervisor.answer_job(lambda job, source: run(job, source, first))


def run(job, source, first):
    """Make the calls, with the services of the job; returns the answer."""
    beside = services.start(job)
    files.unpack(job, source)
    session = job["session"]
    config = {"calls": job["calls"], "paths": session["paths"], "environ": job["environ"]}
    first.send(marshal.dumps(config))
    return {"python": sys.version.split()[0], "calls": first.watch(job)} | beside.ended()


def calling(instructions, events, libraries):
    """In the child: the calls."""
    sys.path.extend(libraries)
    sys.argv[:] = ["calls"]
    config = marshal.loads(read_all(instructions))  # noqa: S302 (from the trusted parent)
    os.environ.update(config["environ"])
    gc.freeze()
    gc.enable()
    return calls.run(config, events)
