"""What single nodes tell a survey: their tests, what they bind, what they put where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from repair.tree import Function

_RAISES = re.compile(
    r"(?:raises|assertRaises(?:Regex)?)\(\s*(?P<kind>[A-Za-z_][\w.]*)"
    r"(?:\s*,\s*(?:match\s*=\s*)?r?(?P<quote>[\"'])(?P<words>.*?)(?P=quote))?"
)


def parts_of(node: ast.AST) -> Iterator[ast.expr]:
    """The tests of a node: of an `if`, a `while`, a ternary, a comprehension, an `assert`."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def conditions_in(node: ast.AST) -> Iterator[ast.expr]:
    """The conditions that a node holds: comparisons, parts of `and` and `or`, tests."""
    if isinstance(node, ast.Compare):
        yield node
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    for test in parts_of(node):
        if not isinstance(test, ast.Constant):
            yield test


def memberships(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a node asks to be in what, or puts into what: (element, holder), both as text."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield ast.unparse(node.left), ast.unparse(node.comparators[0])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        added = node.args if node.func.attr in {"add", "append"} else []
        yield from ((ast.unparse(part), ast.unparse(node.func.value)) for part in added)


def records(node: ast.AST) -> Iterator[str]:
    """The variables of which a node takes an item under a text: `row` of `row["name"]` and of `row.get("name")`."""
    if isinstance(node, ast.Subscript):
        owner, keys = node.value, [node.slice]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        owner, keys = node.func.value, node.args[:1]
    else:
        return
    if isinstance(owner, ast.Name) and any(
        isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys
    ):
        yield owner.id


def awaited(text: str) -> Iterator[tuple[str, str]]:
    """The exceptions that a text of tests waits for: (kind, the words its message is to hold, where they are plain)."""
    for found in _RAISES.finditer(text):
        words = found.group("words") or ""
        yield found.group("kind").rpartition(".")[2], words if re.fullmatch(r"[\w ,:;'-]*", words) else ""


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module that are in no function."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function):
            yield from outside_functions(child)


def bindings(node: ast.AST, found: dict[int, dict[str, int]], own: dict[str, int]) -> None:
    """Collect what is bound in and below a node; the variables of comprehensions and lambdas are not seen outside."""
    if isinstance(node, Function):
        own.setdefault(node.name, node.lineno)
        own = found.setdefault(id(node), {})
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        own.update((argument.arg, node.lineno) for argument in every if argument)
        for statement in node.body:
            bindings(statement, found, own)
        return
    if isinstance(node, ast.ClassDef):
        own.setdefault(node.name, node.lineno)
        own = {}
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        own.setdefault(node.id, node.lineno)
    elif isinstance(node, ast.comprehension | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        bindings(child, found, own)
