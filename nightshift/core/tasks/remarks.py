"""Remarks: what the readers of a change found in phases REVIEW and AUDIT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Gravity(StrEnum):
    """Severity of a remark, the worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


GRAVE = frozenset({Gravity.CRITICAL, Gravity.HIGH})
"""Severities of remarks that are shown wherever a change is shown, as long as the remarks are open."""


class Reader(StrEnum):
    """The roles of models that read a change before it is tested."""

    REVIEW = "review"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark of a reader about a change. `line` counts from 1 in the new file; 0 means no line. `fix` may be empty.

    `path` is the path that the reader wrote. If it is not a file of the change, the remark is about the change as a
    whole.
    """

    path: str
    line: int
    gravity: Gravity
    reason: str
    fix: str = ""
    reader: Reader = Reader.REVIEW

    @property
    def where(self) -> str:
        """The path and the line, as a text."""
        return f"{self.path}:{self.line}" if self.line else self.path

    def __str__(self) -> str:
        """Return the remark as one line."""
        return f"{self.gravity} ({self.reader}): {self.where}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The remarks of a reader about one change; `change` is the digest of the change.

    `parts` counts the pieces in which the change was read. `unread` says why a piece was not read; empty if all were
    read.
    """

    reader: Reader
    change: str
    found: tuple[Remark, ...] = ()
    parts: int = 0
    unread: str = ""


def mask_remarks(
    remarks: Iterable[Remark], mask: Callable[[str], str], full: Callable[[str], str] = str
) -> tuple[Remark, ...]:
    """Return the remarks with secrets masked, because a model may repeat a secret.

    `full` converts paths to paths of the repository.
    """
    return tuple(
        replace(remark, path=mask(full(remark.path)), reason=mask(remark.reason), fix=mask(remark.fix))
        for remark in remarks
    )


def worst_first(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return the remarks without duplicates, sorted by severity and then by location."""
    order = list(Gravity)
    return tuple(
        sorted(dict.fromkeys(remarks), key=lambda remark: (order.index(remark.gravity), remark.path, remark.line))
    )


def count_by_gravity(remarks: Iterable[Remark]) -> str:
    """Count remarks by severity, such as `1 critical, 2 high`; empty if there are none."""
    counts = Counter(remark.gravity for remark in remarks)
    return ", ".join(f"{counts[gravity]} {gravity}" for gravity in Gravity if counts[gravity])
