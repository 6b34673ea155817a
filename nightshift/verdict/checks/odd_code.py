"""Finds code that inspects its callers, the tests or the processes around it, and notes this for reviewers.

Such code cannot make a wrong change pass, because copies of the tests and replayed calls reveal false results.
Reviewers should know of it all the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from nightshift.core.code.paths import is_test_path
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.names import Names

_FRAMES = (
    "sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile", "sys.addaudithook", "inspect.stack",
    "inspect.currentframe", "inspect.getouterframes", "inspect.getsource", "traceback.extract_stack",
    "traceback.walk_stack", "linecache.getline", "linecache.getlines", "gc.get_objects", "gc.get_referrers",
)  # fmt: skip
_TABLES = ("meta_path", "path_hooks", "modules", "path_importer_cache")
_FILLERS = ("append", "insert", "extend", "update", "setdefault", "clear", "remove", "pop", "__setitem__")
BY_NAME: dict[str, str] = {
    **dict.fromkeys(_FRAMES, "python.frames"),
    **{f"sys.{table}.{filler}": "python.swap" for table in _TABLES for filler in _FILLERS},
    **dict.fromkeys(("os.register_at_fork", "weakref.finalize"), "python.signals"),
    "importlib.reload": "python.dynamic-import",
}
"""Functions that match a rule whenever they are mentioned, dotted name to rule."""
_PROCESS_FILES = re.compile(r"/proc/(self|thread-self|\d)|/dev/(fd|shm|pts|ptmx|mem|kmem)\b")
_READERS = frozenset(
    {"builtins.open", "io.open", "os.open", "pathlib.Path", "os.listdir", "glob.glob", "runpy.run_path"}
)


def look(names: Names, *, is_test: bool) -> Iterator[Finding]:
    """List the odd code of a module. A test may read test files."""
    docs = {id(node.value) for node in names.nodes if isinstance(node, ast.Expr)}
    for node in names.nodes:
        match node:
            case ast.Call(args=[first, *_]) if not is_test and names.resolve(node.func) in _READERS:
                if is_test_path(text := names.text(first)):
                    yield Finding("python.test-files", node.lineno, f"`{text[:50]}`")
            case ast.Constant(value=str(text)) if id(node) not in docs and _PROCESS_FILES.match(text):
                yield Finding("python.process-files", node.lineno, f"`{text[:50]}`")
            case ast.FunctionDef(name="__eq__", body=[ast.Return(value=ast.Constant(value=True))]):
                yield Finding("python.own-equality", node.lineno, "`__eq__`")
