"""The values into which a reply is parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An edit that replaces the text `search` in a file with `replace`.

    Both texts are whole lines, each ending with a newline.

    If `search` occurs several times, `at_end` selects the occurrence at the end of the file. Otherwise the first
    occurrence below the lines that begin with the texts in `below` is used; outer lines come first in `below`. An empty
    `search` is only for an empty file or, with `at_end`, for appending to any file.
    """

    path: str
    search: str
    replace: str
    below: tuple[str, ...] = ()
    at_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The usable part of a reply, and complaints about the rest.

    Every path has passed `core.code.paths.path_fault`. `moves` maps old names, which edits use, to new ones.
    `complaints` are sentences for the model. `cut` means that the reply ended at the length limit: the parsed parts are
    complete, but more was to come.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    deletions: tuple[str, ...] = ()
    moves: Mapping[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    cut: bool = False

    @property
    def empty(self) -> bool:
        """True if nothing usable is in the reply."""
        return not (self.files or self.edits or self.deletions or self.moves)
