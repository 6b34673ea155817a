"""What a module does to whatever imports it: threads that it starts meanwhile go on beside it, and exits end it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from checks.names import Names
from checks.sighting import Sighting

_KINDS = ("threading.Thread", "threading.Timer", "multiprocessing.Process", "multiprocessing.context.Process")
_AT_ONCE = frozenset({"_thread.start_new_thread", "_thread.start_new", "_thread.start_joinable_thread"})
_POOLS = ("concurrent.futures.", "multiprocessing.Pool", "multiprocessing.pool.", "multiprocessing.dummy.")


def look(names: Names, tree: ast.Module) -> Iterator[Sighting]:
    """The places where a module does so, in functions that it calls meanwhile as well."""
    functions = {node.name: node for node in names.nodes if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in names.nodes if isinstance(node, ast.ClassDef)}
    threads = {name for name, node in classes.items() if any(_is_kind(base, names, set()) for base in node.bases)}
    makers = {name: value.func for name, value in names.bindings if isinstance(value, ast.Call)}
    seen, waiting = set[str](), [list(_at_import(tree.body))]
    while waiting:
        for node in waiting.pop():
            if isinstance(node, ast.Call) and _starts(node, names, threads, makers):
                yield Sighting("python.import-thread", node.lineno, f"`{_said(node)}`")
            elif isinstance(node, ast.Raise | ast.Call) and _ends(node, names):
                yield Sighting("python.import-exit", node.lineno, "`exit`")
            for name in _called(node):
                if name in functions and name not in seen:
                    seen.add(name)
                    waiting.append(list(_at_import(functions[name].body)))


def _at_import(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """All that runs with a block: functions in it are only made, what is guarded by `__name__` does not run."""
    for statement in body:
        if isinstance(statement, ast.If) and _is_main(statement.test):
            yield from _at_import(statement.orelse)
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from statement.decorator_list
            continue
        yield statement
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.stmt):
                yield from _at_import([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _at_import(child.body)
            elif not isinstance(child, ast.Lambda):
                yield from (inner for inner in ast.walk(child) if isinstance(inner, ast.expr))


def _is_main(test: ast.expr) -> bool:
    """`if __name__ == "__main__"`, and what else is asked of the name."""
    return any(isinstance(node, ast.Name) and node.id in {"__name__", "TYPE_CHECKING"} for node in ast.walk(test))


def _starts(node: ast.Call, names: Names, threads: set[str], makers: Mapping[str, ast.expr]) -> bool:
    if (names.resolve(node.func) or "") in _AT_ONCE:
        return True
    if not isinstance(node.func, ast.Attribute):
        return False
    thing = node.func.value
    maker = thing.func if isinstance(thing, ast.Call) else makers.get(thing.id) if isinstance(thing, ast.Name) else None
    if node.func.attr == "start":
        return maker is not None and _is_kind(maker, names, threads)
    pool = maker is not None and (names.resolve(maker) or "").startswith(_POOLS)
    return pool and node.func.attr in {"submit", "map", "apply_async", "map_async"}


def _ends(node: ast.Raise | ast.Call, names: Names) -> bool:
    match node:
        case ast.Raise(exc=ast.expr() as error):
            said = error.func if isinstance(error, ast.Call) else error
            return names.resolve(said) in {"builtins.SystemExit", "builtins.KeyboardInterrupt"}
        case ast.Call(func=func, args=args):
            fails = bool(args) and isinstance(args[0], ast.Constant) and args[0].value not in {0, None}
            return not fails and names.resolve(func) in {"sys.exit", "builtins.exit", "builtins.quit"}
    return False


def _is_kind(node: ast.expr, names: Names, threads: set[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in threads) or (names.resolve(node) or "") in _KINDS


def _called(node: ast.AST) -> Iterator[str]:
    """The functions of the module that an expression calls or decorates with."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            yield name


def _said(node: ast.Call) -> str:
    text = ast.unparse(node.func)
    return f"{text[:50]}(…)"
