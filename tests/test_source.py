"""Checks the code against style rules that need a parser.

`make lint` checks the import rules (pyproject.toml).
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"nightshift": ROOT / "nightshift", "nightshift_engine": ROOT / "engine" / "nightshift_engine"}
INSIDE = ("nightshift/sandbox/inside/", "engine/nightshift_engine/inside/")
"""Code that runs inside the sandbox. No other code of Nightshift exists there, so this code can import nothing else."""
WITH_SQL = ("nightshift/storage/", "nightshift/queue/", "nightshift/remote/hub/")
SQL = ("SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM", "PRAGMA ")


@cache
def modules() -> dict[str, ast.Module]:
    """Parse all modules of the product; return a mapping of each path, relative to the root, to its syntax tree."""
    paths = sorted(path for package in PACKAGES.values() for path in package.rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def list_strings(tree: ast.Module) -> list[ast.Constant]:
    """List the strings of a module except its docstrings, because a docstring may begin with a verb of SQL."""
    nodes = list(ast.walk(tree))
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    strings = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node for node in strings if node not in docstrings]


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_each_module_opens_with_a_sentence() -> None:
    first = {name: (ast.get_docstring(tree) or "").split("\n")[0].strip() for name, tree in modules().items()}
    wrong = [name for name, line in first.items() if not line.endswith((".", ":"))]
    assert not wrong, "the docstring's first line is no sentence: " + ", ".join(wrong)


def test_only_the_settings_read_the_environment() -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for name, tree in modules().items()
        if not name.startswith(("nightshift/config/", *INSIDE))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}
    ]
    assert not wrong, "reads the environment: " + ", ".join(wrong)


def test_sql_stands_in_its_packages_only() -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for name, tree in modules().items()
        if not name.startswith(WITH_SQL)
        for node in list_strings(tree)
        if str(node.value).lstrip()[:40].upper().startswith(SQL)
    ]
    assert not wrong, "SQL: " + ", ".join(wrong)
