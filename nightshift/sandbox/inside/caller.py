"""The trusted parent for a run of function calls. It works like `supervisor`, but imports no test framework."""

import gc
import marshal
import os
import signal
import sys

from . import calls, files, services, supervisor
from .child import Child, read_all


def main():
    """Read the job from standard input, run it, and answer on standard output."""
    serve(supervisor.begin())


def preload(_libraries):
    """Do nothing, because the modules that every run needs are imported together with this module."""


def serve(libraries):
    """Serve the single job. `libraries` are import paths for the called code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = Child(calling, libraries)  # forked before the job is read, so that the child's memory has nothing of it
    supervisor.hide()
    supervisor.answer_job(lambda job, source: run(job, source, first))


def run(job, source, first):
    """Start the services of the job and make its calls; return the answer."""
    beside = services.start(job)
    files.unpack(job, source)
    session = job["session"]
    config = {"calls": job["calls"], "paths": session["paths"], "environ": job["environ"]}
    first.send(marshal.dumps(config))
    return {"python": sys.version.split()[0], "calls": first.watch(job)} | beside.ended()


def calling(instructions, events, libraries):
    """Make the calls, in the child."""
    sys.path.extend(libraries)
    sys.argv[:] = ["calls"]
    config = marshal.loads(read_all(instructions))  # noqa: S302 (from the trusted parent)
    os.environ.update(config["environ"])
    gc.freeze()
    gc.enable()
    return calls.run(config, events)
