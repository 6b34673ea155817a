"""Runs one of our modules in an interpreter of its own, in which pytest was never imported.

It is started for every verdict, so it imports little: half of its time would go into `json` and what that imports.
"""

import marshal
import os
import sys

START = "import sys; sys.path.insert(0, sys.argv[1]); from nightshift_inside import fresh; fresh.main()"


def argv(told, reporting, words):
    """The words that start that interpreter.

    `words` are the module's name in this package and the folders of libraries; its `run(config, events)` is called with
    what the parent sends and the descriptor for its report.
    """
    python = sys.orig_argv[: sys.orig_argv.index("-I")]
    code = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib is slow to import)
    return [*python, "-I", "-S", "-B", "-c", START, code, str(told), str(reporting), *words]


def main():
    """The command line: code folder, two descriptors, module, libraries."""
    code, told, events, name, *libraries = sys.argv[1:]
    module = getattr(__import__(__package__, fromlist=[name]), name)
    sys.path.remove(code)  # the workspace's names are not to meet ours
    sys.path.extend(libraries)
    sys.argv[:] = [name]
    with open(int(told), "rb") as source:  # noqa: PTH123 (pathlib is slow to import)
        config = marshal.load(source)  # noqa: S302 (from the trusted parent)
    status = module.run(config, int(events))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # what the tested code left running or registered has no say in the end
