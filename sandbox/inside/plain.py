"""The trusted parent of a run that Python's tests have no split run in: `supervisor` without the processes of one."""

import gc
import sys

from . import supervisor

preload = supervisor.preload


def main():
    """Take the job from standard input, run it, answer on standard output."""
    gc.disable()
    sys.path.remove(sys.argv[1])  # where this file was found; the workspace's names are not to meet ours
    preload(sys.argv[2:])
    serve(sys.argv[2:])


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    supervisor.serve_with(libraries, None)
