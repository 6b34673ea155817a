"""A problem on its way to a finding: what is known, what was tried, how much time is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from core.tasks import Change
from repair import telling
from repair.evaluation import Sight, TrialJob
from repair.files import Sources
from repair.problem import Finding, Problem, Progress, Tell
from repair.quick import Mend
from repair.rendering import render
from repair.variants import Variant


@dataclass(slots=True, kw_only=True)
class State:
    """`job` grows by the quick `mends` that were taken; `deadline` is one of `time.monotonic()`."""

    problem: Problem
    tell: Tell
    job: TrialJob
    began: float = field(default_factory=time.monotonic)
    sources: Sources = field(default_factory=Sources)
    sight: Sight = field(default_factory=Sight)
    mends: list[Mend] = field(default_factory=list)
    tried: int = 0
    estimated: int = 0
    saw_held_out: bool = False

    @property
    def deadline(self) -> float:
        """When the search must be over."""
        return self.began + self.problem.budget_s

    @property
    def left_s(self) -> float:
        """The time that is left."""
        return self.deadline - time.monotonic()

    @property
    def is_fine(self) -> bool:
        """Whether tests ran and none of them fails."""
        return bool(self.sight.tests) and not self.sight.failing and not self.sight.broken

    def say(self, text: str) -> None:
        """One line of progress."""
        self.tell(Progress(tried=self.tried, estimated=self.estimated, text=text))

    def hear(self, progress: Progress) -> None:
        """Pass a search's progress on, with what was tried before it."""
        self.tell(replace(progress, tried=progress.tried + self.tried))

    def rendered(self, variant: Variant) -> Change:
        """A variant, and the mends below it, in the text of their files."""
        mended = {mend.path: self.sources.texts[mend.path] for mend in self.mends}
        return {**mended, variant.path: render(self.sources.texts[variant.path], variant.tree)}

    def accepts(self, variant: Variant) -> bool:
        """Whether a variant is none that a suite has refused."""
        return not self.problem.excluded or not self.problem.refuses(self.rendered(variant))

    def finding(self, change: Change, kind: str, told: str, warning: str = "") -> Finding:
        """A change that passes."""
        return replace(
            self.nothing(""), change=change, kind=kind, told=told, warning=warning,
            plan=telling.plan(self.sources.trees, self.sight, told), reflection=telling.refused(self.problem),
        )  # fmt: skip

    def nothing(self, why: str) -> Finding:
        """Nothing, and why."""
        return Finding(
            plan=telling.plan(self.sources.trees, self.sight, ""),
            reflection=telling.refused(self.problem) or why,
            tried=self.tried,
            estimated=max(self.estimated, self.tried),
            seconds=time.monotonic() - self.began,
            why_not=why,
            saw_held_out=self.saw_held_out,
        )
