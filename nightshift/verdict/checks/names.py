"""Resolves names and simple expressions of a Python module without running it.

It follows imports and simple aliases (`import os as o`, `f = o.system`, `getattr(os, "system")`), and folds the
constant parts of texts and paths. Scopes are not distinguished: a name that is bound twice is unknown.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from nightshift.verdict.checks.hooks.commands import UNKNOWN

_BUILTINS = frozenset(dir(builtins))
_BINDING = frozenset({ast.Import, ast.ImportFrom, ast.arg, ast.Name, ast.Assign, ast.AnnAssign, ast.NamedExpr})
_DEPTH = 12
_MOST_CHARS = 20_000
_PATHS = ("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath")
_JOINING = frozenset({"os.path.join", "posixpath.join"})
# Functions whose result names the same path as their first argument.
_SAME_PLACE = frozenset({
    "os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.expandvars", "os.fspath",
    "builtins.str", "os.fsencode", "os.fsdecode", "shlex.quote",
})  # fmt: skip
_SAME_METHODS = frozenset({"resolve", "absolute", "expanduser", "as_posix", "__str__", "strip", "format"})
_HOME = frozenset({"pathlib.Path.home", "os.path.expanduser"})
_VALUES = {"os.sep": "/", "os.curdir": ".", "os.pardir": "..", "os.devnull": "/dev/null", "sys.executable": "python"}
_CALLS = {"pathlib.Path.home": "~", "pathlib.Path.cwd": ".", "os.getcwd": ".", "tempfile.gettempdir": "/tmp"}  # noqa: S108 - named only


class Names:
    """Names that a Python module binds, and the values of its expressions.

    Attributes:
        nodes: all syntax nodes of the module, outer before inner.
        aliases: names that imports bind, each with the dotted name that it refers to.
        parameters: the names of all parameters.
        bindings: pairs of a name and an expression that is assigned to the name, in arbitrary order.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: list[ast.AST] = list(ast.walk(tree))
        self.aliases: dict[str, str] = {}
        self._values: dict[str, ast.expr] = {}
        self.parameters: set[str] = set()
        self.bindings: list[tuple[str, ast.expr]] = []
        self._stars: list[str] = []
        self._resolved: dict[tuple[int, int], str | None] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._bound: Counter[str] = Counter()
        self._own = {s.name for s in tree.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
        self._folders: dict[type[ast.AST], Callable[[Any, int], str | None]] = {
            ast.Constant: _constant,
            ast.JoinedStr: self._f_string,
            ast.FormattedValue: self._inner,
            ast.NamedExpr: self._inner,
            ast.BinOp: self._name_combined,
            ast.Subscript: self._part,
            ast.Call: self._call_text,
            ast.Name: self._variable,
        }
        self._collect()

    def resolve(self, node: ast.AST, depth: int = 0) -> str | None:
        """Return the dotted name of an expression, like `os.system` or `builtins.eval`; None if it is unknown."""
        if depth > _DEPTH:
            return None
        # Cached, because each enclosing expression resolves its parts again: nested expressions would take exponential
        # time.
        key = id(node), depth
        if key not in self._resolved:
            self._resolved[key] = None
            self._resolved[key] = self._resolve(node, depth)
        return self._resolved[key]

    def _resolve(self, node: ast.AST, depth: int) -> str | None:
        match node:
            case ast.Name(id=name):
                return self._name(name, depth)
            case ast.Attribute(value=value, attr=attr):
                base = self.resolve(value, depth + 1)
                return None if base is None else _join_dotted(base, attr)
            case ast.NamedExpr(value=value):
                return self.resolve(value, depth + 1)
            case ast.Call():
                return self._name_called(node, depth)
        return None

    def text(self, node: ast.AST | None, depth: int = 0) -> str:
        """Return the text or path that an expression evaluates to, with `UNKNOWN` in place of parts that vary."""
        if node is None or depth > _DEPTH:
            return UNKNOWN
        key = id(node), depth
        if key not in self._texts:
            self._texts[key] = UNKNOWN
            self._texts[key] = self._text(node, depth)
        return self._texts[key]

    def _text(self, node: ast.AST, depth: int) -> str:
        fold = self._folders.get(type(node))
        text = fold(node, depth + 1) if fold else None
        if text is None:
            text = _VALUES.get(self.resolve(node, depth + 1) or "", UNKNOWN)
        return text[:_MOST_CHARS]

    def argv(self, node: ast.AST | None, depth: int = 0) -> tuple[str, ...] | None:
        """Return the text of each item of a list or tuple, or the words of `text.split()`; None for others."""
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return tuple(self.text(item) for item in items)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if depth < _DEPTH:
                first, second = self.argv(left, depth + 1), self.argv(right, depth + 1)
                return None if first is None else (*first, *(second or (UNKNOWN,)))
            case ast.Name(id=name) if name in self._values and self._bound[name] == 1 and depth < _DEPTH:
                return self.argv(self._values[name], depth + 1)
            case ast.Call(func=ast.Attribute(value=value, attr="split"), args=[]):
                text = self.text(value)
                return None if text == UNKNOWN else tuple(text.split())
            case ast.Call(func=func, args=[value, *_]) if self.resolve(func) == "shlex.split":
                return tuple(self.text(value).split())
        return None

    def value_of(self, name: str) -> ast.expr | None:
        """Return the only expression that a name is bound to; None if there is no expression or more than one."""
        return self._values.get(name) if self._bound[name] == 1 else None

    # --- methods that collect the names that the module binds

    def _collect(self) -> None:
        assigned = list[tuple[str, ast.expr]]()
        for node in (node for node in self.nodes if type(node) in _BINDING):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        top = alias.name.partition(".")[0]
                        self.aliases[alias.asname or top] = alias.name if alias.asname else top
                case ast.ImportFrom(module=str() as module, names=names, level=0):
                    self._import_from(module, names)
                case ast.arg(arg=name):
                    self._bound[name] += 1
                    self.parameters.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    self._bound[name] += 1
                case _:
                    assigned += _list_assigned(node)
        self.bindings = assigned
        for name, value in assigned:
            self._values[name] = value

    def _import_from(self, module: str, names: list[ast.alias]) -> None:
        for alias in names:
            if alias.name == "*":
                self._stars.append(module)
            else:
                self.aliases[alias.asname or alias.name] = _join_dotted(module, alias.name)

    # --- methods that resolve or evaluate a single expression

    def _name(self, name: str, depth: int) -> str | None:
        if name in self.aliases:
            return self.aliases[name]
        if (bound := self.value_of(name)) is not None:
            return self.resolve(bound, depth + 1)
        if name in self._own or self._bound[name]:
            return None
        if name in _BUILTINS:
            return f"builtins.{name}"
        return f"{self._stars[0]}.{name}" if self._stars else None

    def _name_called(self, node: ast.Call, depth: int) -> str | None:
        """Return the dotted name that a call evaluates to, if it is a module or a member of one; otherwise None."""
        func = self.resolve(node.func, depth + 1)
        if func == "builtins.getattr" and len(node.args) >= 2:
            base, attr = self.resolve(node.args[0], depth + 1), self.text(node.args[1], depth + 1)
            return _join_dotted(base, attr) if base and UNKNOWN not in attr else None
        if func in {"builtins.__import__", "importlib.import_module", "importlib.__import__"} and node.args:
            module = self.text(node.args[0], depth + 1)
            return None if UNKNOWN in module or module.startswith(".") else _module(module, func)
        return None

    def _f_string(self, node: ast.JoinedStr, depth: int) -> str:
        return "".join(self.text(part, depth) for part in node.values)

    def _inner(self, node: ast.FormattedValue | ast.NamedExpr, depth: int) -> str:
        return self.text(node.value, depth)

    def _variable(self, node: ast.Name, depth: int) -> str | None:
        value = self.value_of(node.id)
        return None if value is None else self.text(value, depth)

    def _name_combined(self, node: ast.BinOp, depth: int) -> str:
        first, second = self.text(node.left, depth), self.text(node.right, depth)
        match node.op:
            case ast.Add():
                return (first + second)[:_MOST_CHARS]
            case ast.Div():
                return second if second.startswith(("/", "~")) else f"{first.rstrip('/')}/{second}"
            case ast.Mod():
                return first.replace("%s", UNKNOWN).replace("%d", UNKNOWN)
        return UNKNOWN

    def _part(self, node: ast.Subscript, depth: int) -> str:
        """Evaluate a subscript: `~` for `os.environ["HOME"]`, `UNKNOWN` for any other."""
        is_home = self.resolve(node.value, depth) == "os.environ" and self.text(node.slice, depth) == "HOME"
        return "~" if is_home else UNKNOWN

    def _call_text(self, node: ast.Call, depth: int) -> str:
        func = self.resolve(node.func, depth) or ""
        args = [self.text(arg, depth) for arg in node.args[:20]]
        if func in _CALLS:
            return _CALLS[func]
        if func in _SAME_PLACE and args:
            return args[0]
        if func in _PATHS or func in _JOINING:
            return _join_parts(args or ["."])
        if func in {"os.getenv", "os.environ.get"}:
            return "~" if args[:1] == ["HOME"] else UNKNOWN
        match node.func:
            case ast.Attribute(value=value, attr=attr) if attr in _SAME_METHODS:
                return self.text(value, depth)
            case ast.Attribute(value=value, attr="joinpath"):
                return _join_parts([self.text(value, depth), *args])
            case ast.Attribute(value=value, attr="join") if node.args:
                words = self.argv(node.args[0], depth)
                return UNKNOWN if words is None else self.text(value, depth).join(words)
        return UNKNOWN


def _constant(node: ast.Constant, _depth: int) -> str:
    match node.value:
        case str() as text:
            return text[:_MOST_CHARS]
        case bytes() as raw:
            return raw[:_MOST_CHARS].decode("utf-8", "replace")
        case int() | float() as number:
            return str(number)
    return UNKNOWN


def _join_dotted(base: str, attr: str) -> str:
    """Return the dotted name of a member of a module; the prefix `posixpath` becomes `os.path`."""
    dotted = f"{base}.{attr}"
    return dotted.replace("posixpath.", "os.path.", 1) if dotted.startswith("posixpath.") else dotted


def _module(name: str, func: str) -> str:
    return name.partition(".")[0] if func == "builtins.__import__" else name


def _join_parts(parts: list[str]) -> str:
    path = ""
    for part in parts:
        path = part if part.startswith(("/", "~")) or not path else f"{path.rstrip('/')}/{part}"
    return path


def _list_assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """List the names that an assignment or a walrus binds, each with its expression."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for element, its in zip(names, values, strict=True):
                yield from _pairs(element, its)
