"""Checks whether a Python test file contains an assertion about a value."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from nightshift.core.code.parsing import parse
from nightshift.verdict.languages.python.outline import Function, last_name

_OF_TYPES = frozenset({"assertIsInstance", "assertNotIsInstance", "assertIsNotNone", "assertHasAttr"})
_ALWAYS_SO = (ast.Constant, ast.Tuple, ast.Lambda, ast.GeneratorExp)
"""Kinds of conditions whose truth does not depend on the code, such as `assert (total() == 3, "message")`."""
_FAILURES = frozenset({"AssertionError", "Exception", "BaseException"})


def checks_something(text: str) -> bool:
    """Check whether a test file has an assertion that can fail and that checks more than a type.

    The result is true if the file does not parse, because the run itself reports that error.
    """
    try:
        nodes = list(_list_heard(parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return True  # The run itself reports the error.
    return any(_is_check(node) for node in nodes)


def _list_heard(tree: ast.Module) -> Iterator[ast.AST]:
    """List the nodes of a file, except code whose failures no run reports: it is caught, or its test has no cases."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not (isinstance(node, Function) and any(map(_has_no_cases, node.decorator_list))):
            unheard = node.body if isinstance(node, ast.Try | ast.With) and _swallows(node) else []
            waiting += [child for child in ast.iter_child_nodes(node) if child not in unheard]


def _has_no_cases(decorator: ast.expr) -> bool:
    """Check whether a decorator is a `parametrize` with an empty list."""
    if not isinstance(decorator, ast.Call) or last_name(decorator.func) != "parametrize":
        return False
    values = [*decorator.args[1:2], *(word.value for word in decorator.keywords if word.arg == "argvalues")]
    return any(isinstance(each, ast.List | ast.Tuple) and not each.elts for each in values)


def _swallows(node: ast.Try | ast.With) -> bool:
    """Check whether a statement ignores a failed assertion in its body.

    A body that leaves a loop or a function may only be tried again.
    """
    if isinstance(node, ast.With):
        calls = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
        is_quiet = any(last_name(call.func) == "suppress" and _catch_failures(call.args) for call in calls)
    else:
        types = [(each, getattr(each.type, "elts", [each.type])) for each in node.handlers]
        catching = (each for each, caught in types if each.type is None or _catch_failures(caught))
        handler = next(catching, None)
        is_quiet = handler is not None and not node.orelse and all(map(_does_nothing, handler.body))
    leaves = (ast.Return, ast.Break)
    return is_quiet and not any(isinstance(each, leaves) for line in node.body for each in ast.walk(line))


def _catch_failures(types: Collection[ast.expr]) -> bool:
    return any(last_name(each) in _FAILURES for each in types)


def _does_nothing(node: ast.stmt) -> bool:
    prints = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and last_name(node.value.func) == "print"
    return prints or isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not (isinstance(node.test, _ALWAYS_SO) or _is_of_types(node.test) or _is_same(node.test))
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _OF_TYPES or any(getattr(each, "id", "") == "NotImplementedError" for each in node.args):
            return False
        if name in {"assertTrue", "assertFalse"}:
            return not (node.args and _is_of_types(node.args[0]))
        if name in {"assertEqual", "assertEquals"} and _are_same(node.args[:2]):
            return False
        return name.startswith("assert") or name in {"raises", "fail", "warns", "deprecated_call"}
    return False


def _is_of_types(test: ast.expr) -> bool:
    """Check whether a condition only tests the type or the existence of a value."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_of_types, test.values))
    if isinstance(test, ast.UnaryOp):
        return _is_of_types(test.operand)
    if isinstance(test, ast.Call):
        return getattr(test.func, "id", "") in {"isinstance", "issubclass", "callable", "hasattr"}
    if not isinstance(test, ast.Compare):
        return False
    is_type = isinstance(test.left, ast.Call) and getattr(test.left.func, "id", "") == "type"
    return is_type or ast.unparse(test).endswith(" is not None")


def _is_same(test: ast.expr) -> bool:
    """Check whether a condition compares an expression with itself by `==`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return _are_same([test.left, *test.comparators])


def _are_same(sides: list[ast.expr]) -> bool:
    """Check whether two expressions have the same text; two new objects of a class may still differ."""
    calls = [node for side in sides for node in ast.walk(side) if isinstance(node, ast.Call)]
    makes = any(last_name(call.func).lstrip("_")[:1].isupper() for call in calls)
    return len(sides) == 2 and len(set(map(ast.unparse, sides))) == 1 and not makes
