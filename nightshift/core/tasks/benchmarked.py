"""Values that an owner adopts from a repository's benchmark: a model's best settings there, and its solve rate.

The settings are three: the form of the model's changes, whether it explores with tools, and whether readers check its
changes. Only settings that the benchmark has compared are adopted; the others stay the owner's. The rate was measured
under all three, so it is valid for the model only if all three apply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from nightshift.core.tasks.task import Explore

Protocol = Literal["auto", "whole", "edit"]


class Compared(StrEnum):
    """A setting that may differ between arms of a model."""

    PROTOCOL = "protocol"
    TOOLS = "tools"
    READERS = "readers"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """A model's way of working on a task. None in `explore`, `review` or `audit` leaves the choice to the settings."""

    protocol: str
    explore: Explore | None
    review: bool | None
    audit: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarked:
    """Result of a benchmark for a model in one repository, from the arm that did best.

    Attributes:
        model: The model, as `backend=model`.
        arm: The name of the arm.
        solved: The number of items that it solved.
        items: The number of items that it worked on.
        at: The end of its last attempt; aware, UTC.
        protocol: The form of its changes (`auto`, `whole` or `edit`).
        tools: Whether it explored and edited in steps.
        readers: Whether a reviewer and an auditor read its changes.
        taken: Which of the three settings apply to tasks that the model begins.
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
        """The adopted settings, as text."""
        words = {
            Compared.PROTOCOL: {"whole": "whole files", "edit": "edits"}.get(self.protocol, "whole files or edits"),
            Compared.TOOLS: "tools" if self.tools else "no tools",
            Compared.READERS: "readers" if self.readers else "no readers",
        }
        return ", ".join(words[compared] for compared in Compared if compared in self.taken)

    def over(self, settings: WorkSettings) -> WorkSettings:
        """Return the settings for a task that the model begins; settings of the task itself have priority."""
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
        """Return True if the result was measured under these settings, which must leave nothing open."""
        explores = held.explore in {Explore.AUTO, Explore.ON if self.tools else Explore.OFF}
        return explores and self.protocol == held.protocol and self.readers == bool(held.review or held.audit)
