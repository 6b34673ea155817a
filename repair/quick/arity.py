"""Mends of calls with too many or too few arguments, of a missing `self`, and of a misspelt `__init__`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from repair.evaluation import ErrorInfo
from repair.quick.mend import Change, Mend, Source, indent_of, place_of
from repair.tree import Function

_TOO_MANY = re.compile(
    r"([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given"
)
_TOO_FEW = re.compile(r"([\w.<>]+)\(\) missing \d+ required positional arguments?: (.*)")
_NO_ARGUMENTS = re.compile(r"(\w+)\(\) takes no arguments")
_UNKNOWN = re.compile(r"name '(\w+)' is not defined")
_BARE = frozenset({"staticmethod", "classmethod"})


def arity(told: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[Mend]:
    """Mends by the interpreter's count of arguments, and of what belongs to an object."""
    place = place_of(told, error, files)
    if error.kind == "NameError" and place is not None:
        yield from _own(*place, error)
    if error.kind != "TypeError":
        return
    many, few, none = (pattern.search(error.message) for pattern in (_TOO_MANY, _TOO_FEW, _NO_ARGUMENTS))
    for source in files.values():
        if many:
            yield from _without_self(source, many.group(1))
        if none:
            yield from _initialiser(source, none.group(1))
    if place is not None and many:
        yield from _shorter(*place, many.group(1).rpartition(".")[2])
    if place is not None and few:
        yield from _longer(*place, few.group(1).rpartition(".")[2], re.findall(r"'(\w+)'", few.group(2)))


def _own(source: Source, line: int, error: ErrorInfo) -> Iterator[Mend]:
    """`x` becomes `self.x`; and a method that speaks of `self` without having it gets it."""
    found = _UNKNOWN.search(error.message)
    owner, function = source.class_at(line), source.function_at(line)
    if found is None or owner is None or function is None:
        return
    name = found.group(1)
    if name == "self":
        yield from _given_self(source, function)
    arguments = [*function.args.posonlyargs, *function.args.args]
    if arguments and name in _members(owner) and not _is_bare(function):
        first = arguments[0].arg
        uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
        changes = [Change(*source.spot(node, len(name)), f"{first}.{name}") for node in uses]
        yield from source.mend(source.with_changes(changes), "self", f"`{name}` becomes `{first}.{name}`")


def _members(owner: ast.ClassDef) -> set[str]:
    fields = {
        node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    methods = {node.name for node in owner.body if isinstance(node, Function)}
    values = {part.id for node in owner.body if isinstance(node, ast.Assign | ast.AnnAssign) for part in ast.walk(node)
              if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}  # fmt: skip
    return fields | methods | values


def _is_bare(function: Function) -> bool:
    return any(isinstance(node, ast.Name) and node.id in _BARE for node in function.decorator_list)


def _without_self(source: Source, qualified: str) -> Iterator[Mend]:
    """A method that was defined without `self`."""
    owner, _, name = qualified.rpartition(".")
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or (owner and node.name != owner.rpartition(".")[2]):
            continue
        for function in node.body:
            if isinstance(function, Function) and function.name == name and not _is_bare(function):
                arguments = [*function.args.posonlyargs, *function.args.args]
                if not arguments or arguments[0].arg not in {"self", "cls"}:
                    yield from _given_self(source, function)
                    line = source.lines[function.lineno - 1]
                    mark = f"{indent_of(line)}@staticmethod\n"
                    text = source.with_changes([Change(function.lineno, 0, 0, mark)])
                    yield from source.mend(text, "self", f"`{name}` becomes a static method")


def _given_self(source: Source, function: Function) -> Iterator[Mend]:
    line = source.lines[function.lineno - 1]
    found = re.search(rf"def\s+{re.escape(function.name)}\s*\(\s*", line)
    if found:
        arguments = function.args
        alone = not any(
            (arguments.posonlyargs, arguments.args, arguments.vararg, arguments.kwonlyargs, arguments.kwarg)
        )
        change = Change(function.lineno, found.end(), found.end(), "self" if alone else "self, ")
        yield from source.mend(source.with_changes([change]), "self", f"`{function.name}` gets its `self`")


def _initialiser(source: Source, owner: str) -> Iterator[Mend]:
    """`__init__` written in another way."""
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or node.name != owner:
            continue
        for function in node.body:
            word = function.name.strip("_") if isinstance(function, Function) else ""
            if isinstance(function, Function) and word in {"init", "int", "initialize", "constructor", "inti", "init_"}:
                line = source.lines[function.lineno - 1]
                start = line.find(function.name)
                change = Change(function.lineno, start, start + len(function.name), "__init__")
                yield from source.mend(source.with_changes([change]), "name", f"`{function.name}` becomes `__init__`")


def _calls(source: Source, line: int, name: str) -> Iterator[ast.Call]:
    """The calls of a function at a line; those of a class are calls of its `__init__`."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in {called, "__init__"}:
                yield node


def _shorter(source: Source, line: int, name: str) -> Iterator[Mend]:
    """One argument less."""
    for call in _calls(source, line, name):
        for index in reversed(range(len(call.args))):
            kept = [*call.args[:index], *call.args[index + 1 :]]
            yield from _recalled(source, call, ast.Call(func=call.func, args=kept, keywords=call.keywords))


def _longer(source: Source, line: int, name: str, missing: list[str]) -> Iterator[Mend]:
    """The missing arguments, where variables with the parameters' names can be seen."""
    function = source.function_at(line)
    if function is None or not missing:
        return
    visible = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    visible |= {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    if not set(missing) <= visible:
        return
    added: list[ast.expr] = [ast.Name(id=text, ctx=ast.Load()) for text in missing]
    for call in _calls(source, line, name):
        new = ast.Call(func=call.func, args=[*call.args, *added], keywords=call.keywords)
        yield from _recalled(source, call, new)


def _recalled(source: Source, old: ast.Call, new: ast.Call) -> Iterator[Mend]:
    if old.lineno != old.end_lineno:
        return
    text = ast.unparse(new)
    line, start, _ = source.spot(old, 0)
    end = len(source.lines[line - 1].encode()[: old.end_col_offset].decode(errors="replace"))
    changed = source.with_changes([Change(line, start, end, text)])
    yield from source.mend(changed, "arity", f"`{ast.unparse(old)}` becomes `{text}`")
