"""Projects: folders of the daemon's own workspace, each of which is a separate program.

A task of a project sees the project's folder as the root of all files. Paths, imports and test runs are the same as for
a person who opens that folder in a clone. Only git uses paths of the whole workspace (`Scope.full`). A task on files
directly in the workspace's root does not see the projects.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import BinaryIO

from nightshift.core.code.listing import Listing, last_of, listing_of
from nightshift.core.code.paths import path_fault
from nightshift.core.code.tree import Tree, save
from nightshift.core.tasks.task import Change, Files, Language, TaskSpec

MAX_NAME_CHARS = 40
ROOT = ""
"""Project name that stands for the files directly in the workspace's root."""

DEPENDENCY_FILES = ("requirements.txt", "pyproject.toml", "package.json")
PYTEST = {"pytest.ini": "[pytest]\npythonpath = . src\n"}
"""Configuration that makes plain `pytest` find a project's modules, as the test runs of a verdict do."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
LAID_OUT = ("README.md", *DEPENDENCY_FILES, *PYTEST)
"""Files that `beginnings` may write."""

_TAKEN = frozenset(
    {"build", "dist", "doc", "docs", "lib", "none", "root", "scripts", "site-packages", "src", "test", "testing"}
    | {"tests", "tools", "venv", "workspace"}
)
_ABOUT_LINES, _ABOUT_CHARS = 3, 240


def name_fault(name: str) -> str | None:
    """Return why a text cannot be a project's name; None if it can."""
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS or path_fault(name):
        return f"must be lower-case letters, digits, - and _, at most {MAX_NAME_CHARS}, such as shop or price-list"
    return f"{name!r} is too common a folder name; say what the project is" if name in _TAKEN else None


def projects_of(tree: Tree) -> tuple[str, ...]:
    """Return the names of a workspace's projects: folders with a README.md and a dependency file."""
    entries = listing_of(tree.entries())
    readmes = entries.having(last_of, "README.md")
    return tuple(
        name
        for name in sorted(path.partition("/")[0] for path in readmes if path.count("/") == 1)
        if name_fault(name) is None and any(f"{name}/{file}" in entries for file in DEPENDENCY_FILES)
    )


def place_fault(name: str, tree: Tree) -> str | None:
    """Return why a workspace cannot contain a project with this name; None if it can."""
    if why := name_fault(name):
        return why
    return f"{name!r} is not a folder of the workspace" if name in tree.entries() or name in tree.unwritable() else None


def beginning(spec: TaskSpec) -> str | None:
    """Return the part of the workspace in which a task works before its plan; None if the plan decides.

    A task that comes with tests, files, a command or cases already has a folder layout. Unless such a task names a
    project, it works at the root.
    """
    if spec.project is not None:
        return spec.project
    return ROOT if spec.tests or spec.files or spec.test_command or spec.cases else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The part of a repository that a task sees.

    `project` is None for the whole repository. `given` are the paths of files that the task brought to the root of a
    workspace; the task also sees the projects that contain these files.
    """

    project: str | None = None
    given: tuple[str, ...] = ()

    def of(self, tree: Tree) -> Tree:
        """Return this part of a repository's tree."""
        if self.project is None:
            return tree
        if self.project:
            return _Below(tree, self.project)
        theirs = {path.partition("/")[0] for path in self.given}
        hidden = frozenset(projects_of(tree)) - theirs
        return _Without(tree, hidden) if hidden else tree

    def fault(self, tree: Tree) -> str | None:
        """Return why a workspace cannot contain this part; None if it can."""
        return place_fault(self.project, tree) if self.project else None

    def full(self, path: str) -> str:
        """Convert a path relative to the part to a path relative to the repository."""
        return f"{self.project}/{path}" if self.project else path

    def all_full(self, change: Change) -> dict[str, str | None]:
        """Convert a change with paths relative to the part to a change with paths relative to the repository."""
        return {self.full(path): text for path, text in change.items()}

    def inside(self, path: str) -> str | None:
        """Convert a path relative to the repository to a path relative to the part.

        Returns None if the path is outside the part.
        """
        if not self.project:
            return path
        folder, _, rest = path.partition("/")
        return rest if rest and folder == self.project else None


WHOLE = Scope()


def scopes_of(*trees: Tree) -> tuple[Scope, ...]:
    """Return the parts of a workspace that are developed separately: its root, and the projects in these trees."""
    names = dict.fromkeys(name for tree in trees for name in projects_of(tree))
    return (Scope(project=ROOT), *(Scope(project=name) for name in names))


class _Part(Tree):
    """A part of a tree. The list of the part's files is computed only once."""

    def __init__(self, tree: Tree, name: str) -> None:
        self.full_tree, self._name = tree, name
        self._entries: Listing[str] | None = None

    @property
    def commit(self) -> str:
        """The commit and the part, so that caches with the commit as key distinguish the parts."""
        return f"{self.full_tree.commit}-{self._name}"

    def entries(self) -> Listing[str]:
        """Map each path to the id of its content, as in `Tree`."""
        if self._entries is None:
            self._entries = self._own(listing_of(self.full_tree.entries()))
        return self._entries

    def read(self, path: str) -> bytes:
        """Return a file's bytes; raises KeyError."""
        return self.full_tree.read(self._full(path))

    def save(self, path: str, target: BinaryIO) -> None:
        """Write a file's bytes into an empty file (`core.code.tree.Streamed`)."""
        save(self.full_tree, self._full(path), target)

    @abstractmethod
    def _own(self, entries: Listing[str]) -> Listing[str]:
        """Return the files of the part, with paths relative to the part."""

    @abstractmethod
    def _full(self, path: str) -> str:
        """Convert a path relative to the part to a path in the full tree; raises KeyError for a hidden file."""


class _Below(_Part):
    """A project's folder as a tree."""

    def __init__(self, tree: Tree, project: str) -> None:
        super().__init__(tree, project)
        self.folder = f"{project}/"

    def _own(self, entries: Listing[str]) -> Listing[str]:
        return Listing({path.removeprefix(self.folder): entries[path] for path in entries.below(self.folder)})

    def unwritable(self) -> frozenset[str]:
        """Return the paths of links and submodules in the folder."""
        there = (path for path in self.full_tree.unwritable() if path.startswith(self.folder))
        return frozenset(path.removeprefix(self.folder) for path in there)

    def _full(self, path: str) -> str:
        return f"{self.folder}{path}"


class _Without(_Part):
    """The root of a workspace without the folders of its projects. These folders cannot be written to."""

    def __init__(self, tree: Tree, hidden: frozenset[str]) -> None:
        super().__init__(tree, hashlib.sha256("/".join(sorted(hidden)).encode()).hexdigest()[:12])
        self._hidden = hidden

    def _own(self, entries: Listing[str]) -> Listing[str]:
        return entries.patch({path: None for folder in self._hidden for path in entries.below(f"{folder}/")})

    def _is_hidden(self, path: str) -> bool:
        return path.partition("/")[0] in self._hidden

    def unwritable(self) -> frozenset[str]:
        """Return the folders of the projects, and the links and submodules outside them."""
        return self._hidden | {path for path in self.full_tree.unwritable() if not self._is_hidden(path)}

    def _full(self, path: str) -> str:
        if self._is_hidden(path):
            raise KeyError(path)
        return path


def place_of(tree: Tree) -> tuple[Tree, str]:
    """Return the tree of the whole workspace and, if `tree` is a project's folder, that folder with a final slash.

    If `tree` is anything else, such as the root of a workspace without its projects, return `tree` itself and an empty
    text.
    """
    return (tree.full_tree, tree.folder) if isinstance(tree, _Below) else (tree, "")


def without_folder(text: str, project: str | None, paths: Iterable[str]) -> str:
    """Return a text in which paths below the project's folder are relative to the project.

    Args:
        text: Text about the project's files.
        project: The project's name.
        paths: The paths of its files. If the project contains a folder of the same name, paths are ambiguous and the
            text is unchanged.
    """
    if not project or any(path.startswith(f"{project}/") for path in paths):
        return text
    return re.sub(rf"(?<![\w./-]){re.escape(project)}/(?=[\w.])", "", text)


def whole_of(tree: Tree) -> Tree:
    """Return the tree that a part belongs to; any other tree is returned unchanged."""
    while isinstance(tree, _Part):
        tree = tree.full_tree
    return tree


# The functions below write the files that a new project begins with.


def beginnings(name: str, about: str, language: Language, present: Collection[str]) -> Files:
    """Return the files that a new project begins with, without those that it has already.

    Args:
        name: The project's name.
        about: A line that describes the project; may be empty.
        language: The language of the task that begins the project.
        present: The paths of the project's files.
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
    """Return the files of a change that no model wrote.

    These are the owner's files, and those of `beginnings` that configure tests. A file of the owner that the base
    already contains unchanged is left out, because it is not part of the change.
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
    """Return the first meaningful lines of a README, without its title."""
    lines = (line.strip() for line in readme.partition("```")[0].splitlines()[:40])
    sentences = [line for line in lines if line and not line.startswith(("#", "![", "[!", "<", "The tests:"))]
    return " ".join(sentences[:_ABOUT_LINES])[:_ABOUT_CHARS]
