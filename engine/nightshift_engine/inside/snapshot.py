"""Compares the state of a process before and after code ran, so that several candidates can be tried in one fork.

A fork costs some milliseconds, mostly for the pages that it touches first; a small test costs a tenth of a millisecond.
So a fork continues with the next candidate as long as the last one left nothing behind. All state that outlives a test
is visited before and after: the variables of the tree's modules and of the test modules, the contents of their
containers, objects and classes, defaults, closures and parameters. If an object has state that cannot be seen (a
generator, an open file, a library with state of its own), the comparison is given up, and each candidate gets its own
fork.
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
"""Maximum number of objects; visiting more takes too long."""

PURE = frozenset({
    "__future__", "_abc", "_bisect", "_collections_abc", "_functools", "_heapq", "_operator", "_pytest", "abc",
    "bisect", "builtins", "cmath", "collections", "copy", "dataclasses", "datetime", "enum", "fractions", "functools",
    "heapq", "itertools", "json", "math", "numbers", "operator", "pytest", "re", "statistics", "string", "struct",
    "sys", "textwrap", "time", "types", "typing", "unicodedata", "unittest", "warnings",
})  # fmt: skip
"""Libraries that keep no state, or no state that a later test could see."""

IMPURE = frozenset({
    "open", "exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr", "input", "breakpoint",
    "__import__", "__builtins__", "__dict__", "__globals__", "__code__", "__closure__", "_getframe", "settrace",
    "setprofile", "setrecursionlimit",
})  # fmt: skip
"""Names whose use may leave behind state that the comparison does not see."""

_VALUES: frozenset[type] = frozenset({
    type(None), bool, int, float, complex, str, bytes, range, slice, type(Ellipsis), type(NotImplemented), object,
    re.Pattern, types.GenericAlias, types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
})  # fmt: skip
_CONTAINERS: frozenset[type] = frozenset({list, tuple, set, frozenset, collections.deque})
_MAPPINGS: frozenset[type] = frozenset({dict, collections.OrderedDict, collections.defaultdict, collections.Counter})
_CACHE = functools._lru_cache_wrapper  # noqa: SLF001 (it has no other name)


class Opaque(Exception):
    """Raised when an object has state that cannot be compared."""


class Snapshot:
    """The state that outlives a test, at the time when the snapshot was made.

    Args:
        modules: the modules of the tree and of the tests.
        parameters: the values that tests are called with.

    Raises:
        Opaque: an object has state that cannot be compared.
    """

    def __init__(self, modules: Sequence[types.ModuleType], parameters: Sequence[object]) -> None:
        self._modules, self._parameters = modules, parameters
        self._before = _Walk(modules, parameters)  # keeps all objects alive, so that no new object gets an old address
        if any(not is_harmless(code) for code in self._before.codes):
            raise Opaque

    def have_changed(self) -> bool:
        """Check whether the state has changed; state that cannot be compared any more counts as changed."""
        try:
            now = _Walk(self._modules, self._parameters)
        except Opaque:
            return True
        before = self._before
        return now.marks != before.marks or list(map(id, now.objects)) != list(map(id, before.objects))


class _Walk:
    """One visit of all state that outlives a test.

    `objects` holds the visited objects in order, `marks` their names and sizes, and `codes` the code of functions.
    """

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
        """Visit the contents of a wrapper of functions, a module or a builtin; return False for any other value."""
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
    """Check that a function uses no name or import that could leave behind state that the comparison misses."""
    if IMPURE & set(code.co_names):
        return False
    if any(step.opname == "IMPORT_NAME" and step.argval.partition(".")[0] not in PURE for step in _steps(code)):
        return False
    return all(is_harmless(inner) for inner in code.co_consts if type(inner) is types.CodeType)


def _steps(code: types.CodeType) -> Iterable[dis.Instruction]:
    """Return the instructions of a function; empty if the function cannot contain an import."""
    return dis.get_instructions(code) if code.co_names else ()


def _must_be_pure(module: object) -> None:
    if str(module).partition(".")[0] not in PURE:
        raise Opaque
