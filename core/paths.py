"""Which paths may be files of a repository, alone and together: one rule for tasks, models, staging and commits.

A path is refused that could mean more than one thing: one that leaves the tree, that git, macOS or Windows take for
`.git`, that a person reads otherwise than it is, or that a file system which ignores case takes for another file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

MAX_FILES = 500
MAX_FILE_CHARS = 1_000_000
MAX_TOTAL_CHARS = 8_000_000
"""How much one task may bring, and one change may hold."""

MAX_PATH_BYTES, MAX_NAME_BYTES, MAX_DEPTH = 400, 200, 20
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Of all names that begin with .git only these: others steer git (.gitmodules, .gitattributes) or may be made to.
_GIT_FILES = frozenset({".gitignore", ".gitkeep", ".github", ".gitlab", ".gitlab-ci.yml", ".gitea", ".gitlint"})
_SHORT_GIT_NAME = re.compile(r"gi[a-z0-9]{1,6}~\d+")  # what Windows calls .git, .gitmodules and .gitattributes


def path_fault(path: str) -> str | None:
    """Say why this may not be the path of a file in a repository, or None when it may."""
    if not path or len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return f"must have 1 to {MAX_PATH_BYTES} bytes"
    if any(unicodedata.category(c) in _HIDDEN for c in path) or "\\" in path:
        return "holds a control or format character or a backslash"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode normal form C"
    parts = path.split("/")
    if path.startswith("/") or any(p in {"", ".", ".."} for p in parts):
        return "must be relative, with / between names and without . or .."
    if len(parts) > MAX_DEPTH or any(len(p.encode()) > MAX_NAME_BYTES for p in parts):
        return "is too deep or has too long a name"
    if not path.isascii() and any(map(_mixes_alphabets, re.findall(r"[^\W\d_]+", path))):
        return "holds a word with letters of two alphabets that look alike"
    for part in parts:
        if part[0] in "-~" or part[-1] in " ." or _is_git_name(part):
            return f"has a name that is not allowed ({part!r})"
    return None


def _mixes_alphabets(word: str) -> bool:
    """Tell whether a word has Latin and Cyrillic letters, of which many cannot be told apart."""
    found = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return {"LATIN", "CYRILLIC"} <= found


def _is_git_name(part: str) -> bool:
    """Tell whether git, HFS+ or NTFS may take a name for one of git's own. NTFS cuts at `:` and at final dots."""
    folded = unicodedata.normalize("NFKC", part).casefold()
    name = folded.partition(":")[0].rstrip(" .")
    return bool(_SHORT_GIT_NAME.fullmatch(name)) or (name.startswith(".git") and folded not in _GIT_FILES)


def is_test_path(path: str) -> bool:
    """Tell whether a path names a test or steers tests, by the usual conventions of pytest and node:test."""
    name = PurePosixPath(path).name
    stem = name.rsplit(".", 1)[0]
    return (
        name == "conftest.py"
        or (name.endswith(".py") and (name.startswith("test_") or stem.endswith("_test")))
        or bool(re.search(r"(^test|[._-]test|\.spec)\.[cm]?[jt]s$|^test-.*\.[cm]?[jt]s$", name))
        or bool(re.search(r"(^|/)test/.*\.[cm]?[jt]s$", path))
    )


def folders_of(path: str) -> list[str]:
    """The folders above a path, outermost first, without the root."""
    return [path[:place] for place, char in enumerate(path) if char == "/"]


def at_or_below(paths: Iterable[str], places: Collection[str]) -> tuple[str, str] | None:
    """The first of these paths that is one of the places or lies below one, with that place; None when none does."""
    if not places:
        return None
    pairs = ((path, place) for path in paths for place in (path, *folders_of(path)))
    return next(((path, place) for path, place in pairs if place in places), None)


class Spellings:
    """The paths of a tree as a file system sees them that ignores case, as those of macOS and Windows do.

    Args:
        paths: of files.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._files = dict[str, str]()
        self._folders = dict[str, str]()
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Take in one more file."""
        self._files[_folded(path)] = path
        for folder in reversed(folders_of(path)):
            if self._folders.setdefault(_folded(folder), path) != path:
                return

    def clash(self, path: str) -> str | None:
        """A file that cannot stand beside this one: it has the same name but for case, or one is the other's folder."""
        folded = _folded(path)
        if (same := self._files.get(folded, path)) != path:
            return same
        if inside := self._folders.get(folded):
            return inside
        return next((file for folder in folders_of(path) if (file := self._files.get(_folded(folder)))), None)


def clash_among(paths: Iterable[str]) -> tuple[str, str] | None:
    """Two of these files that cannot stand beside each other, or None."""
    seen = Spellings()
    for path in paths:
        if other := seen.clash(path):
            return path, other
        seen.add(path)
    return None


def _folded(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path.casefold())
