"""Holds the code to the layers of docs/internals/architecture.md and to the rules of style that a parser can see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {
    "cli": 11, "client": 11,
    "main": 10, "bootstrap": 10,
    "server": 9,
    "task_executor": 8, "attempt": 8, "maintenance": 8, "benchmark": 8,
    "agent": 7,
    "model_handler": 6, "test_runner": 6, "forges": 6, "hub": 6,
    "queue_manager": 5, "git_manager": 5, "memory": 5, "intake": 5,
    "weekly_summary": 5, "report": 5, "repair": 5,
    "verdict": 4, "acp_agents": 4, "mcp_client": 4,
    "models": 3, "checks": 3, "environments": 3, "languages": 2, "gitrepo": 2, "taskqueue": 2,
    "sandbox": 1, "config": 1, "settings": 1, "db": 1,
    "core": 0, "files": 0,
}  # fmt: skip
"""The layer of each module and package at the top level: it imports what is below it, and what `BESIDE` allows."""
BESIDE = {
    ("cli", "client"), ("main", "bootstrap"), ("task_executor", "attempt"), ("weekly_summary", "report"),
    ("config", "settings"), ("report", "memory"), ("benchmark", "attempt"),
}  # fmt: skip
OUTSIDE = {"tests", "bench", "scripts", "examples", "workspace", "reports"}
"""Folders that are no part of the product, wherever they are."""
INSIDE = (ROOT / "nightshift" / "sandbox" / "inside", ROOT / "engine" / "nightshift_engine" / "inside")
"""Code that runs inside the sandbox: it is shown there alone and can import nothing else of ours."""
SQL = ("SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM", "PRAGMA ")


@cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    """Each module of the product, by its path below the root."""
    found = [p for p in ROOT.rglob("*.py") if not any(part.startswith(".") for part in p.relative_to(ROOT).parts)]
    kept = [path for path in sorted(found) if not OUTSIDE & set(path.relative_to(ROOT).parts)]
    return {str(path.relative_to(ROOT)): (path, ast.parse(path.read_text())) for path in kept}


def package(name: str) -> str:
    return Path(name).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], node.lineno


def test_imports_point_downwards_only() -> None:
    wrong = []
    for name, (_, tree) in modules().items():
        here = package(name)
        assert here in LAYERS, f"{here} stands on no layer"
        for there, line in imports(tree):
            if there not in LAYERS or there == here:
                continue
            if not (LAYERS[there] < LAYERS[here] or (here, there) in BESIDE):
                wrong.append(f"{name}:{line}: {here} ({LAYERS[here]}) may not import {there} ({LAYERS[there]})")
            elif here == "agent" and there != "core":
                wrong.append(f"{name}:{line}: agent sees only core, not {there}")
    assert not wrong, "\n".join(wrong)


def test_the_repair_engine_is_named_by_its_wiring_alone() -> None:
    named = {
        name for name, (_, tree) in modules().items() for there, _ in imports(tree)
        if there == "repair" and package(name) != "repair"
    }  # fmt: skip
    assert named == {"nightshift/app/repair.py"}


def test_each_module_opens_with_a_sentence() -> None:
    first = {name: (ast.get_docstring(tree) or "").split("\n")[0].strip() for name, (_, tree) in modules().items()}
    wrong = [name for name, line in first.items() if not line.endswith((".", ":"))]
    assert not wrong, "the docstring's first line is no sentence: " + ", ".join(wrong)


def test_only_the_settings_read_the_environment() -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for name, (path, tree) in modules().items()
        if package(name) not in {"config", "settings"} and not any(map(path.is_relative_to, INSIDE))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}
    ]
    assert not wrong, "reads the environment: " + ", ".join(wrong)


def test_sql_stands_in_its_packages_only() -> None:
    wrong = [
        f"{name}:{node.lineno}"
        for name, (_, tree) in modules().items()
        if package(name) not in {"db", "taskqueue", "queue_manager", "memory", "hub"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.lstrip()[:40].upper().startswith(SQL)
    ]
    assert not wrong, "SQL: " + ", ".join(wrong)


def test_the_check_of_imports_can_fail() -> None:
    tree = ast.parse("from model_handler import x\nimport nightshift.storage.db.database\n")
    assert [name for name, _ in imports(tree)] == ["model_handler", "db"]
    assert LAYERS["model_handler"] >= LAYERS["git_manager"]
