"""Describes the interfaces of changed files, and finds faults in test files, for each language.

Implements the port `core.ports.Languages`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Container, Iterator, Sequence

from nightshift.agent.python_outline import parse_python
from nightshift.agent.syntax import fault
from nightshift.core.code import golang, javascript
from nightshift.core.code.line_changes import list_written_lines
from nightshift.core.tasks.task import Change
from nightshift.verdict.languages.go import interface as go_interface
from nightshift.verdict.languages.javascript import interface as javascript_interface
from nightshift.verdict.languages.python import interface as python_interface
from nightshift.verdict.languages.python.gone_tests import about_gone, units_of
from nightshift.verdict.languages.test_texts import all_idle, asserts_something, excuses, idle_tests, let_off

SHORT = 40
"""A file with at most this many definitions is described with all of them."""


_FOR_ALL = ("*", "setup", "teardown", "pytest_")
"""Beginnings of imported names that may act on all tests of a file."""


class CodeReader:
    """Reads code and tests of Python, JavaScript, TypeScript and Go."""

    def describe_offer(self, path: str, text: str, before: str | None) -> list[str]:
        """Describe the definitions of a changed file, one per line, indented as in the file."""
        lines = list_written_lines(before or "", text)
        if javascript.is_source(path):
            return javascript_interface.describe_offer(path, text, lines, SHORT)
        if golang.is_source(path):
            return go_interface.describe_offer(text, lines, SHORT)
        return python_interface.describe_offer(text, lines, SHORT) if path.endswith(".py") else []

    def describe_imports(
        self, path: str, text: str, before: str | None, files: Container[str], read: Callable[[str], str | None]
    ) -> str:
        """Describe the definitions that the changed parts of a Python file import from other files and use."""
        lines = list_written_lines(before or "", text)
        return python_interface.describe_imports(path, text, lines, files, read) if path.endswith(".py") else ""

    def list_touched(self, path: str, text: str, before: str | None) -> list[str]:
        """List the public functions and classes that a change touches in a Python file, most new lines first."""
        return (
            python_interface.list_touched_names(text, list_written_lines(before or "", text))
            if path.endswith(".py")
            else []
        )

    def find_test_fault(self, path: str, text: str) -> str:
        """Return why a test file proves nothing; empty if it may prove something."""
        if not asserts_something(path, text):
            return "holds no test with an assertion"
        if words := excuses(path, text):
            return f"lets tests off ({', '.join(words)}); a test that does not run proves nothing"
        # A test without an assertion may still show that a call does not raise, so a file is at fault only if no test
        # asserts anything. Mutants measure what such tests are worth.
        return f"its tests assert nothing: {', '.join(idle_tests(path, text)[:5])}" if all_idle(path, text) else ""

    def refuse_removal(
        self,
        path: str,
        before: str,
        failing: Collection[str],
        change: Change,
        read: Callable[[str], str | None],
        *,
        passed: bool,
    ) -> str:
        """Return why a test file must not be removed; empty if it tests only removed code."""
        if not failing:
            return "passes with the change as it stands, so it stays"
        away = about_gone(before, change, read) if "" in failing else None
        tree = parse_python(before) if path.endswith(".py") else None
        names = [name for name, _ in _tests(tree.body) if name not in {*failing, *(away or ())}] if tree else []
        if names:
            what = f"also tests what stays ({', '.join(names[:5])})"
            return f"{what}; take out the other tests alone, and add one that fails while what they test is there"
        return "has tests that pass as they stand; take out the others alone" if passed else ""

    def only_adds_tests(self, path: str, before: str, text: str) -> bool:
        """Check whether a Python test file gets new tests alone, which cannot alter what its other tests check."""
        is_sound = path.endswith(".py") and not (let_off(path, text) - let_off(path, before))
        return is_sound and set(idle_tests(path, text)) <= set(idle_tests(path, before)) and _only_adds(before, text)

    def refuse_change(
        self,
        path: str,
        before: str,
        text: str,
        failing: Collection[str],
        change: Change,
        read: Callable[[str], str | None],
    ) -> str:
        """Return why the change of a test file is refused; empty if it is accepted."""
        if not failing:
            return "passes with the change as it stands, so it stays"
        if syntax_fault := fault(path, text):
            return f"is not valid: {syntax_fault.kind}: {syntax_fault.message}"
        if "" not in failing and (names := _list_changed(before, text, failing)):
            return f"changes {', '.join(names[:5])}, which pass as they stand"
        away = about_gone(before, change, read) if "" in failing else None
        if away is not None and (names := _list_changed(before, text, away)):
            return f"changes {', '.join(names[:5])}, which test what stays"
        if more := let_off(path, text) - let_off(path, before):
            names = sorted({name for name, _ in more} - {""})[:5]
            where = f" in {', '.join(names)}" if names else ""
            return f"lets tests off ({', '.join(sorted({word for _, word in more}))}){where}"
        idle = sorted(set(idle_tests(path, text)) - set(idle_tests(path, before)))
        return f"has tests that assert nothing: {', '.join(idle[:5])}" if idle else ""


def _list_changed(before: str, text: str, failing: Collection[str]) -> list[str]:
    """List the tests of a Python file that were changed or removed, except those in `failing`."""
    old, new = (dict(_tests(tree.body)) if (tree := parse_python(version)) else {} for version in (before, text))
    return [name for name, body in old.items() if name not in failing and new.get(name) != body]


def _only_adds(before: str, text: str) -> bool:
    """Check whether a Python file keeps all its statements in order and gets only tests and imports of unused names."""
    old, new = parse_python(before), parse_python(text)
    if old is None or new is None:
        return False
    used = {word for node in ast.walk(old) for key in ("id", "arg", "name") if (word := getattr(node, key, None))}
    imports, bodies = [set(_list_imports(tree)) for tree in (old, new)], list[list[str]]()
    for tree in (old, new):
        bodies.append([ast.dump(node) for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)])
    added = [node for node in new.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    added = [node for node in added if ast.dump(node) not in bodies[0]]
    names = [getattr(node, "name", "") for node in added]
    is_same_order = [dump for dump in bodies[1] if dump in bodies[0]] == bodies[0]
    fresh = {bound for *_, bound in imports[1] - imports[0]}
    is_test = all(name.lower().startswith("test") for name in names)
    if "autouse" in "".join(map(ast.dump, added)) or any(name.startswith(_FOR_ALL) for name in fresh):
        return False
    return is_same_order and imports[0] <= imports[1] and is_test and not {*names, *fresh} & used


def _list_imports(tree: ast.Module) -> Iterator[tuple[int, str, str, str]]:
    """List what the top-level imports of a module bind: level, module, name, local name."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            level, module = (node.level, node.module or "") if isinstance(node, ast.ImportFrom) else (0, "")
            yield from ((level, module, each.name, (each.asname or each.name).partition(".")[0]) for each in node.names)


def _tests(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    return ((name, ast.dump(node)) for name, (node, *_) in units_of(list(body)))
