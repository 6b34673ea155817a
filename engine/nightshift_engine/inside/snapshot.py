"""Compares the state of a process before and after code ran, so that several candidates can be tried in one fork.

A fork costs some milliseconds, mostly for the pages that it touches first; a small test costs a tenth of one. So a fork
goes on with the next candidate as long as nothing is left of the one before. All that outlives a test is walked through
before and after: the variables of the tree's modules and of the tests', the contents of their containers, objects and
classes, defaults, closures and parameters. Where something is met whose state cannot be seen (a generator, an open
file, a library that keeps a state of its own), the comparison is given up, and each candidate has its own fork.
"""

import collections
import dis
import enum
import functools
import re
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

MOST = 3000
"""More objects than this take too long to walk through."""

PURE = frozenset({
    "__future__", "_abc", "_bisect", "_collections_abc", "_functools", "_heapq", "_operator", "_pytest", "abc",
    "bisect", "builtins", "cmath", "collections", "copy", "dataclasses", "datetime", "enum", "fractions", "functools",
    "heapq", "itertools", "json", "math", "numbers", "operator", "pytest", "re", "statistics", "string", "struct",
    "sys", "textwrap", "time", "types", "typing", "unicodedata", "unittest", "warnings",
})  # fmt: skip
"""Libraries that keep no state, or none that a later test could see."""

IMPURE = frozenset({
    "open", "exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr", "input", "breakpoint",
    "__import__", "__builtins__", "__dict__", "__globals__", "__code__", "__closure__", "_getframe", "settrace",
    "setprofile", "setrecursionlimit",
})  # fmt: skip
"""Names whose use may leave something behind that is not seen here."""

_VALUES: frozenset[type] = frozenset({
    type(None), bool, int, float, complex, str, bytes, range, slice, type(Ellipsis), type(NotImplemented), object,
    re.Pattern, types.GenericAlias, types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
})  # fmt: skip
_CONTAINERS: frozenset[type] = frozenset({list, tuple, set, frozenset, collections.deque})
_MAPPINGS: frozenset[type] = frozenset({dict, collections.OrderedDict, collections.defaultdict, collections.Counter})
_CACHE = functools._lru_cache_wrapper  # noqa: SLF001 (it has no other name)


class Opaque(Exception):
    """Something has a state that cannot be compared."""


class Snapshot:
    """The state that outlives a test, as it was when this was made.

    Args:
        modules: those of the tree and of the tests.
        parameters: what tests are called with.

    Raises:
        Opaque: something has a state that cannot be compared.
    """

    def __init__(self, modules: Sequence[types.ModuleType], parameters: Sequence[object]) -> None:
        self._modules, self._parameters = modules, parameters
        self._before = _Walk(modules, parameters)  # holds on to all objects, so that no new one takes an address
        if any(not is_harmless(code) for code in self._before.codes):
            raise Opaque

    def have_changed(self) -> bool:
        """Tell whether anything is not as it was."""
        try:
            now = _Walk(self._modules, self._parameters)
        except Opaque:
            return True
        before = self._before
        return now.marks != before.marks or list(map(id, now.objects)) != list(map(id, before.objects))


class _Walk:
    """One walk through all that outlives a test: objects in their order, sizes as `marks`, and codes of functions."""

    def __init__(self, modules: Sequence[types.ModuleType], parameters: Sequence[object]) -> None:
        self.objects, self.marks, self.codes = list[object](), list[object](), list[types.CodeType]()
        self._seen = set[int]()
        self._own = {id(vars(module)) for module in modules}
        self._names = {module.__name__ for module in modules}
        for module in modules:
            self._variables(vars(module))
        self._all(parameters)

    def _all(self, values: Collection[object]) -> None:
        self.marks.append(len(values))
        for value in values:
            self._visit(value)

    def _variables(self, namespace: Mapping[str, object]) -> None:
        for name, value in namespace.items():
            if not name.startswith(("__", "@", "_abc_impl")):
                self.marks.append(name)
                self._visit(value)

    def _visit(self, value: Any) -> None:
        self.objects.append(value)
        if len(self.objects) > MOST:
            raise Opaque
        kind = type(value)
        if kind in _VALUES or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if kind in _CONTAINERS:
            self._all(value)
        elif kind in _MAPPINGS:
            self._all([part for pair in value.items() for part in pair])
        elif kind is bytearray:
            self.marks.append(bytes(value))
        elif isinstance(value, type):
            self._class(value)
        elif kind is types.FunctionType:
            self._function(value)
        elif not self._wrapper(value, kind):
            self._object(value, kind)

    def _class(self, value: type) -> None:
        if value.__module__ in self._names:
            self._variables(vars(value))
        else:
            _must_be_pure(value.__module__)

    def _function(self, value: types.FunctionType) -> None:
        if id(value.__globals__) not in self._own:
            _must_be_pure(value.__module__)
            return
        self.codes.append(value.__code__)
        self._all(value.__defaults__ or ())
        for space in (value.__kwdefaults__ or {}, vars(value)):
            self._all(list(space.values()))
        self._all([cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()])

    def _wrapper(self, value: Any, kind: type) -> bool:
        """Visit what a wrapper of functions or a module holds; returns whether it was one."""
        if kind in {staticmethod, classmethod}:
            self._visit(value.__func__)
        elif kind is property:
            self._all([value.fget, value.fset, value.fdel])
        elif kind is _CACHE:
            self.marks.append(value.cache_info().currsize)
            self._visit(value.__wrapped__)
        elif kind is types.ModuleType:
            if value.__name__ not in self._names:
                _must_be_pure(value.__name__)
        elif kind is types.BuiltinFunctionType:
            owner = value.__self__
            _must_be_pure(owner.__name__ if isinstance(owner, types.ModuleType | type) else "")
        else:
            return False
        return True

    def _object(self, value: object, kind: type) -> None:
        if isinstance(value, enum.Enum) or kind.__module__ == "typing":
            return
        if kind.__module__.startswith("_pytest."):
            self._all([held for held in [getattr(value, "_fixture_function", None)] if held])
            return
        classes = kind.__mro__[:-1]
        if any(base.__module__ not in self._names or "__slots__" in vars(base) for base in classes):
            raise Opaque
        self._variables(vars(value))


def is_harmless(code: types.CodeType) -> bool:
    """Tell whether a function does nothing by name that could leave behind what is not seen here."""
    if IMPURE & set(code.co_names):
        return False
    if any(step.opname == "IMPORT_NAME" and step.argval.partition(".")[0] not in PURE for step in _steps(code)):
        return False
    return all(is_harmless(inner) for inner in code.co_consts if type(inner) is types.CodeType)


def _steps(code: types.CodeType) -> Iterable[dis.Instruction]:
    """The instructions, if there may be an import among them."""
    return dis.get_instructions(code) if code.co_names else ()


def _must_be_pure(module: object) -> None:
    if str(module).partition(".")[0] not in PURE:
        raise Opaque
