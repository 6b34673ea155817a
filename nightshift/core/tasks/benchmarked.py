"""Results that an owner adopts from a repository's benchmark: a model's best settings there, and its solve rate.

There are three settings: the form of the model's changes, whether the model explores with tools, and whether a reviewer
and an auditor read its changes. Only settings that the benchmark has compared are adopted; the others stay as the owner
set them. The rate was measured under all three settings, so it is valid for the model only if all three apply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from nightshift.core.tasks.task import Explore

Protocol = Literal["auto", "whole", "edit"]


class Compared(StrEnum):
    """A setting that may differ between two arms (configurations that the benchmark compares) of a model."""

    PROTOCOL = "protocol"
    TOOLS = "tools"
    READERS = "readers"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """How a model works on a task. If `explore`, `review` or `audit` is None, the global settings decide."""

    protocol: str
    explore: Explore | None
    review: bool | None
    audit: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmarked:
    """Benchmark result of a model in one repository, from the arm that did best.

    Attributes:
        model: The model, as `backend=model`.
        arm: The name of the arm.
        solved: The number of items that the arm solved.
        items: The number of items that the arm worked on.
        at: The end of the arm's last attempt, in UTC with a time zone.
        protocol: The form of the model's changes (`auto`, `whole` or `edit`).
        tools: Whether the model explored and edited with tools.
        readers: Whether a reviewer and an auditor read the model's changes.
        taken: Those of the settings `protocol`, `tools` and `readers` that apply to tasks that the model begins.
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
        """A description of the adopted settings."""
        words = {
            Compared.PROTOCOL: {"whole": "whole files", "edit": "edits"}.get(self.protocol, "whole files or edits"),
            Compared.TOOLS: "tools" if self.tools else "no tools",
            Compared.READERS: "readers" if self.readers else "no readers",
        }
        return ", ".join(words[compared] for compared in Compared if compared in self.taken)

    def over(self, settings: WorkSettings) -> WorkSettings:
        """Return the settings for a task that the model begins.

        Settings that the task itself gives override the adopted ones.
        """
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
        """Return True if the result was measured under these settings, none of which may be None."""
        explores = held.explore in {Explore.AUTO, Explore.ON if self.tools else Explore.OFF}
        return explores and self.protocol == held.protocol and self.readers == bool(held.review or held.audit)
