"""Notices when tested code changes the test framework: remembers its functions and compares them at the end.

Each function is remembered with its code object, so that swapping the code of an unchanged function counts too. This
is one layer of several: code that puts everything back in time is not noticed here. What is remembered is made once,
for all that are forked: a comparison makes nothing, since memory that a fork writes to has to be copied for it.
"""

import builtins
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

_Pair = tuple[Any, CodeType | None]
_Found = dict[str, _Pair]

MODULES = (
    "_pytest.reports", "_pytest.runner", "_pytest.python", "_pytest.main", "_pytest.nodes", "_pytest.unittest",
    "_pytest.outcomes", "_pytest.raises", "_pytest.approx", "_pytest.assertion", "_pytest.assertion.rewrite",
    "_pytest.assertion.util", "_pytest.skipping", "_pytest.subtests", "_pytest.config", "pluggy._hooks",
    "pluggy._callers", "pluggy._manager", "pluggy._result", "unittest.case", "json", "json.encoder",
)  # fmt: skip
BUILTINS = (
    "AssertionError", "BaseException", "Exception", "isinstance", "issubclass", "type", "getattr", "setattr", "len",
    "all", "any", "sum", "sorted", "abs", "round", "min", "max", "repr", "hasattr", "__import__", "__build_class__",
    "compile", "exec", "eval", "id", "iter", "next", "open",
)  # fmt: skip


class Seal:
    """What the framework is now: of each module and class what it holds that matters."""

    def __init__(self) -> None:
        self._holders = [
            _Holder("builtins", vars(builtins), lambda name, _: name in BUILTINS),
            _Holder("os", vars(os), lambda name, _: name in {"_exit", "write"}),
            _Holder("sys", vars(sys), lambda name, _: name == "addaudithook"),
        ]
        for name in MODULES:
            self._holders += _holders(sys.modules[name]) if name in sys.modules else ()
        self._begun: _Found = {}

    def begin(self) -> None:
        """Take what differs by now as it is: plugins have been loaded, and no code of the workspace has run."""
        self._begun = self._differences()

    def changed(self) -> list[str]:
        """The names whose function, or whose function's code, is another one now, appeared or went away."""
        before, after, as_it_was = self._begun, self._differences(), (object(), None)
        names = dict.fromkeys((*before, *after))
        return [name for name in names if _differs(before.get(name, as_it_was), after.get(name, as_it_was))]

    def _differences(self) -> _Found:
        return {name: found for holder in self._holders for name, found in holder.differences()}


class _Holder:
    """A module or class; `matters` tells by name and value what of it is remembered."""

    def __init__(self, prefix: str, space: Mapping[str, Any], matters: Callable[[str, Any], bool]) -> None:
        self._prefix, self._space, self._matters, self._names = prefix, space, matters, frozenset(space)
        self._kept = [(name, value, *_function(value)) for name, value in space.items() if matters(name, value)]

    def differences(self) -> Iterator[tuple[str, _Pair]]:
        """Name and what there is now, a value and its code, of what is not as it was."""
        space = self._space
        for name, value, function, code in self._kept:
            now = space.get(name)
            if now is not value or (function is not None and function.__code__ is not code):
                yield f"{self._prefix}.{name}", (now, _function(now)[1])
        for name in space.keys() - self._names:
            if self._matters(name, space[name]):
                yield f"{self._prefix}.{name}", (space[name], _function(space[name])[1])


def _holders(module: ModuleType) -> Iterator[_Holder]:
    def is_own(_name: str, value: Any) -> bool:
        return isinstance(value, FunctionType) or (isinstance(value, type) and value.__module__ == module.__name__)

    yield _Holder(module.__name__, vars(module), is_own)
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and is_own(name, value):
            yield _Holder(f"{module.__name__}.{name}", vars(value), _is_member)


def _is_member(name: str, value: Any) -> bool:
    """Tell whether it is a function, or a descriptor, which can answer in an attribute's place."""
    return _function(value)[0] is not None or (not name.startswith("__") and hasattr(type(value), "__get__"))


def _function(value: Any) -> tuple[FunctionType | None, CodeType | None]:
    """The function in a value, and its code."""
    plain = getattr(value, "__func__", value)
    plain = plain.fget if isinstance(plain, property) else plain
    return (plain, plain.__code__) if isinstance(plain, FunctionType) else (None, None)


def _differs(one: _Pair, other: _Pair) -> bool:
    return one[0] is not other[0] or one[1] is not other[1]
