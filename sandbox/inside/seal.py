"""Notices when tested code changes the test framework: remembers its functions and compares them at the end.

Each function is remembered with its code object, so that swapping the code of an unchanged function counts too. This
is one layer of several: code that puts everything back in time is not noticed here.
"""

import builtins
import os
import sys
from types import FunctionType

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


def take():
    """What the framework is now: name to function and code."""
    found = {f"builtins.{name}": (getattr(builtins, name), None) for name in BUILTINS}
    found["os._exit"], found["os.write"] = (os._exit, None), (os.write, None)
    found["sys.addaudithook"] = (sys.addaudithook, None)
    for name in MODULES:
        if name in sys.modules:
            found.update(_functions(sys.modules[name], name))
    return found


def changed(before):
    """The names whose function, or whose function's code, is another one now, appeared or went away."""
    after = take()
    gone = (None, None)
    names = [name for name, (value, code) in before.items() if _differs(after.get(name, gone), value, code)]
    return names + [name for name in after if name not in before]


def _differs(now, value, code):
    return now[0] is not value or now[1] is not code


def _functions(module, prefix):
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType):
            yield f"{prefix}.{name}", (value, value.__code__)
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield f"{prefix}.{name}", (value, None)
            yield from _members(value, f"{prefix}.{name}")


def _members(owner, prefix):
    for name, value in list(vars(owner).items()):
        plain = getattr(value, "__func__", value)
        plain = plain.fget if isinstance(plain, property) else plain
        if isinstance(plain, FunctionType):
            yield f"{prefix}.{name}", (plain, plain.__code__)
        elif not name.startswith("__") and hasattr(type(value), "__get__"):
            yield f"{prefix}.{name}", (value, None)  # a descriptor can answer in an attribute's place
