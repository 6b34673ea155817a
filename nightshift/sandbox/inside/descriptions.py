"""What the code side of a split run says of an object the first time that it names it by a handle."""

# ruff: noqa: PTH100

import os
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from . import values

HEAP_TYPE = 1 << 9
_DOC = 2000
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, type(len), type([].append), type(int.__add__))

STATE = (
    "lineno", "offset", "text", "filename", "msg", "end_lineno", "end_offset", "print_file_and_line", "errno",
    "strerror", "filename2", "code", "value", "name", "path", "obj", "reason", "start", "end", "object", "encoding",
)  # fmt: skip
"""What built-in exceptions hold besides their arguments."""


def of(value, server):
    """What an object is, as the test side wants to know it.

    A module: its name and whether it is a package. A class: names, module, docstring and bases. A function: names,
    module and docstring. Any other object: its class, its plain content, and whose comparison it has.
    """
    doc = getattr(value, "__doc__", None)
    doc = doc[:_DOC] if type(doc) is str else None
    if isinstance(value, ModuleType):
        return ["module", value.__name__, hasattr(value, "__path__")]
    names = [str(getattr(value, "__name__", "")), str(getattr(value, "__qualname__", ""))]
    if isinstance(value, type):
        return ["class", *names, str(value.__module__), doc, ["l", *map(server.handle, value.__bases__)]]
    if type(value) in _FUNCTIONS or (callable(value) and names[0]):
        return ["function", *names, str(getattr(value, "__module__", "")), doc]
    return ["object", server.handle(type(value)), server.content(value), equality(type(value))]


def is_standard(kind, root):
    """Tell whether a class is one of the standard library's, which the test side has too; `root` is the workspace."""
    module = sys.modules.get(kind.__module__)
    own = os.path.abspath(getattr(module, "__file__", None) or "/").startswith(root)
    is_known = str(kind.__module__).partition(".")[0] in sys.stdlib_module_names and not own
    return is_known and getattr(module, kind.__qualname__, None) is kind


def equality(kind):
    """Whose comparison a class has: that of `object`, of the plain type it is derived from, or one of its own."""
    method = kind.__eq__
    if method is object.__eq__:
        return "identity"
    return "plain" if any(method is base.__eq__ for base in values.BASES) or not kind.__flags__ & HEAP_TYPE else "own"


def state(error):
    """The plain attributes of an exception, name and value."""
    found = {**vars(error), **{name: getattr(error, name) for name in STATE if hasattr(error, name)}}
    return [(name, value) for name, value in found.items() if type(value) in (str, int, list, type(None))]
