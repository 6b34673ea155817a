"""Finds suspicious code in Python, without judging it: the policy decides which findings matter."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from nightshift.core.code.parsing import parse, parse_quietly
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.hooks.commands import UNKNOWN, Command
from nightshift.verdict.checks.names import Names
from nightshift.verdict.checks.python_calls import (
    check_call,
    commands_of,
    find_rule,
    is_assembled,
    list_built_names,
    removal,
    show,
)

MAX_CHARS = 400_000
MAX_DEPTH = 3
_TEST_LIBRARIES = frozenset({"pytest", "_pytest", "unittest", "nose", "hypothesis", "doctest"})
_CLIENTS = frozenset({
    "requests", "httpx", "aiohttp", "urllib3", "ftplib", "smtplib", "imaplib", "poplib", "telnetlib", "paramiko",
    "websockets", "http.client", "urllib.request", "xmlrpc.client", "grpc", "pycurl",
})  # fmt: skip
_HOOKS = frozenset({"modules", "meta_path", "path_hooks", "excepthook", "exit", "displayhook", "unraisablehook",
                    "breakpointhook", "path_importer_cache"})  # fmt: skip
_TABLES = frozenset({"sys.modules", "sys.path_importer_cache"})
_FRAMEWORKS = frozenset({"pytest", "_pytest", "pluggy", "unittest", "hypothesis"})
_WARNERS = frozenset({"showwarning", "formatwarning", "_showwarnmsg", "_formatwarnmsg", "warn", "warn_explicit"})
_SHARED = frozenset({
    "os", "os.path", "time", "random", "json", "math", "pathlib.Path", "unittest", "unittest.TestCase", "pytest",
    "threading", "io", "socket", "subprocess", "operator", "functools",
})  # fmt: skip
_TYPED = (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)
_NATIVE = frozenset({"ctypes", "_ctypes", "cffi", "_cffi_backend"})


Hooks = Callable[[Sequence[Command]], Iterable[Finding]]
"""Returns a finding for each command that must not run; the caller sets the line numbers."""


def scan(text: str, hooks: Hooks, *, is_test: bool = False, depth: int = 0) -> list[Finding]:
    """List the suspicious code of a module; empty if the text is not valid Python.

    Args:
        text: the module's text.
        hooks: returns the findings for commands that must not run.
        is_test: true for a test. Code that is no test must not detect that it is being tested.
        depth: the number of enclosing texts that are run as code.
    """
    tree = read_tree(text)
    if tree is None:
        return []
    names = Names(tree)
    return list(dict.fromkeys(_Reader(names, hooks, is_test=is_test, depth=depth).read()))


def commands(text: str) -> list[Command]:
    """List the commands that a module runs, as far as their arguments are constant."""
    tree = read_tree(text)
    if tree is None:
        return []
    names = Names(tree)
    calls = [(node, names.resolve(node.func) or "") for node in names.nodes if isinstance(node, ast.Call)]
    return [
        command
        for node, target in calls
        for command in (*commands_of(node, target, names), *removal(node, target, names))
    ]


def read_tree(text: str) -> ast.Module | None:
    """Return the syntax tree; None if the text is not valid Python or too large."""
    if len(text) > MAX_CHARS:
        return None
    try:
        return parse(text)
    except SyntaxError:
        return parse_quietly(text)  # Some callers turn warnings into errors; read the code anyway.
    except (ValueError, RecursionError, MemoryError):
        return None


class _Reader:
    def __init__(self, names: Names, hooks: Hooks, *, is_test: bool, depth: int) -> None:
        self._names, self._hooks, self._is_test, self._depth = names, hooks, is_test, depth
        nodes = self._names.nodes
        self._called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        self._inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        typed = (node for node in nodes if isinstance(node, _TYPED))
        self._types = {id(inner) for node in typed for note in _annotations(node) for inner in ast.walk(note)}

    @functools.cached_property
    def _looped(self) -> set[int]:
        """The ids of all nodes in loops."""
        loops = (loop for loop in self._names.nodes if isinstance(loop, ast.While | ast.For))
        return {id(inner) for loop in loops for inner in ast.walk(loop)}

    @functools.cached_property
    def _built(self) -> set[str]:
        return list_built_names(self._names)

    def _is_built(self, text: ast.expr) -> bool:
        if isinstance(text, ast.Name):
            return text.id in self._built
        return is_assembled(text, self._names)

    def read(self) -> Iterator[Finding]:
        readers: dict[type[ast.AST], Callable[[Any], Iterable[Finding]]] = {
            ast.Call: self._call,
            ast.Attribute: self._mention,
            ast.Name: self._mention,
            ast.Import: self._import,
            ast.ImportFrom: self._import,
            ast.Compare: self._compare,
            ast.Constant: self._constant,
            ast.Assign: lambda node: self._assignment(node.targets),
            ast.AugAssign: lambda node: self._assignment([node.target]),
        }
        for node in self._names.nodes:
            if reader := readers.get(type(node)):
                yield from reader(node)

    def _constant(self, node: ast.Constant) -> Iterable[Finding]:
        if node.value != "PYTEST_CURRENT_TEST" or self._is_test:
            return ()
        return (Finding("python.test-detection", node.lineno, "`PYTEST_CURRENT_TEST`"),)

    def _call(self, node: ast.Call) -> Iterator[Finding]:
        names = self._names
        target = names.resolve(node.func)
        if target in {"builtins.eval", "builtins.exec", "builtins.compile"}:
            yield from self._code(node, target)
        elif target == "os.fork" and id(node) in self._looped:
            yield Finding("python.fork-bomb", node.lineno, "`os.fork()`")
        elif target == "sys.modules.get" and node.args and names.text(node.args[0]) in _TEST_LIBRARIES:
            yield Finding("python.test-detection", node.lineno, f"`{_show_node(node)}`")
        for seen in self._hooks(commands_of(node, target or "", names)):
            yield replace(seen, line=node.lineno)
        yield from check_call(node, target, names)

    def _code(self, node: ast.Call, target: str) -> Iterator[Finding]:
        """Check text that is run as code.

        Constant text is scanned like a module. Any other text is reported; `eval` of a text that the module itself
        assembles has a rule of its own.
        """
        rule = f"python.{target.removeprefix('builtins.')}"
        text = self._names.text(node.args[0]) if node.args else UNKNOWN
        if UNKNOWN in text:
            built = rule == "python.eval" and bool(node.args) and self._is_built(node.args[0])
            yield Finding("python.eval-built" if built else rule, node.lineno, f"`{_show_node(node)}`")
            return
        if self._depth < MAX_DEPTH:
            for inner in scan(text, self._hooks, is_test=self._is_test, depth=self._depth + 1):
                yield replace(inner, line=node.lineno)

    def _mention(self, node: ast.Attribute | ast.Name) -> Iterator[Finding]:
        """Report functions that match a rule and are mentioned without a call."""
        if isinstance(node.ctx, ast.Store):
            return
        if id(node) in self._types:
            return
        target = self._names.resolve(node)
        if target is None or id(node) in self._inner:
            return
        if (rule := find_rule(target)) and id(node) not in self._called:
            yield Finding(rule, node.lineno, f"`{_show_node(node)}`")

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif node.level or not node.module:
            return
        else:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for module in modules:
            top = module.partition(".")[0]
            if top in _NATIVE:
                yield Finding("python.native", node.lineno, f"`import {top}`")
            elif module in _CLIENTS or (top in _CLIENTS and module == top):
                yield Finding("python.network-client", node.lineno, f"`import {module}`")
            elif top in {"pytest", "_pytest"} and not self._is_test:
                yield Finding("python.test-detection", node.lineno, f"`import {top}` outside of tests")

    def _compare(self, node: ast.Compare) -> Iterator[Finding]:
        """Report test detection: `"pytest" in sys.modules`, `"pytest" in sys.argv[0]`."""
        if self._is_test or self._names.text(node.left).strip() not in _TEST_LIBRARIES:
            return
        for side in node.comparators:
            named = {self._names.resolve(inner) for inner in ast.walk(side)}
            if named & {"sys.modules", "sys.argv", "sys.modules.keys", "sys.orig_argv"}:
                yield Finding("python.test-detection", node.lineno, f"`{_show_node(node)}`")

    def _assignment(self, targets: list[ast.expr]) -> Iterator[Finding]:
        parts = (part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target]))
        for target in parts:
            match target:
                case ast.Attribute(value=value, attr=attr):
                    rule = _swap(self._names.resolve(value) or "", attr)
                case ast.Subscript(value=value, slice=key):
                    own_name = isinstance(key, ast.Name) and key.id == "__name__"
                    rule = "python.swap" if self._names.resolve(value) in _TABLES and not own_name else None
                case _:
                    continue
            if rule:
                yield Finding(rule, target.lineno, f"`{_show_node(target)} = …`")


def _swap(base: str, attr: str) -> str | None:
    """Return the rule that an assignment to an attribute of an imported object breaks; None if it breaks none."""
    if base.startswith("builtins") or (base == "sys" and attr in _HOOKS) or base in _SHARED:
        return "python.swap"
    if base.partition(".")[0] in _FRAMEWORKS or (base == "warnings" and attr in _WARNERS):
        return "python.swap"
    around = (base[:position] for position, char in enumerate(base) if char == ".")
    if any(prefix in _SHARED for prefix in around) and not base.startswith("os.environ"):
        return "python.swap"
    return "python.patching" if base and base.partition(".")[0] in sys.stdlib_module_names else None


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    """List the annotation nodes, in which a name only stands for a type."""
    match node:
        case ast.arg(annotation=ast.expr() as note) | ast.AnnAssign(annotation=note):
            yield note
        case ast.FunctionDef(returns=ast.expr() as note) | ast.AsyncFunctionDef(returns=ast.expr() as note):
            yield note


def _show_node(node: ast.AST) -> str:
    text = show(node)
    return text if len(text) <= 60 else text[:59] + "…"
