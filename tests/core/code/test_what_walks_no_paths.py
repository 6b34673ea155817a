"""The cost of examining a tree depends on its difference from the previous tree, not on its size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nightshift.agent.symbols import SymbolCache, tags
from nightshift.attempt.candidate import differing
from nightshift.core.code.dependencies import ImportCache, closure, dependants
from nightshift.core.code.listing import Listing
from nightshift.core.tasks.change_checks import ChangeCheckJob
from nightshift.core.tasks.projects import Scope, projects_of
from nightshift.core.tasks.task import TaskSpec
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.locks import requirement_files
from nightshift.verdict.environments.missing_modules import ImportMemory
from nightshift.verdict.environments.requirements import PackageSurvey
from nightshift.verdict.languages.python import package_layout
from nightshift.verdict.languages.repository_commands.find import find

MANY, FEW = 2000, 60
FILES = {f"mod_{n}.py": f"import os\n\n\ndef f{n}():\n    return {n}\n" for n in range(MANY)}
TESTS = {f"test_mod_{n}.py": f"from mod_{n} import f{n}\n" for n in range(MANY)}
ALL = {**FILES, **TESTS, "requirements.txt": "attrs\n", "pyproject.toml": "[project]\nname = 'shop'\n"}


class ListedTree:
    """A tree that, like git's trees, derives its listing from the listing of the previous tree."""

    def __init__(self, name: str, entries: Listing[str]) -> None:
        self.commit, self._entries = name, entries

    def entries(self) -> Listing[str]:
        return self._entries

    def unwritable(self) -> frozenset[str]:
        return frozenset()

    def read(self, path: str) -> bytes:
        return self._entries[path].encode()


BEFORE = ListedTree("a", Listing(ALL))
NEW = {"fresh.py": "from mod_7 import f7\n", "test_fresh.py": "from fresh import f7\n"}
AFTER = ListedTree("b", BEFORE.entries().patch(NEW))


def packages(tree: ListedTree) -> Any:
    spec = TaskSpec(description="x")
    change = {"other.py": "import fresh, mod_9, nowhere\n"}
    job = ChangeCheckJob(task_id=1, spec=spec, tree=tree, change=change, own={})
    survey = PackageSurvey(job, available={"os"}, allowed={}, memory=ImportMemory())
    return [each.need.module for each in survey.wanted()]


IMPORTS, SYMBOLS = ImportCache(), SymbolCache()
STEPS: dict[str, Callable[[ListedTree], Any]] = {
    "the closure of tests": lambda tree: closure(tree, {"mod_7.py": ""}, {"test_x.py": "import mod_7\n"}, IMPORTS),
    "tests that a change reaches": lambda tree: dependants(tree, ["mod_7.py"], IMPORTS),
    "files that a task names": lambda tree: SYMBOLS.shared.find(
        tree.entries(), lambda path: tags(path, tree.read(path).decode()), frozenset({"fresh"}), ["f7"]
    ),
    "packages that are missing": packages,
    "the layout of the package": lambda tree: package_layout.read(
        lambda path: tree.read(path).decode() if path in tree.entries() else None, tree.entries()
    ),
    "files that declare packages": lambda tree: (
        DeclaredFiles(tree, NEW).nearest(("requirements.txt", "uv.lock")),
        requirement_files(DeclaredFiles(tree, NEW).paths, ""),
    ),
    "linters": find,
    "projects of the workspace": lambda tree: (projects_of(tree), len(Scope(project="").of(tree).entries())),
    "what differs from the tree before": lambda tree: differing(BEFORE, tree),
}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it an error to iterate over a whole listing, or to request more than `FEW` of its paths."""

    def refused(_self: Listing[str]) -> Iterator[str]:
        raise AssertionError("all paths were walked")

    def bounded(method: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*args: Any) -> Any:
            paths = method(*args)
            assert len(paths) <= FEW, f"{len(paths)} of the paths were walked"
            return paths

        return asked

    monkeypatch.setattr(Listing, "__iter__", refused)
    for name in ("below", "having", "since"):
        monkeypatch.setattr(Listing, name, bounded(getattr(Listing, name)))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_on_a_new_commit_walks_no_paths_that_were_there_before(
    name: str, request: pytest.FixtureRequest
) -> None:
    step = STEPS[name]
    step(BEFORE)
    anew = step(ListedTree("c", Listing({**ALL, **NEW})))
    step(BEFORE)
    request.getfixturevalue("few")
    assert step(AFTER) == anew
