"""Projects: folders of the daemon's own workspace, each a program that is worked on as if it were alone.

A task of a project sees its folder as the root of all files: paths, imports and test runs are what they are for whoever
opens that folder of a clone. Only git knows the whole (`Scope.full`). What lies flat in the workspace's root is worked
on there, and does not see the projects beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import BinaryIO

from nightshift.core.code.file_names import last_of
from nightshift.core.code.listing import Listing, listing_of
from nightshift.core.code.paths import path_fault
from nightshift.core.code.tree import Tree, save
from nightshift.core.tasks.task import Change, Files, Language, TaskSpec

MAX_NAME_CHARS = 40
ROOT = ""
"""In the place of a project's name: what lies flat in the workspace."""

DEPENDENCY_FILES = ("requirements.txt", "pyproject.toml", "package.json")
PYTEST = {"pytest.ini": "[pytest]\npythonpath = . src\n"}
"""With it `pytest` alone finds a project's modules, as the runs that judge it do."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
LAID_OUT = ("README.md", *DEPENDENCY_FILES, *PYTEST)
"""Files that `beginnings` may write."""

_TAKEN = frozenset(
    {"build", "dist", "doc", "docs", "lib", "none", "root", "scripts", "site-packages", "src", "test", "testing"}
    | {"tests", "tools", "venv", "workspace"}
)
_ABOUT_LINES, _ABOUT_CHARS = 3, 240


def name_fault(name: str) -> str | None:
    """Say why this cannot be a project's name, or None when it can."""
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS or path_fault(name):
        return f"must be lower-case letters, digits, - and _, at most {MAX_NAME_CHARS}, such as shop or price-list"
    return f"{name!r} is what many folders are called; say what the project is" if name in _TAKEN else None


def projects_of(tree: Tree) -> tuple[str, ...]:
    """The projects of a workspace by name: folders with a README.md and a dependency file."""
    entries = listing_of(tree.entries())
    readmes = entries.having(last_of, "README.md")
    return tuple(
        name
        for name in sorted(path.partition("/")[0] for path in readmes if path.count("/") == 1)
        if name_fault(name) is None and any(f"{name}/{file}" in entries for file in DEPENDENCY_FILES)
    )


def place_fault(name: str, tree: Tree) -> str | None:
    """Say why a workspace has no place for a project of this name, or None when it has."""
    if why := name_fault(name):
        return why
    return f"{name!r} is no folder of the workspace" if name in tree.entries() or name in tree.unwritable() else None


def beginning(spec: TaskSpec) -> str | None:
    """Return the folder where a task of the workspace works, before its plan: None where the plan says it.

    A task that brings its tests, files or cases brings its layout; unless it names a project, it works at the root.
    """
    if spec.project is not None:
        return spec.project
    return ROOT if spec.tests or spec.files or spec.test_command or spec.cases else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The part of a repository that a task sees.

    `project` is None for all of it. At the root of a workspace, `given` are the paths that its task brought: a project
    in which one of them lies is not hidden from it.
    """

    project: str | None = None
    given: tuple[str, ...] = ()

    def of(self, tree: Tree) -> Tree:
        """The part of a repository's tree."""
        if self.project is None:
            return tree
        if self.project:
            return _Below(tree, self.project)
        theirs = {path.partition("/")[0] for path in self.given}
        hidden = frozenset(projects_of(tree)) - theirs
        return _Without(tree, hidden) if hidden else tree

    def fault(self, tree: Tree) -> str | None:
        """Say why a workspace has no place for the part, or None when it has."""
        return place_fault(self.project, tree) if self.project else None

    def full(self, path: str) -> str:
        """A path of the part as the repository has it."""
        return f"{self.project}/{path}" if self.project else path

    def all_full(self, change: Change) -> dict[str, str | None]:
        """A change of the part as one of the repository."""
        return {self.full(path): text for path, text in change.items()}

    def inside(self, path: str) -> str | None:
        """A path of the repository as the part has it; None where it lies elsewhere."""
        if not self.project:
            return path
        folder, _, rest = path.partition("/")
        return rest if rest and folder == self.project else None


WHOLE = Scope()


def scopes_of(*trees: Tree) -> tuple[Scope, ...]:
    """The parts of a workspace, each of which is worked on alone: its root and the projects in one of these trees."""
    names = dict.fromkeys(name for tree in trees for name in projects_of(tree))
    return (Scope(project=ROOT), *(Scope(project=name) for name in names))


class _Part(Tree):
    """A part of a tree, read once."""

    def __init__(self, tree: Tree, name: str) -> None:
        self.full_tree, self._name = tree, name
        self._entries: Listing[str] | None = None

    @property
    def commit(self) -> str:
        """The commit and the part: what is kept by commit is kept for each part."""
        return f"{self.full_tree.commit}-{self._name}"

    def entries(self) -> Listing[str]:
        """Path to the id of its content, as in `Tree`."""
        if self._entries is None:
            self._entries = self._own(listing_of(self.full_tree.entries()))
        return self._entries

    @abstractmethod
    def _own(self, entries: Listing[str]) -> Listing[str]:
        """The files of the part, with its paths."""


class _Below(_Part):
    """The folder of a project as a tree."""

    def __init__(self, tree: Tree, project: str) -> None:
        super().__init__(tree, project)
        self.folder = f"{project}/"

    def _own(self, entries: Listing[str]) -> Listing[str]:
        return Listing({path.removeprefix(self.folder): entries[path] for path in entries.below(self.folder)})

    def unwritable(self) -> frozenset[str]:
        """Links and submodules in the folder."""
        there = (path for path in self.full_tree.unwritable() if path.startswith(self.folder))
        return frozenset(path.removeprefix(self.folder) for path in there)

    def read(self, path: str) -> bytes:
        """A file's bytes; raises KeyError."""
        return self.full_tree.read(f"{self.folder}{path}")

    def save(self, path: str, target: BinaryIO) -> None:
        """Write a file's bytes into an empty file (`core.code.tree.Streamed`)."""
        save(self.full_tree, f"{self.folder}{path}", target)


class _Without(_Part):
    """The root of a workspace without the folders of its projects; nothing is written into those."""

    def __init__(self, tree: Tree, hidden: frozenset[str]) -> None:
        super().__init__(tree, hashlib.sha256("/".join(sorted(hidden)).encode()).hexdigest()[:12])
        self._hidden = hidden

    def _own(self, entries: Listing[str]) -> Listing[str]:
        return entries.patch({path: None for folder in self._hidden for path in entries.below(f"{folder}/")})

    def _is_hidden(self, path: str) -> bool:
        return path.partition("/")[0] in self._hidden

    def unwritable(self) -> frozenset[str]:
        """The projects, and links and submodules outside of them."""
        return self._hidden | {path for path in self.full_tree.unwritable() if not self._is_hidden(path)}

    def read(self, path: str) -> bytes:
        """A file's bytes; raises KeyError."""
        if self._is_hidden(path):
            raise KeyError(path)
        return self.full_tree.read(path)

    def save(self, path: str, target: BinaryIO) -> None:
        """Write a file's bytes into an empty file (`core.code.tree.Streamed`)."""
        if self._is_hidden(path):
            raise KeyError(path)
        save(self.full_tree, path, target)


def place_of(tree: Tree) -> tuple[Tree, str]:
    """The tree of the whole workspace, and the folder of the project in it that a part is, with a slash at its end.

    For any other tree, the root of a workspace without its projects among them: the tree itself and an empty text.
    """
    return (tree.full_tree, tree.folder) if isinstance(tree, _Below) else (tree, "")


def without_folder(text: str, project: str | None, paths: Iterable[str]) -> str:
    """A text in which paths that begin with the project's folder are as the project has them.

    Args:
        text: words about the project's files.
        project: its name.
        paths: of its files. Where a folder in it has its name, nobody knows which one is meant: the text stays.
    """
    if not project or any(path.startswith(f"{project}/") for path in paths):
        return text
    return re.sub(rf"(?<![\w./-]){re.escape(project)}/(?=[\w.])", "", text)


def whole_of(tree: Tree) -> Tree:
    """Return the tree that a part was taken of; any other is given back."""
    while isinstance(tree, _Part):
        tree = tree.full_tree
    return tree


# --- what a project is begun with


def beginnings(name: str, about: str, language: Language, present: Collection[str]) -> Files:
    """The files that every project has, as far as they are missing.

    Args:
        name: the project's.
        about: a line that says what it is; may be empty.
        language: of the task that begins it.
        present: the paths of the project's files.
    """
    script = language is Language.JAVASCRIPT
    files = {"README.md": _readme(name, about, language)}
    if language is Language.GO:
        files |= {"go.mod": f"module example.org/{name}\n\ngo 1.18\n"}
        return {path: text for path, text in files.items() if path not in present}
    if not any(file in present for file in DEPENDENCY_FILES):
        files |= {"package.json": _package(name)} if script else {"requirements.txt": "pytest\n"}
    if not script and not present:
        files |= PYTEST
    return {path: text for path, text in files.items() if path not in present}


def start_of(given: Files, project: str | None, change: Change) -> Files:
    """The files of a change that are no model's: those that its task gave, and those of `beginnings` that steer tests.

    What was given and is now as it is in the base is no part of the change any more.
    """
    steering = {path: text for path, text in PYTEST.items() if project and change.get(path) == text}
    return {path: text for path, text in given.items() if path in change} | steering


def _readme(name: str, about: str, language: Language) -> str:
    how = {Language.PYTHON: "pip install -r requirements.txt\npytest", Language.JAVASCRIPT: "node --test"}
    words = how.get(language, "go test ./...")
    return f"# {name}\n\n" + (f"{about}\n\n" if about else "") + f"The tests:\n\n```sh\n{words}\n```\n"


def _package(name: str) -> str:
    parts = {"name": name, "version": "0.1.0", "private": True, "scripts": {"test": "node --test"}}
    return json.dumps(parts, indent=2) + "\n"


def first_words(readme: str) -> str:
    """The first lines of a README that say something, its title left out."""
    lines = (line.strip() for line in readme.partition("```")[0].splitlines()[:40])
    sentences = [line for line in lines if line and not line.startswith(("#", "![", "[!", "<", "The tests:"))]
    return " ".join(sentences[:_ABOUT_LINES])[:_ABOUT_CHARS]
