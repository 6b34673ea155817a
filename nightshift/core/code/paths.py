"""Rules for file paths in a repository, for single paths and sets of paths.

The same rules apply to the files of tasks, replies of models, staging and commits. A path is rejected if it leads out
of the tree, or if a program or a person could take it for something else. Examples are a path that git, macOS or
Windows would take for git's own folder `.git`, a device name of Windows, a similar-looking name, and a name that a
case-insensitive file system takes for another file. A set of files is also rejected if it would make a folder that git
treats as a repository.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

MAX_FILES = 500
MAX_FILE_CHARS = 1_000_000
MAX_TOTAL_CHARS = 8_000_000
"""Limits on the files that a task may supply and that a change may contain."""

MAX_PATH_BYTES, MAX_NAME_BYTES, MAX_DEPTH = 400, 200, 20
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Allow-list of names that begin with .git. All other names that begin with .git are refused, because they control git
# (.gitmodules, .gitattributes) or might control it.
_GIT_FILES = frozenset({".gitignore", ".gitkeep", ".github", ".gitlab", ".gitlab-ci.yml", ".gitea", ".gitlint"})
_SHORT_GIT_NAME = re.compile(r"gi[a-z0-9]{1,6}~\d+")  # Windows' short names of .git, .gitmodules and .gitattributes
# The pattern applies to names with any suffix, so `aux.py` matches too.
_DEVICE = re.compile(r"con|prn|aux|nul|conin\$|conout\$|(com|lpt)\d")
# Beside a file HEAD, git looks for objects and refs, or for commondir, which names their location. The other names
# belong to files that an attacker would plant in such a folder, or that usually come with it.
_OF_REPOSITORIES = frozenset({"objects", "refs", "commondir", "gitdir", "config", "config.worktree", "packed-refs"})


def path_fault(path: str) -> str | None:
    """Return why a text cannot be the path of a file in a repository; None if it can."""
    if not path or len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return f"must have 1 to {MAX_PATH_BYTES} bytes"
    if any(unicodedata.category(c) in _HIDDEN for c in path) or "\\" in path:
        return "contains a control or format character or a backslash"
    parts = path.split("/")
    if path.startswith("/") or any(p in {"", ".", ".."} for p in parts):
        return "must be relative, with / between names and without . or .."
    if len(parts) > MAX_DEPTH or any(len(p.encode()) > MAX_NAME_BYTES for p in parts):
        return "is too deep or has too long a name"
    if not path.isascii() and any(map(_mixes_alphabets, re.findall(r"[^\W\d_]+", path))):
        return "contains a word with letters of two alphabets that look alike"
    for part in parts:
        if part[0] in "-~" or part[-1] in " ." or _is_git_name(part):
            return f"has a name that is not allowed ({part!r})"
        if _DEVICE.fullmatch(_as_windows(part).partition(".")[0].rstrip()):
            return f"has a name that Windows reserves for a device ({part!r}); choose another one"
    return None


def _mixes_alphabets(word: str) -> bool:
    """Return True if a word contains both Latin and Cyrillic letters, many of which look the same."""
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return {"LATIN", "CYRILLIC"} <= scripts


def _is_git_name(part: str) -> bool:
    """Return True if git, HFS+ or NTFS may treat a name as one of git's own."""
    name = _as_windows(part)
    folded_name = unicodedata.normalize("NFKC", part).casefold()
    return bool(_SHORT_GIT_NAME.fullmatch(name)) or (name.startswith(".git") and folded_name not in _GIT_FILES)


def _as_windows(part: str) -> str:
    """Normalise a name as Windows does: lower case, plain letters and digits, without the ending that NTFS ignores."""
    return unicodedata.normalize("NFKC", part).casefold().partition(":")[0].rstrip(" .")


@lru_cache(maxsize=50_000)
def is_test_path(path: str) -> bool:
    """Return True if a path is a test or configures tests, by the rules of pytest, Django, JavaScript and Go."""
    name = path.rpartition("/")[2]
    stem = name.rsplit(".", 1)[0]
    return (
        name in {"conftest.py", "tests.py"}
        or name.endswith("_test.go")
        or (name.endswith(".py") and (name.startswith("test_") or stem.endswith("_test")))
        or bool(re.search(r"(^test|[._-]test|\.spec)\.[cm]?[jt]sx?$|^test-.*\.[cm]?[jt]sx?$", name))
        or bool(re.search(r"(^|/)(test|__tests__)/.*\.[cm]?[jt]sx?$", path))
    )


def is_named(path: str, words: str) -> bool:
    """Check whether a text names a file, either by the whole path or by the last part of the path."""
    name = path.rpartition("/")[2]
    return bool(words) and any(re.search(rf"(?<![\w./-]){re.escape(each)}(?![\w/-])", words) for each in (path, name))


def top_module(path: str) -> str:
    """Return the module or top-level folder by which a file of a tree is imported; a leading `src` is ignored."""
    return path.removeprefix("src/").partition("/")[0].removesuffix(".py")


def folders_of(path: str) -> list[str]:
    """List the folders above a path, outermost first, without the root."""
    return [path[:index] for index, char in enumerate(path) if char == "/"] if "/" in path else []


def at_or_below(paths: Iterable[str], places: Collection[str]) -> tuple[str, str] | None:
    """Return the first path that equals or is below an entry of `places`, together with that entry.

    Returns None if there is no such path.
    """
    if not places:
        return None
    pairs = ((path, location) for path in paths for location in (path, *folders_of(path)))
    return next(((path, location) for path, location in pairs if location in places), None)


def is_git_folder(files: Iterable[str], folders: Iterable[str]) -> bool:
    """Return True if git may treat a folder as a repository, or would after small additions.

    Whenever git is called in such a folder, it runs the programs that the folder's `config` names. A folder counts as
    soon as it contains HEAD and one other part of a repository, because another change, or one of the owner's programs,
    may add the missing parts.

    Args:
        files: Names of the folder's entries that are not folders.
        folders: Names of the folder's subfolders.
    """
    names = {_as_windows(name) for name in files}
    return "head" in names and not _OF_REPOSITORIES.isdisjoint(names | {_as_windows(name) for name in folders})


def git_folder(written: Iterable[str], paths: Collection[str]) -> str | None:
    """Return the first folder that contains a written file and that git may treat as a repository.

    Returns None if there is none.

    Args:
        written: Paths of files that are new or changed.
        paths: Paths of all files after the change, including the written ones. The root is "".
    """
    together = "\n".join(paths)  # Search all paths at once: this runs for each file of a reply, and trees may be large
    if together.isascii() and "head" not in together.lower():
        return None
    heads = {path.rpartition("/")[0] for path in paths if _is_head(path)}
    for folder in sorted(heads.intersection({around for path in written for around in ("", *folders_of(path))})):
        below = [
            path.removeprefix(f"{folder}/").split("/") for path in paths if not folder or path.startswith(f"{folder}/")
        ]
        if is_git_folder((parts[0] for parts in below if len(parts) == 1), (parts[0] for parts in below if parts[1:])):
            return folder
    return None


def _is_head(path: str) -> bool:
    return ("head" in path.lower() or not path.isascii()) and _as_windows(path.rpartition("/")[2]) == "head"


class Spellings:
    """The paths of a tree as a case-insensitive file system sees them, such as those of macOS and Windows.

    The initial paths are searched as one text, and are indexed one by one only if one of them may conflict. Indexing a
    large tree for each new file would be slow.

    Args:
        paths: The initial files.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._files = dict[str, str]()
        self._folders = dict[str, str]()
        self._first = tuple(paths)
        self._text = _fold("\0".join(("", *self._first, "")))

    def add(self, path: str) -> None:
        """Add a file."""
        self._files[_fold(path)] = path
        for folder in reversed(folders_of(path)) if "/" in path else ():
            if self._folders.setdefault(_fold(folder), path) != path:
                return

    def clash(self, path: str) -> str | None:
        """Return a file that cannot coexist with this one, or None.

        Two files conflict if they differ only by case, or if one is a folder of the other.
        """
        folded = _fold(path)
        names = (folded, *map(_fold, folders_of(path)))
        if f"\0{folded}/" in self._text or any(f"\0{name}\0" in self._text for name in names):
            first, self._first, self._text = self._first, (), ""
            for each in first:
                self.add(each)
        if (same := self._files.get(folded, path)) != path:
            return same
        if inside := self._folders.get(folded):
            return inside
        return next((file for folder in folders_of(path) if (file := self._files.get(_fold(folder)))), None)


def clash_among(paths: Iterable[str]) -> tuple[str, str] | None:
    """Return two of these files that cannot coexist, or None."""
    seen = Spellings()
    for path in paths:
        if other := seen.clash(path):
            return path, other
        seen.add(path)
    return None


def _fold(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path.casefold())
