"""Chooses the tests for the split run: those that behave the same when the code they test is in another process.

A right answer must never be refused, so a file is taken only where everything in it is known to be harmless: imports of
pure modules and of the workspace, no look at files, streams, environment, callers, identity or the import system. A
test that does such a thing is run along, for what it leaves behind, and is not judged.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nightshift.core.code.paths import is_test_path
from nightshift.core.tasks.task import Files
from nightshift.core.text.encoding import is_utf8
from nightshift.sandbox.source import Source
from nightshift.verdict.languages.plan import Role, SplitPlan, SuiteFile
from nightshift.verdict.languages.python.outline import Function, Outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings

PURE = frozenset({
    "__future__", "base64", "binascii", "bisect", "calendar", "cmath", "collections", "datetime", "decimal",
    "fractions", "functools", "hashlib", "heapq", "hypothesis", "hypothesis.stateful", "hypothesis.strategies",
    "itertools", "json", "math", "operator", "os", "pathlib", "pytest", "re", "statistics", "string", "struct", "sys",
    "textwrap", "time", "typing", "unittest", "uuid",
})  # fmt: skip
"""Modules that a test may use; of `os`, `sys` and `pathlib` only to extend the import path."""

_NAMES = frozenset({
    "open", "exec", "eval", "compile", "globals", "locals", "vars", "dir", "id", "input", "__import__", "breakpoint",
    "memoryview", "__file__", "os", "sys", "pathlib", "Path", "PurePath", "mock", "copy", "MonkeyPatch",
    "hash",  # of texts it is another one in each process
    # fixtures of pytest's that look at the process of the tests
    "capsys", "capfd", "capsysbinary", "capfdbinary", "caplog", "monkeypatch", "recwarn", "request", "tmpdir",
    "tmp_path_factory", "pytester", "testdir", "cache", "doctest_namespace", "pytestconfig", "mocker", "benchmark",
})  # fmt: skip
_CALLS = frozenset({
    "assertIs", "assertIsNot", "assertLogs", "assertNoLogs", "assertWarns", "assertWarnsRegex", "warns",
    "deprecated_call", "usefixtures", "filterwarnings", "patch", "importorskip", "enterContext", "asyncio", "anyio",
    "MonkeyPatch",
})  # fmt: skip
_FOR_PATHS = frozenset({"os", "sys", "pathlib"})
_IN_ORDER = frozenset({"list", "tuple", "str", "repr", "iter", "next", "enumerate", "join"})
PATCHING = ("monkeypatch", "mocker", "mock.")
"""A file with these changes the tested code for all of its tests, judged ones among them."""
_NEEDS_PYTEST = re.compile(r"\b(pytest|hypothesis|unittest|setup_\w+|teardown_\w+|fixture)\b")
_DUNDERS = frozenset({"__name__", "__qualname__", "__doc__", "__class__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decides where imports lead: all staged tests, the paths of the tree, the import roots, the conftests."""

    tests: Files
    present: Collection[str]
    roots: tuple[str, ...]
    settings: PytestSettings
    settings_text: str
    conftests: Files


def plan(files: Collection[SuiteFile], around: Surroundings) -> SplitPlan | None:
    """The split run of these test files; None where none of them is fit for it."""
    if around.settings.plugins or not is_utf8(around.settings_text):
        return None
    helpers = {path: text for path, text in {**around.tests, **around.conftests}.items() if path.endswith(".py")}
    for file in files:
        helpers.pop(file.path, None)
    roots = tuple(dict.fromkeys([*(_folder(file.path) for file in files), *around.roots]))
    reader = _Reader(helpers, around.present, roots)
    fit = [file for file in files if file.role is not Role.REGRESSION and reader.fits(file)]
    judged = {f"{file.staged}::{name}" for file in fit for name in reader.judged(file)}
    if not judged:
        return None
    config = around.settings.config
    return SplitPlan(
        suites=(*(file.staged for file in fit), *(file.must_fail_path for file in fit if file.copied)),
        texts={
            **helpers,
            **{file.staged: file.text for file in fit},
            **{file.must_fail_path: file.must_fail_text for file in fit if file.copied},
        },
        hidden=tuple(sorted(helpers)),
        roots=roots,
        settings={config: around.settings_text} if config else {},
        judged=frozenset(judged),
        whole=len(judged) == sum(len(file.names) for file in files) and not any(map(_may_have_others, files)),
        simple=_simple(fit) if all(map(_is_simple, fit)) and not around.conftests else {},
        conftests=tuple(around.conftests),
    )


def _simple(files: Collection[SuiteFile]) -> dict[str, tuple[str, ...]]:
    """The tests of each file and of its copy, which has them under the same names."""
    of_files = {file.staged: tuple(file.names) for file in files}
    return of_files | {file.must_fail_path: tuple(file.names) for file in files if file.copied}


def _may_have_others(file: SuiteFile) -> bool:
    """Tell whether a file may hold tests that are not listed."""
    return not isinstance(file.outline, Outline) or bool(file.outline.open_scopes)


def _is_simple(file: SuiteFile) -> bool:
    """Tell whether a file has only functions that can be called as they are."""
    assert isinstance(file.outline, Outline)
    return not (_NEEDS_PYTEST.search(file.text) or file.outline.open_scopes) and all(
        case.required and not case.owner and not case.node.decorator_list and not any(_parameters(case.node))
        for case in file.outline.cases
    )


def _parameters(node: Function) -> Iterator[ast.arg]:
    yield from (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


class _Reader:
    def __init__(self, helpers: Files, present: Collection[str], roots: tuple[str, ...]) -> None:
        self._helpers, self._roots, self._present = helpers, roots, present
        self._fit_helpers = self._all_fit(helpers)

    def _all_fit(self, helpers: Files) -> bool:
        return all(self._is_fit(text, frozenset()) for path, text in helpers.items())

    def fits(self, file: SuiteFile) -> bool:
        """Tell whether a test file may be run with its code elsewhere."""
        if not isinstance(file.outline, Outline) or not self._fit_helpers or self._is_in_package(file.path):
            return False
        tests = frozenset(case.node.name for case in file.outline.cases)
        patches = any(word in file.original for word in PATCHING)
        return not patches and self._is_fit(file.original, tests)

    def judged(self, file: SuiteFile) -> Iterator[str]:
        """The tests of a file whose results count, by their names in the run."""
        assert isinstance(file.outline, Outline)
        fit = {case.name for case in file.outline.cases if case.required and not any(map(_is_foul, _nodes(case.node)))}
        return (staged for staged, name in file.names.items() if name in fit)

    def _is_in_package(self, path: str) -> bool:
        folder = _folder(path)
        return f"{folder}__init__.py" in self._present or f"{folder}__init__.py" in self._helpers

    def _is_fit(self, text: str, tests: frozenset[str]) -> bool:
        try:
            source = Source(text)
        except SyntaxError:
            return False
        tree = source.tree
        if not source.is_utf8:
            return False  # the test side compiles texts, and passes over what their first lines say
        if not all(self._is_known(module) for module in _imported(tree)):
            return False
        return not any(_is_foul(node) for node in _outside(tree, tests))

    def _is_known(self, module: str) -> bool:
        """Tell whether a module is pure, of the tests' helpers, or of the workspace."""
        if module in PURE:
            return True
        stem = module.replace(".", "/")
        for root in self._roots:
            base = posixpath.normpath(posixpath.join(root, stem))
            if f"{base}.py" in self._helpers or f"{base}/__init__.py" in self._helpers:
                return True
            names = [name for name in (f"{base}.py", f"{base}/__init__.py") if name in self._present]
            if names and not any(map(is_test_path, names)):
                return True
            if any(path.startswith(f"{base}/") and path.endswith(".py") for path in self._present):
                return True
        return False


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module if node.module and not node.level else "."


def _outside(tree: ast.Module, tests: frozenset[str]) -> Iterator[ast.AST]:
    """The nodes of a module without those of its tests, and without additions to the import path."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if (isinstance(node, Function) and node.name in tests) or _extends_path(node):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _nodes(test: Function) -> Iterator[ast.AST]:
    return ast.walk(test)


def _extends_path(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_call and ast.unparse(node.value.func).startswith("sys.path.")  # type: ignore[attr-defined] # is_call says it


def _is_foul(node: ast.AST) -> bool:
    """Tell whether a node does what another process would change."""
    match node:
        case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            return True
        case ast.Import(names=names):
            return any(alias.name in _FOR_PATHS and alias.asname for alias in names)
        case ast.ImportFrom(module=module, names=names) if module in _FOR_PATHS:
            return module != "pathlib" or any(alias.asname or alias.name not in _NAMES for alias in names)
        case ast.Name(id=name) | ast.arg(arg=name):
            return name in _NAMES
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _IN_ORDER:
            return any(map(_is_set, args))
        case ast.Constant(value=str() as text):
            return text.startswith("__") and text.endswith("__")
        case ast.Attribute(attr=name):
            is_dunder = name.startswith("__") and name.endswith("__")
            return name in _CALLS or (is_dunder and name not in _DUNDERS)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [left, *comparators]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return any(isinstance(op, ast.Is | ast.IsNot) and not _is_by_value(one, two) for op, one, two in pairs)
    return False


def _is_set(node: ast.expr) -> bool:
    """Tell whether an expression is a set, whose order is another one in each process where it holds texts."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_set(left) or _is_set(right)
        case ast.Call(func=ast.Name(id=name)):
            return name in {"set", "frozenset"}
    return isinstance(node, ast.Set | ast.SetComp)


def _is_by_value(left: ast.expr, right: ast.expr) -> bool:
    """Tell whether identity is the same for copies: of `None` and its kin, of classes, of members of enumerations."""
    return any(
        isinstance(side, ast.Constant)
        or (isinstance(side, ast.Attribute) and side.attr.isupper())
        or (isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id == "type")
        for side in (left, right)
    )
