"""A copy of a task's files on disk, in which untrusted code may do anything.

The copy is read only after all processes of the agent have ended. Symbolic links to folders or files are never
followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nightshift.core.code.ignore_files import NAME, IgnoreRules
from nightshift.core.code.paths import MAX_FILES, MAX_TOTAL_CHARS, path_fault

LEFT_OUT = frozenset({
    ".git", "__pycache__", ".pytest_cache", ".hypothesis", "node_modules", ".mypy_cache", ".ruff_cache", ".venv",
    "venv", ".tox", ".cache", ".npm",
})  # fmt: skip
"""Folders that tools create.

New files in these folders are not part of a change. New files that a `.gitignore` names are not part of it either.
"""
LEFT_OUT_ENDS = (".pyc", ".egg-info", ".orig", ".rej", ".swp")
_NOT_QUOTED = frozenset('"`')
MOST_READ = 8 << 20
"""Maximum size of a changed file, in bytes."""
MOST_ENTRIES = 200_000
MOST_DROPPED = 40


class OutsideCopy(OSError):
    """The entry at a path of the copy is not an ordinary file, or its change cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """The changes in a copy.

    Attributes:
        files: maps each changed path to its new text, or to None for a deleted file.
        dropped: maps each ignored path to the reason.
    """

    files: Mapping[str, str | None] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)


class WorkingCopy:
    """A copy of files in one folder. `lay_out` must be called first.

    Args:
        folder: path of the copy; `lay_out` creates the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = dict[str, tuple[int, str]]()

    def lay_out(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write the files to the folder."""
        self.folder.mkdir(parents=True)
        for path, content in files:
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if content.startswith(b"#!") else 0o644)
            self._before[path] = (len(content), _digest(content))

    def harvest(self) -> Harvest:
        """Return what has changed since the files were laid out. No process may still be changing the copy."""
        files, dropped, seen = dict[str, str | None](), dict[str, str](), set[str]()
        chars = 0
        for path, entry in self._walk():
            seen.add(path)
            try:
                if (text := self._read_change(path, entry)) is None:
                    continue
                chars += len(text)
                if len(files) >= MAX_FILES:
                    raise OutsideCopy(f"the change has more than {MAX_FILES} files")
                if chars > MAX_TOTAL_CHARS:
                    raise OutsideCopy("the change is too large")
                files[path] = text
            except OutsideCopy as why:
                if len(dropped) < MOST_DROPPED:
                    dropped[path] = str(why)
        files |= dict.fromkeys(sorted(self._before.keys() - seen))
        return Harvest(files=files, dropped=dropped)

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield all entries that are not folders.

        New entries that belong to tools or that the repository ignores are left out.
        """
        count, rules = 0, IgnoreRules()
        for root, folders, names in os.walk(self.folder):
            below = Path(os.path.relpath(root, self.folder))
            if NAME in names:
                rules.add(str(below / NAME), self._read_rules(str(below / NAME)))
            links = [name for name in folders if Path(root, name).is_symlink()]
            folders[:] = sorted(
                name for name in folders if not self._is_left_out(str(below / name), rules, folder=True)
            )
            for name in sorted((*names, *links)):
                path = str(below / name)
                count += 1
                if count > MOST_ENTRIES:
                    raise OutsideCopy(f"the agent left more than {MOST_ENTRIES:,} files behind")
                if path in self._before or not self._is_left_out(path, rules):
                    yield path, Path(root, name).lstat()

    def _is_left_out(self, path: str, rules: IgnoreRules, *, folder: bool = False) -> bool:
        """Check whether a new entry belongs to a tool or is ignored by the repository.

        Such an entry is no part of the change.
        """
        name = path.rpartition("/")[2]
        if name not in LEFT_OUT and not name.endswith(LEFT_OUT_ENDS) and not rules.ignore(path, folder=folder):
            return False
        return not any(f"{before}/".startswith(f"{path}/") for before in self._before)

    def _read_rules(self, path: str) -> str:
        """Return the text of an ignore file. A file that cannot be read counts as empty, as with git."""
        try:
            return self._read(path, MOST_READ).decode("utf-8", "surrogateescape")
        except OSError:
            return ""

    def _read_change(self, path: str, entry: os.stat_result) -> str | None:
        """Return the new text of a file, or None if the file is unchanged.

        Raises:
            OutsideCopy: the change cannot be used.
        """
        size, digest = self._before.get(path, (-1, ""))
        if not stat.S_ISREG(entry.st_mode):
            raise OutsideCopy("is not a regular file")
        if path not in self._before and (fault := path_fault(path)):
            raise OutsideCopy(fault)
        if set(path) & _NOT_QUOTED:
            raise OutsideCopy("has a name that a reply cannot contain")
        if entry.st_size > MOST_READ and entry.st_size != size:
            raise OutsideCopy("is too large")
        try:
            content = self._read(path, max(MOST_READ, size))
            return None if len(content) == size and _digest(content) == digest else content.decode()
        except UnicodeDecodeError:
            raise OutsideCopy("is not text") from None
        except OSError as error:
            raise OutsideCopy(f"cannot be read: {error}") from None

    def _read(self, path: str, most: int) -> bytes:
        """Read a file without following a link.

        `_walk` has already excluded folders that are links. The file is opened in non-blocking mode, so a pipe at the
        path cannot hang the read.
        """
        file = os.open(self.folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as stream:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                raise OutsideCopy(f"{path} is not a regular file, or is larger than {most >> 20} MB")
            return stream.read(most)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
