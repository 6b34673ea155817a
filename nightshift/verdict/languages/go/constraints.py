"""Checks whether Go builds a test file on this machine.

A file name (`a_windows_test.go`) and a build constraint (`//go:build`) can restrict a file to some systems.
"""

from __future__ import annotations

import ast
import platform
import re

_SYSTEMS = frozenset({
    "aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js", "linux", "netbsd", "openbsd", "plan9",
    "solaris", "wasip1", "windows",
})  # fmt: skip
_MACHINES = frozenset({
    "386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64",
    "s390x", "wasm",
})  # fmt: skip
_HERE = {"x86_64": "amd64", "aarch64": "arm64"}
_CONSTRAINT = re.compile(r"^//go:build (.{1,2000})$", re.MULTILINE)
_TOKEN = re.compile(r"\s*(&&|\|\||!|\(|\)|[\w.]+)")
_OPERATORS = {"&&": "and", "||": "or", "!": "not", "(": "(", ")": ")"}


def is_built(path: str, text: str) -> bool:
    """Check whether a test file is built on this machine; true if its constraint cannot be parsed."""
    if any(not _holds(part) for part in _places(path.rpartition("/")[2])):
        return False
    match = _CONSTRAINT.search(text.partition("\npackage ")[0])
    try:
        return match is None or _evaluate(match[1])
    except (SyntaxError, RecursionError, MemoryError):
        return True


def _places(name: str) -> list[str]:
    parts = name.removesuffix("_test.go").split("_")[1:]
    last = parts[-1:]
    if last and last[0] in _MACHINES:
        return [*(part for part in parts[-2:-1] if part in _SYSTEMS), *last]
    return [part for part in last if part in _SYSTEMS]


def _holds(tag: str) -> bool:
    here = _HERE.get(platform.machine(), platform.machine())
    return tag in {"linux", "unix", "gc", here} or tag.startswith("go1.")


def _evaluate(text: str) -> bool:
    """Return the value of a build constraint. Its operators are replaced by Python's, and its tags by their values.

    Raises:
        SyntaxError: it is no constraint.
    """
    tokens = _TOKEN.findall(text.strip())
    if "".join(tokens) != "".join(text.split()):
        raise SyntaxError(text)
    words = (_OPERATORS.get(token) or str(_holds(token)) for token in tokens)
    return _value(ast.parse(" ".join(words), mode="eval").body)


def _value(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand)
        case ast.BoolOp(op=operator, values=parts):
            values = [_value(part) for part in parts]
            return all(values) if isinstance(operator, ast.And) else any(values)
    raise SyntaxError(ast.dump(node))
