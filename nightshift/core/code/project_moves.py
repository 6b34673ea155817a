"""Projects that are merged or renamed: all files of one as they lie in the folder of another.

The move is no work of a model. A task that merges or renames sees the workspace as it is after the move and goes on
from there: the tests that came along are existing tests of its project, protected and run like those that were there.
Its commit makes the move and the change in one. Paths below the folder stay as they are, so imports do too.

What both have under one name is put together where that can be done by rule: the README, lists of requirements and of
ignored files, package.json. For any other such file a person has to say what becomes of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from nightshift.core.code.git_ids import blob_id, format_of
from nightshift.core.code.tree import Tree
from nightshift.core.text.encoding import decode, encode

_SHOWN = 5
_TITLE = re.compile(r"\A\s*#[ \t]+(.*)$", re.MULTILINE)
_HOW_TO_TEST = re.compile(r"^The tests:\n+```sh\n.*?^```\n*", re.MULTILINE | re.DOTALL)
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*")


class MovedTree(Tree):
    """A workspace in which the files of some projects lie in the folder of another.

    Args:
        tree: the workspace.
        project: where they lie; it may be new.
        moved: the projects; those that the tree does not have are passed over.
    """

    def __init__(self, tree: Tree, project: str, moved: Iterable[str]) -> None:
        self.whole, self.project = tree, project
        self.clashes: list[str] = []
        self.sources: dict[str, str] = {}
        """Where each moved file lay, by its new path; for one that was put together, the first of both."""
        self._made = dict[str, bytes]()
        old = tree.entries()
        away = tuple(f"{name}/" for name in moved)
        self._entries = {path: id_ for path, id_ in old.items() if not path.startswith(away)}
        self.removed = frozenset(old.keys() - self._entries.keys())
        is_new = not any(path.startswith(f"{project}/") for path in self._entries)
        for folder in away:
            for path in [path for path in old if path.startswith(folder)]:
                self._move(path, folder.removesuffix("/"))
            if is_new:
                self._name_anew(folder.removesuffix("/"))
                is_new = False
        self._entries = dict(sorted(self._entries.items()))

    def _move(self, path: str, name: str) -> None:
        rest = path.removeprefix(f"{name}/")
        target, id_ = f"{self.project}/{rest}", self.whole.entries()[path]
        if (mine := self._entries.get(target)) is None:
            self._entries[target] = id_
            self.sources[target] = path
        elif mine == id_:
            pass
        elif rest == "pytest.ini":
            pass  # how a project's tests are run is said by the project
        elif rest in _TOGETHER and (text := self._together(target, path, rest, name)) is not None:
            self._make(target, text)
        else:
            self.clashes.append(rest)

    def _together(self, target: str, path: str, rest: str, name: str) -> str | None:
        return _TOGETHER[rest](decode(self.read(target)), decode(self.whole.read(path)), name)

    def _make(self, path: str, text: str) -> None:
        data = encode(text)
        self._made[path] = data
        self._entries[path] = blob_id(data, format_of(next(iter(self.whole.entries().values()))))

    def _name_anew(self, name: str) -> None:
        """Give a renamed project its new name where it names itself."""
        for rest, renamed in _NAMES_ITSELF.items():
            if (path := f"{self.project}/{rest}") in self._entries:
                before = decode(self.read(path))
                if (text := renamed(before, name, self.project)) != before:
                    self._make(path, text)

    @property
    def commit(self) -> str:
        """The commit and the move: what is kept by commit is kept for each."""
        files = "\0".join((self.project, *sorted(self.removed)))
        return f"{self.whole.commit}-{hashlib.sha256(files.encode()).hexdigest()[:12]}"

    def entries(self) -> Mapping[str, str]:
        """Path to the id of its content, as in `Tree`."""
        return self._entries

    def unwritable(self) -> frozenset[str]:
        """Links and submodules, where they are."""
        return self.whole.unwritable()

    def read(self, path: str) -> bytes:
        """A file's bytes; raises KeyError."""
        if path not in self._entries:
            raise KeyError(path)
        made = self._made.get(path)
        return self.whole.read(self.sources.get(path, path)) if made is None else made


def move_fault(tree: Tree, project: str, moved: Collection[str]) -> str | None:
    """Say why all files of these projects cannot be moved into the folder of another, or None when they can."""
    for name in moved:
        if links := sorted(path for path in tree.unwritable() if f"{path}/".startswith(f"{name}/")):
            return f"{links[0]} is a link or a submodule, which is not moved"
        if not any(path.startswith(f"{name}/") for path in tree.entries()):
            return f"there is no project {name} any more"
    found = MovedTree(tree, project, moved)
    mine = found.entries()
    folders = {path[:at] for path in mine for at, sign in enumerate(path) if sign == "/"}
    clashes = [*found.clashes, *(path for path in sorted(folders & mine.keys()) if path.startswith(f"{project}/"))]
    if not clashes:
        return None
    more = f" and {len(clashes) - _SHOWN} more" if len(clashes) > _SHOWN else ""
    both = ", ".join(dict.fromkeys((project, *moved)))
    return f"more than one of {both} has {', '.join(clashes[:_SHOWN])}{more}: rename these in one of them first"


# --- what is put together


def _readmes(mine: str, other: str, name: str) -> str:
    """The second README as a section of the first, without how its tests are run."""
    found = _TITLE.search(other)
    body = _HOW_TO_TEST.sub("", other[found.end() :] if found else other).strip()
    return f"{mine.rstrip()}\n\n## {found[1].strip() if found else name}\n" + (f"\n{_lowered(body)}\n" if body else "")


def _lowered(text: str) -> str:
    """A text whose headings stand one level lower."""
    fenced, lines = False, list[str]()
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        lines.append(f"#{line}" if line.startswith("#") and not fenced else line)
    return "\n".join(lines)


def _requirements(mine: str, other: str, _name: str) -> str:
    """The lines of both; a package that both name is as the first has it."""
    known = {_package(line) for line in mine.splitlines()}
    return _joined(mine, (line for line in other.splitlines() if _package(line) not in known))


def _package(line: str) -> str:
    found = _REQUIREMENT.match(line.strip())
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else line.strip()


def _lines(mine: str, other: str, _name: str) -> str:
    known = set(mine.splitlines())
    return _joined(mine, (line for line in other.splitlines() if line not in known))


def _joined(mine: str, more: Iterable[str]) -> str:
    lines = [*mine.splitlines(), *more]
    return "\n".join(lines) + "\n" if lines else ""


def _packages(mine: str, other: str, _name: str) -> str | None:
    """The first package.json with what the second depends on besides; None where one cannot be read."""
    found = _object(mine), _object(other)
    if not (found[0] and found[1]):
        return None
    for field in ("dependencies", "devDependencies"):
        if isinstance(more := found[1].get(field), dict) and isinstance(had := found[0].get(field, {}), dict):
            found[0][field] = {**more, **had}
    return json.dumps(found[0], indent=2) + "\n"


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _retitled(text: str, old: str, new: str) -> str:
    found = _TITLE.search(text)
    return text[: found.start(1)] + new + text[found.end(1) :] if found and found[1].strip() == old else text


def _renamed_package(text: str, old: str, new: str) -> str:
    found = _object(text)
    return json.dumps({**found, "name": new}, indent=2) + "\n" if found.get("name") == old else text


_TOGETHER: Mapping[str, Callable[[str, str, str], str | None]] = {
    "README.md": _readmes,
    "requirements.txt": _requirements,
    ".gitignore": _lines,
    "package.json": _packages,
}
_NAMES_ITSELF: Mapping[str, Callable[[str, str, str], str]] = {
    "README.md": _retitled,
    "package.json": _renamed_package,
}
