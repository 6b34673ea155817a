"""How a comparison looks at the other side: as a value, by a field, or by its type and identity."""

from __future__ import annotations

import ast

from checks.hooks.commands import UNKNOWN
from checks.names import Names

ORDERS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_ROUGH = frozenset({"abs", "round", "min", "max", "int", "float", "len", "bool", "isclose", "floor", "ceil", "trunc"})
# What the plain types have too: by these a value of another type is looked at, not a field.
_OF_PLAIN = frozenset(name for kind in (int, float, complex, str, list, dict, set) for name in dir(kind)) - {"__dict__"}
_LOOKS = frozenset({"isinstance", "issubclass", "type", "hasattr", "id", "super", "callable"})


class Sides:
    """The two sides of one method.

    Args:
        method: the method's name.
        mine: the name of its first parameter.
        other: the name of its second one.
        nodes: all of its nodes.
        own: the classes of the module.
        names: the names of the module.
    """

    def __init__(self, method: str, mine: str, other: str, nodes: list[ast.AST], own: set[str], names: Names) -> None:
        self._method, self._mine, self._other, self._own, self._names = method, mine, other, own, names
        self._around = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}

    def is_other(self, node: ast.AST) -> bool:
        """Whether this is the other side's name."""
        return isinstance(node, ast.Name) and node.id == self._other

    def is_direct(self, node: ast.AST) -> bool:
        """Whether the other side is looked at as a value, not by a field of its own, its type or its identity."""
        if self.look_around(node) is not None:
            return False
        match self._around.get(id(node)):
            case ast.Attribute(attr=attr):
                return attr in _OF_PLAIN
            case ast.Compare(left=ast.Name(id=first), comparators=[ast.Name(id=second)]):
                return {first, second} != {self._mine, self._other}
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                of_class = attr in ORDERS and (name in self._own or name == "object")
                return name != self._mine and not of_class
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))):
                return False
            case ast.Call(func=ast.Name(id="vars")):
                return False
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
                text = self._names.text(name)
                return UNKNOWN in text or text in _OF_PLAIN
        return True

    def is_rough(self, node: ast.AST) -> bool:
        """Whether a value is only looked at roughly: a distance, a size, a remainder, an order."""
        while (outer := self._around.get(id(node))) is not None and not isinstance(outer, ast.stmt):
            match outer:
                case ast.Call(func=func) if last(func) in _ROUGH:
                    return True
                case ast.BinOp(op=ast.Mod() | ast.FloorDiv() | ast.BitAnd() | ast.BitOr()):
                    return True
                case ast.Compare(ops=ops) if self._method in {"__eq__", "__ne__"}:
                    if not all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in ops):
                        return True
            node = outer
        return False

    def is_own(self, look: ast.AST) -> bool:
        """Whether a look at the other side asks for a class of the module, or for the very same object."""
        match look:
            case ast.Call(func=func, args=[_, kinds]) if last(func) == "isinstance":
                if not self.is_other(look.args[0]):
                    return False
                asked = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                return all(_type_of(one) == self._mine or self._is_class(one) for one in asked)
            case ast.Compare(left=ast.Name(id=first), ops=[ast.Is() | ast.IsNot()], comparators=[ast.Name(id=second)]):
                return {first, second} == {self._mine, self._other}
            case ast.Compare(left=left, comparators=[right]):
                types = {_type_of(left), _type_of(right)}
                return types == {self._mine, self._other} or (self._other in types and self._is_class(right))
        return False

    def _is_class(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and (node.id in self._own or node.id == "__class__")

    def tells(self, test: ast.expr) -> tuple[bool, bool]:
        """Whether a test that holds, and one that does not, tells that the other side is of the class's own type."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yes, no = self.tells(operand)
                return no, yes
            case ast.BoolOp(op=ast.And(), values=values):
                return any(self.tells(value)[0] for value in values), False
            case ast.BoolOp(op=ast.Or(), values=values):
                return False, any(self.tells(value)[1] for value in values)
            case ast.Call(func=func) if last(func) == "isinstance":
                return self.is_own(test), False
            case ast.Compare(ops=[op]) if self.is_own(test):
                return isinstance(op, ast.Is | ast.Eq), isinstance(op, ast.IsNot | ast.NotEq)
        return False, False

    def look_around(self, node: ast.AST) -> ast.AST | None:
        """The look at type or identity that the other side stands in, None where it is looked at as a value."""
        outer = self._around.get(id(node))
        match outer:
            case ast.Call(func=func) if last(func) in {"type", "id"}:
                return self._around.get(id(outer))
            case ast.Call(func=func) if last(func) in _LOOKS:
                return outer
            case ast.Attribute(attr="__class__"):
                return self._around.get(id(outer))
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return outer
        return None


def last(node: ast.AST) -> str:
    """The last name of `a`, `a.b` or `a.b(…)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return last(func)
    return ""


def root(node: ast.AST) -> str:
    """The first name of `a.b[c](d)`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _type_of(node: ast.AST) -> str:
    """The name whose type is asked for by `type(a)` or `a.__class__`."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr="__class__"):
            return name
    return ""
