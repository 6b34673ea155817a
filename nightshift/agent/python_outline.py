"""The signatures of a Python file, shown to a model, and the files that it imports; read from the syntax tree."""

from __future__ import annotations

import ast
import sys
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache

from nightshift.core.code.parsing import parse_quietly

_ROOTS = ("", "src/", "lib/")
_TEST_LIBRARIES = frozenset({"pytest", "hypothesis", "unittest", "_pytest", "mock"})

_MAX_CHARS = 400_000
_REMEMBERED = 128
_DECORATOR_CHARS = 120
"""Limit of a decorator's text. It is generous because decorators contain routes, options and defaults."""


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree, or None if the text is not valid Python; compiler warnings are suppressed."""
    return parse_quietly(text) if len(text) <= _MAX_CHARS else None


def first_line(node: ast.stmt) -> int:
    """Return the number of a statement's first line; its decorators belong to the statement."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def signatures(text: str) -> list[str]:
    """Return a module's outline: classes, annotated functions, first lines of docstrings, and public constants."""
    tree = parse_python(text)
    return [] if tree is None else list(_face(tree.body, ""))


def _face(body: Sequence[ast.stmt], indent: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from (f"{indent}@{ast.unparse(decorator)[:_DECORATOR_CHARS]}" for decorator in node.decorator_list)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield f"{indent}{word} {node.name}({ast.unparse(node.args)}){returns}{_summary(node)}"
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            yield f"{indent}class {node.name}{f'({bases})' if bases else ''}{_summary(node)}"
            yield from _face(node.body, indent + "    ")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (f"{indent}{t.id} = …" for t in targets if isinstance(t, ast.Name) and not t.id.startswith("_"))


def _summary(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    first = (ast.get_docstring(node) or "").strip().split("\n", 1)[0]
    return f"  # {first[:100]}" if first else ""


@lru_cache(maxsize=_REMEMBERED)
def _imports(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the modules that a Python text imports by absolute name, each with the names imported from it.

    Cached, because each prompt of a task looks for related files, mostly in the same texts.
    """
    tree = parse_python(text)
    imports: dict[tuple[str, tuple[str, ...]], None] = {}
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            imports.update(dict.fromkeys((alias.name, ()) for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports[node.module, tuple(alias.name for alias in node.names)] = None
    return tuple(imports)


def local_files(text: str, files: Container[str]) -> list[str]:
    """List the files among `files` that a Python text imports."""
    modules = (
        name for module, names in _imports(text) for name in (module, *(f"{module}.{member}" for member in names))
    )
    candidates = (path for name in modules for path in (*places(name), *_parents(name)))
    return list(dict.fromkeys(path for path in candidates if path in files))


def _parents(module: str) -> Iterator[str]:
    """Yield the `__init__.py` paths of the packages above a module."""
    parts = module.split(".")
    for end in range(1, len(parts)):
        yield from (f"{root}{'/'.join(parts[:end])}/__init__.py" for root in _ROOTS)


def list_wanted_files(test: str, files: Container[str]) -> list[str]:
    """List the files that a test imports, including missing ones: `from pkg.mod import f` wants `pkg/mod.py`.

    Imports of the standard library and of test libraries want no file. For a module that exists under any source root,
    the result is the existing file.
    """
    return list(filter(None, dict.fromkeys(_want(module, files) for module, _ in _imports(test))))


def _want(module: str, files: Container[str]) -> str:
    if module.split(".", 1)[0] in sys.stdlib_module_names | _TEST_LIBRARIES:
        return ""
    return next((path for path in places(module) if path in files), module.replace(".", "/") + ".py")


def places(module: str) -> Iterator[str]:
    """Yield the paths at which a module's file can be."""
    stem = module.replace(".", "/")
    for root in _ROOTS:
        yield f"{root}{stem}.py"
        yield f"{root}{stem}/__init__.py"
