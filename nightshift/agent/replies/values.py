"""The values that a reply is read as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nightshift.core.errors import BadReply


class CutReply(BadReply):
    """The reply was cut off at the model's length limit before it held anything complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the one place where `search` stands by `replace`; both are whole lines, each ended by a newline.

    Of several places that at the end of the file is meant if `at_end`, else the first below the lines that begin with
    `below`, outer ones first. An empty `search` is for an empty file; with `at_end` it adds to any.
    """

    path: str
    search: str
    replace: str
    below: tuple[str, ...] = ()
    at_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The usable part of a reply, and what was refused of it.

    Every path has passed `core.tasks.submission.path_fault`. `moves` has new names by old ones, which edits use.
    `complaints` are sentences for the model. `cut` tells that
    the reply ended at the length limit: what is here is complete, but more was to come.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    deletions: tuple[str, ...] = ()
    moves: Mapping[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    cut: bool = False

    @property
    def empty(self) -> bool:
        """Nothing usable is in it."""
        return not (self.files or self.edits or self.deletions or self.moves)
