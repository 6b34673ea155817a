"""Detects which functions outside the tree were replaced during a run: a clock, a comparison or the framework's own.

Each function is stored with its code object, so that replacing only the code of a function counts too. The snapshot is
made once, before forking. A comparison creates no objects, because the kernel must copy all memory to which a fork
writes. A library may have good reasons to replace functions. Replacements that also occur in the same run on the base
are therefore normal.
"""

import os
import sys
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType

_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_MEMBERS = (FunctionType, MethodDescriptorType, WrapperDescriptorType, property, classmethod, staticmethod)
_RESTLESS = (
    "warnings",
    "pdb",
    "sys",
    "os",
    "__main__",
    "threading",
    "encodings",
    "linecache",
    "_pytest.assertion.util",
)
"""Modules in which pytest or Python itself replaces functions while tests run."""
_REPLACED = frozenset({"_pytest.config.Config._getini_unknown_type"})
"""Functions that pytest's own plugins replace while pytest reads its settings."""
_STANDARD = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120 (pathlib is slow to import)
_taken = {}


def take():
    """Take a snapshot of all loaded modules outside the tree. Modules in an earlier snapshot are not read again."""
    workspace = os.getcwd() + os.sep  # noqa: PTH109 (pathlib is slow to import)
    for name, module in list(sys.modules.items()):
        if name not in _taken and isinstance(module, ModuleType) and _is_outside(name, module, workspace):
            _taken[name] = list(_holders(name, module))
    return Seal([holder for holders in _taken.values() for holder in holders])


def _is_outside(name, module, workspace):
    file = getattr(module, "__file__", None) or ""
    restless = name.partition(".")[0] in _RESTLESS or name in _RESTLESS or name.startswith(__package__)
    return not restless and not file.startswith(workspace)


class Seal:
    """The functions of modules at one time, for a later comparison."""

    def __init__(self, holders):
        self._holders = holders

    def changed(self):
        """Return the names of functions that were removed, or replaced as a whole or only in their code."""
        return [name for holder in self._holders for name in holder.changed() if name not in _REPLACED]


class _Holder:
    """A module or class, with the functions that it contained."""

    def __init__(self, prefix, space, kinds):
        self._prefix, self._space = prefix, space
        functions = [(name, value) for name, value in list(space.items()) if isinstance(value, kinds)]
        self._originals = [(name, value, getattr(_unwrap(value), "__code__", None)) for name, value in functions]

    def changed(self):
        space = self._space
        for name, value, code in self._originals:
            now = space.get(name)
            is_other = now is not value and not _is_of_a_library(now)
            if is_other or (code is not None and _unwrap(value).__code__ is not code):
                yield f"{self._prefix}.{name}"


def _holders(name, module):
    yield _Holder(name, vars(module), (*_FUNCTIONS, type))
    for key, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == name:
            yield _Holder(f"{name}.{key}", vars(value), _MEMBERS)


def _is_of_a_library(value):
    """Check whether a function belongs to an installed library, which may have good reasons to patch."""
    code = getattr(_unwrap(value), "__code__", None)
    name = code.co_filename if code else ""
    return name.startswith("/") and not name.startswith((os.getcwd() + os.sep, _STANDARD))  # noqa: PTH109 (as above)


def _unwrap(value):
    """Return the function that a value wraps, such as a method or a property."""
    function = getattr(value, "__func__", value)
    return function.fget if isinstance(function, property) else function
