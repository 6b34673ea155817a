"""Compiles test files before any tested code runs, and tells when a test runs other code than that.

What pytest would compile later could be given another text, another compiler or another loader by then. And what was
compiled can be put in the place of a test's code at any time, so it is compared when a test begins and when it ends.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH118, PTH123

import ast
import os
from types import CodeType

import _pytest.assertion.rewrite as rewriting

MARKS = "mark"


class Precompiled:
    """The code of some test files.

    Args:
        texts: absolute path to the bytes of each.
    """

    def __init__(self, texts):
        self._texts, self._ready = texts, {}
        self._expected = {}

    def install(self):
        """Have pytest take this code in place of what it would compile."""
        on_disk = rewriting._rewrite_test  # noqa: SLF001 (pytest has no other way)
        stat, ready = os.stat, self._ready

        def rewritten(path, config):
            code = ready.get(str(path))
            return on_disk(path, config) if code is None else (stat(path), code)

        rewriting._rewrite_test = rewritten  # noqa: SLF001

    def compile(self, config):
        """Compile all files as pytest's early configuration says; one that is no Python is left to pytest."""
        for path, text in self._texts.items():
            try:
                tree = ast.parse(text, filename=path)
            except (SyntaxError, ValueError, RecursionError):
                continue
            bare = dict(_bare(tree.body, ""))
            if config.known_args_namespace.assertmode == "rewrite":
                rewriting.rewrite_asserts(tree, text, path, config)
            code = self._ready[path] = compile(tree, path, "exec", dont_inherit=True)
            self._expected.update(((path, name), found) for name, found in _codes(code, "") if name in bare)

    def of(self, path):
        """The code of a file; an error of the file itself where it is no Python."""
        return self._ready.get(path) or compile(self._texts[path], path, "exec", dont_inherit=True)

    def differs(self, item):
        """Tell whether a test runs other code than was compiled for it."""
        function = getattr(item, "function", None)
        expected = self._expected.get((str(item.path), getattr(function, "__qualname__", "")))
        return expected is not None and getattr(function, "__code__", None) is not expected


def texts(paths):
    """The bytes of test files, by absolute path; ids of single tests count as their files."""
    found = {}
    for path in paths:
        own = os.path.join(os.getcwd(), path.partition("::")[0])  # noqa: PTH109 (pathlib is slow to import)
        with open(own, "rb") as file:
            found[own] = file.read()
    return found


def _bare(body, prefix):
    """The functions that have no decorators but marks, which leave them as they are."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _bare(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and all(MARKS in ast.dump(one) for one in node.decorator_list):
            yield f"{prefix}{node.name}", node


def _codes(code, prefix):
    """The code of each function and method of a module; of several with a name the last."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield f"{prefix}{inner.co_name}", inner
            yield from _codes(inner, f"{prefix}{inner.co_name}.")
