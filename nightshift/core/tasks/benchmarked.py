"""Values that an owner takes over from a repository's benchmark: a model's best settings there, and its solve rate.

The settings are three: the form of the model's changes, whether it looks around with tools, and whether readers look
at its changes. Taken over are those that the benchmark has compared; the others are the owner's. The rate was measured
under all three, so it says something of the model only where all three hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from nightshift.core.tasks.task import Explore

Protocol = Literal["auto", "whole", "edit"]


class Compared(StrEnum):
    """A setting in which arms of a model may differ."""

    PROTOCOL = "protocol"
    TOOLS = "tools"
    READERS = "readers"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """How a model works on a task; of `explore`, `review` and `audit` None leaves it to the settings."""

    protocol: str
    explore: Explore | None
    review: bool | None
    audit: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarked:
    """Result of a benchmark for a model in one repository, by the arm that did best.

    Attributes:
        model: as `backend=model`.
        arm: the name of the arm.
        solved: the items that it solved.
        items: the items that it worked on.
        at: when its last attempt ended; aware, UTC.
        protocol: the form of its changes (`auto`, `whole` or `edit`).
        tools: whether it looked around and edited in steps.
        readers: whether a reviewer and an auditor read its changes.
        taken: which of the three shall hold for tasks that it begins.
    """

    model: str
    arm: str
    solved: int
    items: int
    at: datetime
    protocol: str
    tools: bool
    readers: bool
    taken: tuple[Compared, ...] = ()

    @property
    def summary(self) -> str:
        """The settings that are taken over, in words."""
        words = {
            Compared.PROTOCOL: {"whole": "whole files", "edit": "edits"}.get(self.protocol, "whole files or edits"),
            Compared.TOOLS: "tools" if self.tools else "no tools",
            Compared.READERS: "readers" if self.readers else "no readers",
        }
        return ", ".join(words[compared] for compared in Compared if compared in self.taken)

    def over(self, settings: WorkSettings) -> WorkSettings:
        """The settings for a task that the model begins; what is said of the task itself goes first."""
        held, taken = settings, self.taken
        if Compared.PROTOCOL in taken:
            held = replace(held, protocol=self.protocol)
        if Compared.TOOLS in taken and held.explore is None:
            held = replace(held, explore=Explore.ON if self.tools else Explore.OFF)
        if Compared.READERS in taken:
            review = self.readers if held.review is None else held.review
            held = replace(held, review=review, audit=self.readers if held.audit is None else held.audit)
        return held

    def is_of(self, held: WorkSettings) -> bool:
        """Tell whether it was measured under these settings, in which nothing is left open."""
        explores = held.explore in {Explore.AUTO, Explore.ON if self.tools else Explore.OFF}
        return explores and self.protocol == held.protocol and self.readers == bool(held.review or held.audit)
