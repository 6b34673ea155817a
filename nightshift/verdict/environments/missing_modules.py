"""Finds modules that a run needs and lacks by following imports, without executing anything.

The search begins at the files that the change or the owner wrote, and follows each import that leads to a file of the
tree. Any other import that is neither in the standard library nor in the runtime's libraries is missing. Optional
imports are not reported. An import is optional if it is in a `try` that catches ImportError, or if it is only for type
checkers, certain versions or certain platforms.
"""

from __future__ import annotations

import ast
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from nightshift.core.code.listing import Listing, folders_above
from nightshift.core.code.parsing import parse

_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_ELSEWHERE = frozenset({"TYPE_CHECKING", "version_info", "platform"})
_ENDINGS = (".py", ".pyi", ".so", ".pyd")
# Files that build or check a project, and that no test imports.
_TOOLS = frozenset({"setup.py", "noxfile.py", "conf.py"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingModule:
    """A module that a run lacks, with the first import of it.

    Attributes:
        module: the dotted name.
        names: the names that are imported from the module.
        path: the file with the import.
        line: the line of the import.
    """

    module: str
    names: tuple[str, ...]
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A module that an import statement names.

    Attributes:
        module: the dotted name, without leading dots.
        names: the names that are imported from the module.
        level: the number of leading dots.
        line: the line of the statement.
        optional: true if the file works without the module.
        deferred: true if the statement is within a function, so that importing the file does not need the module.
    """

    module: str
    names: tuple[str, ...]
    level: int
    line: int
    optional: bool
    deferred: bool = False


class ImportMemory:
    """Caches the imports of files by content, so that the next attempt only reads changed files. Thread-safe."""

    def __init__(self, max_files: int = 50_000) -> None:
        self._imports: OrderedDict[str, list[Imported]] = OrderedDict()
        self._max_files, self._lock = max_files, threading.Lock()

    def imports(self, blob: str, read: Callable[[], str]) -> list[Imported]:
        """Return the imports of a file, which is read only if its content is not cached.

        Args:
            blob: identifies the content.
            read: returns the text of the file.
        """
        if (imported := self._imports.get(blob)) is None:
            imported = imports(read())
            with self._lock:
                self._imports[blob] = imported
                while len(self._imports) > self._max_files:
                    self._imports.popitem(last=False)
        return imported


class MissingModuleFinder:
    """Follows imports through a tree.

    Args:
        paths: all files of the tree.
        imports_of: returns the imports of a file.
        roots: folders on the import path, each with a trailing slash; the root is the empty string.
        available: top-level modules that every run has.
    """

    def __init__(
        self,
        paths: Listing[str],
        imports_of: Callable[[str], Iterable[Imported]],
        *,
        roots: Collection[str],
        available: Collection[str],
    ) -> None:
        self._paths, self._imports_of = paths, imports_of
        self._roots, self._available = tuple(roots), available

    def missing(self, starts: Iterable[str]) -> list[MissingModule]:
        """List the missing modules that are needed by these files, or by files that these files import.

        Each module is listed once, in the order in which the search finds it.
        """
        waiting = [path for path in starts if path.endswith(".py") and path.rpartition("/")[2] not in _TOOLS]
        seen, needs = set(waiting), dict[tuple[str, tuple[str, ...]], MissingModule]()
        while waiting:
            path = waiting.pop(0)
            for each in self._imports_of(path):
                inside, files = self._locate(path, each)
                if not inside and not each.optional and each.module.partition(".")[0] not in self._available:
                    need = MissingModule(module=each.module, names=each.names, path=path, line=each.line)
                    needs.setdefault((each.module, each.names), need)
                new = [file for file in files if file not in seen]
                seen.update(new)
                waiting += new
        return list(needs.values())

    def _locate(self, importing: str, each: Imported) -> tuple[bool, list[str]]:
        """Return whether an import leads into the tree, and the files that it leads to."""
        above = list(folders_above(importing))
        parts = each.module.split(".") if each.module else []
        if each.level:
            roots = above[each.level - 1 : each.level]
            return True, [file for root in roots for file in self._files(root, parts, each.names)]
        roots = [root for root in dict.fromkeys((*self._roots, *above)) if self._knows(root, parts[0])]
        return bool(roots), [file for root in roots for file in self._files(root, parts, each.names)]

    def _knows(self, folder: str, name: str) -> bool:
        """Check whether a folder has a module of this name, or a subfolder of this name that contains a module."""
        beside, package = f"{folder}{name}.", f"{folder}{name}/"
        return any(
            path.endswith(_ENDINGS) and "/" not in path[len(beside) :] for path in self._paths.below(beside)
        ) or any(path.endswith(_ENDINGS) for path in self._paths.below(package))

    def _files(self, root: str, parts: list[str], names: tuple[str, ...]) -> Iterator[str]:
        stems = [root + "/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        package = f"{root}{'/'.join(parts)}/" if parts else root
        stems += [package + name for name in names]
        for stem in (*stems, package.rstrip("/")):
            yield from (path for path in (f"{stem}.py", f"{stem}/__init__.py") if path in self._paths)


def imports(text: str) -> list[Imported]:
    """Return all imports of a Python source, including nested ones; empty if it does not parse."""
    try:
        return list(_walk(parse(text).body, optional=False))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _walk(nodes: Iterable[ast.AST], *, optional: bool, deferred: bool = False) -> Iterator[Imported]:
    for node in nodes:
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Imported(
                        module=alias.name, names=(), level=0, line=node.lineno, optional=optional, deferred=deferred
                    )
            case ast.ImportFrom():
                names = tuple(alias.name for alias in node.names)
                yield Imported(
                    module=node.module or "",
                    names=names,
                    level=node.level,
                    line=node.lineno,
                    optional=optional,
                    deferred=deferred,
                )
            case ast.Try() | ast.TryStar():
                spared = optional or any(_catches(handler.type) for handler in node.handlers)
                yield from _walk((*node.body, *node.handlers), optional=spared, deferred=deferred)
                yield from _walk((*node.orelse, *node.finalbody), optional=optional, deferred=deferred)
            case ast.If() if _is_elsewhere(node.test):
                yield from _walk((*node.body, *node.orelse), optional=True, deferred=deferred)
            case ast.With() if any(_suppresses(item.context_expr) for item in node.items):
                yield from _walk(node.body, optional=True, deferred=deferred)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _walk(node.body, optional=optional, deferred=True)
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _walk(ast.iter_child_nodes(node), optional=optional, deferred=deferred)


def _catches(kind: ast.expr | None) -> bool:
    """Check whether an exception handler of this type catches a missing module."""
    if kind is None:
        return True
    return any(_last_name(each) in _MISSING for each in (kind.elts if isinstance(kind, ast.Tuple) else [kind]))


def _suppresses(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and _last_name(call.func) == "suppress" and any(map(_catches, call.args))


def _is_elsewhere(test: ast.expr) -> bool:
    """Check whether a condition is about type checkers, versions or platforms."""
    return any(_last_name(node) in _ELSEWHERE for node in ast.walk(test) if isinstance(node, ast.Name | ast.Attribute))


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
