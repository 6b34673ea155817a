"""Checks whether Go builds a test file on this machine.

A file name (`a_windows_test.go`) and a build constraint (`//go:build`) can restrict a file to some systems.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable

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


def is_built(path: str, text: str) -> bool:
    """Check whether a test file is built on this machine; true if its constraint cannot be parsed."""
    if any(not _holds(part) for part in _places(path.rpartition("/")[2])):
        return False
    match = _CONSTRAINT.search(text.partition("\npackage ")[0])
    try:
        return match is None or _Expression(match[1]).value()
    except (ValueError, RecursionError):
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


class _Expression:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text.strip())
        if "".join(self._tokens) != "".join(text.split()):
            raise ValueError(text)

    def value(self) -> bool:
        result = self._either()
        if self._tokens:
            raise ValueError(self._tokens[0])
        return result

    def _either(self) -> bool:
        return self._read_joined("||", lambda: self._read_joined("&&", self._read_operand, every=True), every=False)

    def _read_joined(self, operator: str, part: Callable[[], bool], *, every: bool) -> bool:
        values = [part()]
        while self._tokens[:1] == [operator]:
            self._tokens.pop(0)
            values.append(part())
        return all(values) if every else any(values)

    def _read_operand(self) -> bool:
        if not self._tokens:
            raise ValueError("it ends too early")
        token = self._tokens.pop(0)
        if token == "!":  # noqa: S105 (an operator)
            return not self._read_operand()
        if token == "(":  # noqa: S105 (a bracket)
            result = self._either()
            if self._tokens[:1] != [")"]:
                raise ValueError("a bracket is open")
            self._tokens.pop(0)
            return result
        if not re.fullmatch(r"[\w.]+", token):
            raise ValueError(token)
        return _holds(token)
