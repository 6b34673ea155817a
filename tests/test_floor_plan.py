"""Holds the code to the floor plan of docs/architecture.md and to the house rules that a parser can see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {
    "cli": 7, "hand": 7,
    "main": 6, "assembly": 6,
    "server": 5,
    "task_executor": 4, "execution": 4, "upkeep": 4,
    "agent": 3,
    "queue_manager": 2, "model_handler": 2, "models": 2, "test_runner": 2, "sandbox": 2, "git_manager": 2, "gitrepo": 2,
    "memory": 2, "intake": 2, "weekly_summary": 2, "weekly": 2,
    "config": 1, "settings": 1, "db": 1,
    "core": 0, "files": 0,
}  # fmt: skip
SIDE_DOORS = {
    ("cli", "hand"), ("model_handler", "models"), ("test_runner", "sandbox"), ("weekly_summary", "weekly"),
    ("task_executor", "execution"), ("git_manager", "gitrepo"), ("main", "assembly"), ("config", "settings"),
}  # fmt: skip
OUTSIDE = {"tests", "bench", "scripts", "examples", "workspace", "reports"}
# Code that runs inside the sandbox: it is shown there alone and can import nothing of ours.
INSIDE = ROOT / "sandbox" / "inside"
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}


def modules() -> list[Path]:
    found = [p for p in ROOT.rglob("*.py") if not any(part.startswith(".") for part in p.relative_to(ROOT).parts)]
    return sorted(p for p in found if p.relative_to(ROOT).parts[0] not in OUTSIDE)


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], node.lineno


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("path", modules(), ids=names(modules()))
def test_imports_point_downwards_only(path: Path) -> None:
    room = room_of(path)
    assert room in FLOORS, f"{room} stands on no floor"
    for target, line in imports(ast.parse(path.read_text())):
        if target not in FLOORS or target == room:
            continue
        fits = FLOORS[target] < FLOORS[room] or (room, target) in SIDE_DOORS
        assert fits, f"line {line}: {room} (floor {FLOORS[room]}) may not import {target} (floor {FLOORS[target]})"
        assert room != "agent" or target == "core", f"line {line}: agent sees only core, not {target}"


@pytest.mark.parametrize("path", modules(), ids=names(modules()))
def test_each_module_opens_with_a_sentence(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert text.split("\n")[0].strip().endswith((".", ":")), "the docstring's first line is no sentence"


@pytest.mark.parametrize("path", modules(), ids=names(modules()))
def test_files_and_functions_stay_small(path: Path) -> None:
    text, name = path.read_text(), str(path.relative_to(ROOT))
    assert text.count("\n") <= 300 or name in LONG_FILES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            assert lines <= 40 or f"{name}:{node.name}" in LONG_FUNCTIONS, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", modules(), ids=names(modules()))
def test_only_config_reads_the_environment(path: Path) -> None:
    if room_of(path) == "config" or path.is_relative_to(INSIDE):
        return
    read = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}
    ]
    assert not read, f"reads the environment in lines {read}"


@pytest.mark.parametrize("path", modules(), ids=names(modules()))
def test_sql_stands_in_its_rooms_only(path: Path) -> None:
    if room_of(path) in {"db", "queue_manager", "memory"}:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            head = node.value.lstrip()[:40].upper()
            assert not head.startswith(("SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM", "PRAGMA ")), node.lineno


def test_the_check_of_imports_can_fail() -> None:
    tree = ast.parse("from model_handler import x\nimport db.database\n")
    assert [name for name, _ in imports(tree)] == ["model_handler", "db"]
    assert FLOORS["model_handler"] >= FLOORS["git_manager"]
