"""Puts a candidate in the place of a file: for the import system, and on the disk for whoever reads it there."""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH108, PTH118, PTH123

import ast
import contextlib
import os

from . import surgery

UNREADABLE = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError, OverflowError, OSError)
"""What a candidate that is no Python, or of a scope that is not there, is refused with."""

TROUBLE = 300


def place(served, slot, path, scope, text):
    """In a fork: put it there.

    Raises:
        UNREADABLE: it cannot be compiled.
    """
    tree = surgery.spliced(served.tree(path) if scope else None, scope, text)
    written = ast.unparse(tree) if scope else text
    compile(tree, path, "exec", dont_inherit=True)
    served.over[path] = tree
    if slot.is_copy:
        file = os.path.join(slot.work, path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        with open(file, "wb") as target:
            target.write(surgery.encoded(written))


def invalid(error):
    """How a candidate did that was refused so: invalid, no test passed, and why."""
    return "invalid", 0, f"{type(error).__name__}: {error}"[:TROUBLE]
