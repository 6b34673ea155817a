"""Writes a solution as the statements of a body, and tries these on every example."""

import ast
import copy
import re
import textwrap

from .kinds import freeze

MODULES = ("collections", "itertools", "math", "statistics", "string")
_BARE = re.compile(r"(?m)^( *\w+, \w+) = \((.+)\)$")  # `a, b = (0, 1)`
_FLIPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}
_OPPOSITE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def body(entry):
    """The statements of a function that gives what an entry stands for, without indentation."""
    if entry.tree and not _values(entry.tree) <= {"True", "False"}:
        return "\n".join(_lines(entry.tree))
    return f"return {entry.text}"


def _lines(tree):
    if isinstance(tree, str):
        return [f"return {tree}"]
    test, one, other = tree
    return [f"if {test}:", *(f"    {line}" for line in _lines(one)), *_lines(other)]


def _values(tree):
    return {tree} if isinstance(tree, str) else _values(tree[1]) | _values(tree[2])


def tidied(text):
    """The same statements as a person would write the comparisons, with the imports that they need."""
    tree = _Tidier().visit(ast.parse(text))
    used = {
        node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    imports = [f"import {name}" for name in MODULES if name in used]
    written = _BARE.sub(r"\1 = \2", ast.unparse(ast.fix_missing_locations(tree)))
    return "\n".join([*imports, *([""] if imports else []), written])


def _is_wanted(error, name, message):
    return name in {kind.__name__ for kind in type(error).__mro__} and message in str(error)


class _Tidier(ast.NodeTransformer):
    """Constants stand on the right of comparisons; `not a == b` is `a != b`."""

    def visit_Compare(self, node):
        self.generic_visit(node)
        kind = type(node.ops[0])
        left, right = node.left, node.comparators[0]
        if kind in _FLIPPED and _is_constant(left) and not _is_constant(right):
            return ast.Compare(left=right, ops=[_FLIPPED[kind]()], comparators=[left])
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and type(inner.ops[0]) in _OPPOSITE:
            return ast.Compare(left=inner.left, ops=[_OPPOSITE[type(inner.ops[0])]()], comparators=inner.comparators)
        return node


def _is_constant(node):
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def size(text):
    """How large statements are: the number of their nodes, constants twice."""
    nodes = [node for node in ast.walk(ast.parse(text)) if not isinstance(node, ast.expr_context | ast.operator)]
    return len(nodes) + sum(isinstance(node, ast.Constant) for node in nodes)


def fits(text, parameters, examples, loose):
    """Tell whether a function with this body gives what every example says; it may not change its arguments.

    Args:
        text: the statements.
        parameters: the names.
        examples: the examples.
        loose: whether whole and broken numbers are the same.
    """
    space = {}
    source = f"def found({', '.join(parameters)}):\n{textwrap.indent(text, '    ')}\n"
    exec(compile(source, "<found>", "exec"), space)  # noqa: S102 (in the sandbox; made of our own grammar)
    for example in examples:
        given = copy.deepcopy(example.arguments)
        try:
            value = space["found"](*given)
        except Exception as error:  # noqa: BLE001 (an expression may raise anything)
            if example.how == "raises" and _is_wanted(error, *example.wanted):
                continue
            return False
        if (
            example.how == "raises"
            or not example.fits(value, loose=loose)
            or freeze(given) != freeze(example.arguments)
        ):
            return False
    return True
