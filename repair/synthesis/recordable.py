"""Prepares tests for a run with a recorder: what asks for an object's identity or type asks for its value instead."""

from __future__ import annotations

import ast

from core.parsing import parse_quietly

_SINGLE = (True, False, None)
_RENAMED = {
    "assertIs": "assertEqual", "assertIsNot": "assertNotEqual", "assertCountEqual": "assertEqual",
}  # fmt: skip
_EXPECTED = {"assertIsNone": "assertEqual", "assertIsNotNone": "assertNotEqual"}
_PRELUDE = "from nightshift_inside.synthesis.probe import isinstance_ as isinstance\n"


def recordable(text: str) -> str:
    """A test file's text in that form; as it was where it does not parse."""
    tree = parse_quietly(text)
    if tree is None:
        return text
    tree = ast.fix_missing_locations(_Values().visit(tree))
    futures = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    tree.body = [node for node in tree.body if node not in futures]
    return "\n".join([*map(ast.unparse, futures), _PRELUDE + ast.unparse(tree)]) + "\n"


class _Values(ast.NodeTransformer):
    """`x is True` becomes `x == True`, and likewise what unittest has for it."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant) and _is_single(node.comparators[0]):
            if isinstance(node.ops[0], ast.Is):
                return ast.Compare(left=node.left, ops=[ast.Eq()], comparators=node.comparators)
            if isinstance(node.ops[0], ast.IsNot):
                return ast.Compare(left=node.left, ops=[ast.NotEq()], comparators=node.comparators)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        name, arguments = node.func.attr, node.args
        if name in _EXPECTED and len(arguments) == 1:
            name, arguments = _EXPECTED[name], [*arguments, ast.Constant(value=None)]
        elif name in _RENAMED:
            name = _RENAMED[name]
        else:
            return node
        return ast.Call(
            func=ast.Attribute(value=node.func.value, attr=name, ctx=ast.Load()), args=arguments, keywords=[]
        )  # fmt: skip


def _is_single(node: ast.Constant) -> bool:
    return any(node.value is single for single in _SINGLE)
