"""The current files of a task: a commit's tree with a change applied on top."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from nightshift.agent.file_form import readable
from nightshift.agent.replies.names import without_label
from nightshift.core.code.paths import Spellings, at_or_below, git_folder
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.tasks.task import Change
from nightshift.core.text.encoding import decode

MAX_READ_BYTES = 2_000_000


class View:
    """Reads files from the base and the change together; the change takes precedence.

    Args:
        tree: the tree of the base commit.
        change: the new text of each changed file, by path; None for a removed file.
    """

    def __init__(self, tree: Tree, change: Change) -> None:
        self.tree, self.change = tree, change

    def paths(self) -> list[str]:
        """Return all paths, sorted."""
        entries = self.tree.entries()
        if not self.change:
            return list(entries)
        gone = {path for path, text in self.change.items() if text is None}
        remaining = [path for path in entries if path not in gone] if gone else list(entries)
        new = [path for path, text in self.change.items() if text is not None and path not in entries]
        return sorted(remaining + new) if new else remaining

    def count(self) -> int:
        """Return the number of files."""
        entries = self.tree.entries()
        gone = sum(1 for path, text in self.change.items() if text is None and path in entries)
        new = sum(1 for path, text in self.change.items() if text is not None and path not in entries)
        return len(entries) - gone + new

    def __contains__(self, path: object) -> bool:
        path = self.spell(str(path))
        if path in self.change:
            return self.change[path] is not None
        return path in self.tree.entries()

    def spell(self, path: str) -> str:
        """Return the path in the spelling of the existing file.

        Names that were created on macOS use another Unicode form (NFD). A leading word such as “File” is removed as a
        label, unless there is a folder of that name.
        """
        if path in self.change or path in self.tree.entries():
            return path
        if (bare := without_label(path)) != path and at_or_below(self.paths(), [path.partition("/")[0]]) is None:
            return self.spell(bare)
        if path.isascii():
            return path
        composed = unicodedata.normalize("NFC", path)
        same = (each for each in self.paths() if not each.isascii() and unicodedata.normalize("NFC", each) == composed)
        return next(same, composed)

    def text(self, path: str) -> str | None:
        """Return a file's readable text; None if it is missing, binary or too large to be shown to a model."""
        path = self.spell(path)
        if path in self.change:
            return None if (text := self.change[path]) is None else readable(text)
        return base_text(self.tree, path)

    def raw(self, path: str) -> str | None:
        """Return a file's complete text as a change stores it, also of a binary file; None if the file is missing."""
        return self.change[path] if path in self.change else text_of(self.tree, path)


def find_misplacement(path: str, view: View, *, new: bool = True) -> str | None:
    """Return why a file may not be written at this path, or None if it may.

    Args:
        path: a valid path.
        view: the existing files.
        new: True if a text is to be written, False if a file is to be removed.
    """
    if obstacle := at_or_below((path,), view.tree.unwritable()):
        return f"lies at or below {obstacle[1]!r}, a symbolic link or a submodule; those are never written"
    if not new:
        return None
    paths = view.paths()
    if path not in view and (other := Spellings(paths).clash(path)):
        return f"cannot exist beside {other!r}: one would be a folder of the other, or only case differs"
    folder = git_folder((path,), [*paths, path])
    return None if folder is None else f"is refused: git would take the folder {folder or '.'!r} for a repository"


def base_text(tree: Tree, path: str) -> str | None:
    """Return the text of a file in the base; None if it is missing, binary or too large, as in `View.text`."""
    if path not in tree.entries():
        return None
    raw = tree.read(path)
    return None if len(raw) > MAX_READ_BYTES else readable(decode(raw))


def settle(tree: Tree, change: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the change in path order, without entries that equal the base: equal work gives an equal change."""
    entries = tree.entries()
    return {
        path: text
        for path, text in sorted(change.items())
        if (path in entries if text is None else text != text_of(tree, path))
    }
