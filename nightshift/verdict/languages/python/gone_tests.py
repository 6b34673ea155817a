"""Separates the tests of removed code from the tests of remaining code in a Python file.

A file that imports a removed module fails as a whole, so the results do not show which of its tests concern the removed
code. The names that a test uses do show this: a test concerns a removed module or name if the test uses it, directly or
through helpers and fixtures in the same file.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from nightshift.agent.python_outline import parse_python
from nightshift.core.tasks.task import Change

_ROOTS = ("", "src/")
_Unit = ast.FunctionDef | ast.AsyncFunctionDef


def about_gone(text: str, change: Change, before: Callable[[str], str | None]) -> frozenset[str] | None:
    """Return the tests of a file that use removed code, as `name` or `Class::name`.

    Args:
        text: the current text of the test file.
        change: path to new text; None for a removed file.
        before: returns the text of a path without the change; None if the path does not exist.

    Returns:
        The tests; None if the file imports nothing that is removed, or is not valid Python.
    """
    tree = parse_python(text)
    gone = frozenset(_list_gone(tree, change, before)) if tree else frozenset[str]()
    if tree is None or not gone:
        return None
    uses = {name: _list_used(nodes) for name, nodes in _helpers(tree).items()}
    return frozenset(name for name, nodes in units_of(tree.body) if _reaches(_list_used(nodes), uses, gone))


def units_of(
    body: list[ast.stmt], holder: str = "", shared: tuple[ast.AST, ...] = ()
) -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    """List the tests in a body: the name of each test, and the nodes that the test depends on.

    The nodes are the test function, and those parts of its classes that all tests of the class share.
    """
    for node in body:
        if isinstance(node, ast.ClassDef):
            others = [*node.bases, *node.decorator_list, *(each for each in node.body if not _is_test(each))]
            others = [each for each in others if not isinstance(each, ast.ClassDef)]
            yield from units_of(node.body, f"{holder}{node.name}::", (*shared, *others))
        elif isinstance(node, _Unit) and _is_test(node):
            yield f"{holder}{node.name}", (node, *shared)


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, _Unit) and node.name.startswith("test")


def _list_gone(tree: ast.Module, change: Change, before: Callable[[str], str | None]) -> Iterator[str]:
    """List the local names that a file imports from code which the change removes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.asname or each.name for each in node.names if _is_removed(each.name, change))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            lost = _list_lost(node.module, change, before)
            for each in node.names:
                away = _is_removed(node.module, change) or _is_removed(f"{node.module}.{each.name}", change)
                if away or each.name in lost:
                    yield each.asname or each.name


def _paths(module: str) -> Iterator[str]:
    bare = module.replace(".", "/")
    yield from (f"{root}{bare}{end}" for root in _ROOTS for end in (".py", "/__init__.py"))


def _is_removed(module: str, change: Change) -> bool:
    return any(path in change and change[path] is None for path in _paths(module))


def _list_lost(module: str, change: Change, before: Callable[[str], str | None]) -> frozenset[str]:
    """Return the names that a module defined before the change and no longer defines."""
    for path in _paths(module):
        if (now := change.get(path)) is not None:
            return _names(before(path) or "") - _names(now)
    return frozenset()


def _names(text: str) -> frozenset[str]:
    tree = parse_python(text)
    return frozenset(_helpers(tree)) if tree else frozenset()


def _helpers(tree: ast.Module) -> Mapping[str, tuple[ast.AST, ...]]:
    """Return the top-level names that a module binds, except tests, each with the nodes that define it."""
    bindings = dict[str, tuple[ast.AST, ...]]()
    for node in tree.body:
        if isinstance(node, _Unit | ast.ClassDef) and not _is_test(node):
            bindings[node.name] = (node,)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            bindings |= dict.fromkeys(names, (node,))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bindings |= dict.fromkeys(((each.asname or each.name).partition(".")[0] for each in node.names), ())
    return bindings


def _list_used(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the dotted names that nodes refer to, and the names of parameters, because these refer to fixtures."""
    names = set[str]()
    for node in (each for top in nodes for each in ast.walk(top)):
        if isinstance(node, ast.Name | ast.Attribute):
            names.add(ast.unparse(node))
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return frozenset(names)


def _reaches(names: Collection[str], uses: Mapping[str, frozenset[str]], gone: Collection[str]) -> bool:
    seen, left = set[str](), set(names)
    while left:
        name = left.pop()
        seen.add(name)
        if any(name == each or name.startswith(f"{each}.") for each in gone):
            return True
        left |= uses.get(name.partition(".")[0], frozenset()) - seen
    return False
