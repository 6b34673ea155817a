"""What a reader of a change has to say about it: the findings of REVIEW and AUDIT."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Gravity(StrEnum):
    """How bad it is, the worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A finding in a change. `line` counts from 1 in the new file, 0 is none; `fix` may be empty."""

    path: str
    line: int
    gravity: Gravity
    reason: str
    fix: str = ""

    @property
    def where(self) -> str:
        """Path and line."""
        return f"{self.path}:{self.line}" if self.line else self.path
