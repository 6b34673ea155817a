"""The values that a reply is read as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nightshift.core.errors import BadReply


class CutReply(BadReply):
    """The reply was cut off at the model's length limit before it held anything complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the one place where `search` stands by `replace`; both are whole lines, each ended by a newline."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The usable part of a reply, and what was refused of it.

    Every path has passed `core.tasks.submission.path_fault`. `complaints` are sentences for the model. `cut` tells that
    the reply ended at the length limit: what is here is complete, but more was to come.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    deletions: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    cut: bool = False

    @property
    def empty(self) -> bool:
        """Nothing usable is in it."""
        return not (self.files or self.edits or self.deletions)
