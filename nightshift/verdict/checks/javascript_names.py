"""Resolves names and simple expressions of a JavaScript module without running it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nightshift.core.code import javascript
from nightshift.core.code.javascript import node_text
from nightshift.verdict.checks.hooks.commands import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

_DEPTH = 12
_MOST_CHARS = 20_000
_GLOBAL = frozenset({"globalThis", "global", "window", "self"})
_HOMES = frozenset({"os.homedir", "process.env.HOME", "os.userInfo"})
_JOINING = frozenset({"path.join", "path.resolve", "path.posix.join", "path.normalize"})


class Names:
    """Names that a JavaScript module binds, and the values of its expressions.

    Args:
        nodes: all syntax nodes of the module, in text order.
    """

    def __init__(self, nodes: list[Node]) -> None:
        self._aliases: dict[str, str] = {}
        self._values: dict[str, Node] = {}
        self._bound: Counter[str] = Counter()
        # Cached, because resolving nested expressions would otherwise take exponential time.
        self._resolved: dict[tuple[int, int], str | None] = {}
        self._texts: dict[tuple[int, int], str] = {}
        for node in nodes:
            if node.type == "import_statement":
                self._import(node)
            elif node.type == "variable_declarator":
                self._declare(node)

    def is_imported(self, name: str) -> bool:
        """Check whether a name refers to an imported module or to a member of one."""
        value = self._values.get(name)
        return name in self._aliases or (value is not None and value.type in {"call_expression", "await_expression"}
                                         and self.resolve(value) is not None)  # fmt: skip

    def resolve(self, node: Node | None, depth: int = 0) -> str | None:
        """Return the dotted name that an expression refers to, like `child_process.exec`; None if it is unknown."""
        if node is None or depth > _DEPTH:
            return None
        key = node.id, depth
        if key not in self._resolved:
            self._resolved[key] = None
            self._resolved[key] = self._resolve(node, depth)
        return self._resolved[key]

    def _resolve(self, node: Node, depth: int) -> str | None:
        match node.type:
            case "identifier":
                return self._name(node_text(node), depth)
            case "member_expression":
                return self._part(node, node_text(node.child_by_field_name("property")), depth)
            case "subscript_expression":
                name = self.text(node.child_by_field_name("index"), depth + 1)
                return self._part(node, None if UNKNOWN in name else name, depth)
            case "call_expression":
                return self._name_loaded(node, depth)
            case "parenthesized_expression" | "await_expression" | "sequence_expression" | "non_null_expression":
                return self.resolve(node.named_children[-1], depth + 1) if node.named_children else None
        return None

    def text(self, node: Node | None, depth: int = 0) -> str:
        """Return the text that an expression evaluates to, with `UNKNOWN` for each part that is not constant."""
        if node is None or depth > _DEPTH:
            return UNKNOWN
        key = node.id, depth
        if key not in self._texts:
            self._texts[key] = UNKNOWN
            self._texts[key] = self._text(node, depth)[:_MOST_CHARS]
        return self._texts[key]

    def _text(self, node: Node, depth: int) -> str:
        match node.type:
            case "string":
                value = javascript.literal(node)
                return UNKNOWN if value is None else value
            case "template_string":
                parts = [node_text(part) if part.type == "string_fragment" else self._fill_template(part, depth)
                         for part in node.named_children]  # fmt: skip
                return "".join(parts)
            case "binary_expression":
                left, right = (self.text(node.child_by_field_name(side), depth + 1) for side in ("left", "right"))
                return left + right if node_text(node.child_by_field_name("operator")) == "+" else UNKNOWN
            case "call_expression":
                return self._name_called(node, depth)
            case "identifier" if self._bound[node_text(node)] == 1 and node_text(node) in self._values:
                return self.text(self._values[node_text(node)], depth + 1)
        return "~" if self.resolve(node, depth + 1) in _HOMES else UNKNOWN

    def _fill_template(self, part: Node, depth: int) -> str:
        return self.text(part.named_children[0], depth + 1) if part.named_children else UNKNOWN

    def _name_called(self, node: Node, depth: int) -> str:
        target = self.resolve(node.child_by_field_name("function"), depth + 1)
        arguments = node.child_by_field_name("arguments")
        if target in _HOMES:
            return "~"
        if target in _JOINING and arguments:
            return "/".join(self.text(argument, depth + 1).rstrip("/") or "/" for argument in arguments.named_children)
        return UNKNOWN

    def _name(self, name: str, depth: int) -> str | None:
        if name in self._aliases:
            return self._aliases[name]
        if name in self._values and self._bound[name] == 1:
            return self.resolve(self._values[name], depth + 1)
        return None if self._bound[name] else name

    def _part(self, node: Node, name: str | None, depth: int) -> str | None:
        base = self.resolve(node.child_by_field_name("object"), depth + 1)
        if base is None or name is None:
            return None
        if base in _GLOBAL:
            return name
        base = base.removesuffix(".default")
        return f"{base}.{name}"

    def _name_loaded(self, node: Node, depth: int) -> str | None:
        """Return the module that `require("fs")` or `import("fs")` loads; None for other calls and unknown names."""
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return None
        if function.type == "import" or node_text(function) in {"require", "process.getBuiltinModule"}:
            module = self.text(arguments.named_children[0], depth + 1) if arguments.named_children else UNKNOWN
            return None if UNKNOWN in module else module.removeprefix("node:")
        return None

    def _import(self, node: Node) -> None:
        source = javascript.literal(node.child_by_field_name("source"))
        module = (source or "").removeprefix("node:")
        for inner in javascript.walk(node):
            if inner.type == "import_specifier":
                name = node_text(inner.child_by_field_name("name"))
                self._aliases[node_text(inner.child_by_field_name("alias")) or name] = f"{module}.{name}"
            elif inner.type == "identifier" and inner.parent and inner.parent.type in {"import_clause",
                                                                                      "namespace_import"}:  # fmt: skip
                self._aliases[node_text(inner)] = module

    def _declare(self, node: Node) -> None:
        pattern, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if pattern is None:
            return
        if pattern.type == "identifier":
            self._bound[node_text(pattern)] += 1
            if value:
                self._values[node_text(pattern)] = value
            return
        module = self.resolve(value)
        for inner in pattern.named_children if module and pattern.type == "object_pattern" else ():
            if inner.type == "shorthand_property_identifier_pattern":
                self._aliases[node_text(inner)] = f"{module}.{node_text(inner)}"
            elif inner.type == "pair_pattern":
                name = node_text(inner.child_by_field_name("key"))
                self._aliases[node_text(inner.child_by_field_name("value"))] = f"{module}.{name}"
