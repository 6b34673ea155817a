"""The trusted parent of a run that Python's tests have no split run in: `supervisor` without the processes of one."""

from . import supervisor

preload = supervisor.preload


def main():
    """Take the job from standard input, run it, answer on standard output."""
    libraries = supervisor.begun()
    preload(libraries)
    serve(libraries)


def serve(libraries):
    """Serve the one job that comes; `libraries` are the import paths of the test libraries."""
    supervisor.serve_with(libraries, None)
