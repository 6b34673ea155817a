"""What searches left: variants that passed the tests and were not answered yet, for the case that a suite refuses one.

A change that a suite has refused is the answer to a search that began elsewhere. Going on from there would mend the
wrong mend; so a problem whose change is a known answer is taken back to where that search began.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.tasks import Change, digest
from core.tree import text_of
from repair.evaluation import TrialJob
from repair.problem import Finding, Problem

REMEMBERED = 64


@dataclass(slots=True)
class Origin:
    """Where a search began, and what it found besides its answer."""

    job: TrialJob
    left: list[Finding]


class Memory:
    """Remembers the searches of the last tasks."""

    def __init__(self) -> None:
        self._origins: OrderedDict[tuple[int, str], Origin] = OrderedDict()

    def origin(self, problem: Problem) -> Origin | None:
        """The search whose answer is this problem's change, or that began there; None where there is none."""
        if problem.task_id is None:
            return None
        return self._origins.get((problem.task_id, digest(problem.job.change)))

    def keep(self, problem: Problem, job: TrialJob, findings: Sequence[Finding]) -> None:
        """Remember what a search on `job` found; the first is what was answered."""
        if problem.task_id is None or findings[0].change is None:
            return
        origin = Origin(job, list(findings[1:]))
        self._origins[problem.task_id, digest(job.change)] = origin
        for finding in findings:
            self._origins[problem.task_id, digest({**job.change, **(finding.change or {})})] = origin
        while len(self._origins) > REMEMBERED:
            self._origins.popitem(last=False)

    def next_of(self, origin: Origin, problem: Problem) -> Finding | None:
        """The next variant that no suite has refused, as a change on top of the problem's."""
        while origin.left:
            finding = origin.left.pop(0)
            whole = replace(problem, job=origin.job)
            if finding.change is not None and not whole.refuses(finding.change):
                return replace(finding, change=rebased(finding.change, origin.job, problem.job), seconds=0.0)
        return None


def rebased(change: Change, origin: TrialJob, now: TrialJob) -> Change:
    """A change of `origin` as one of `now`: what differs between the two is put back first."""
    back = dict[str, str | None]()
    for path in origin.change.keys() | now.change.keys():
        if path in origin.change:
            back[path] = origin.change[path]
        else:
            back[path] = text_of(origin.base, path)
    differs = {path: text for path, text in back.items() if now.change.get(path, "\0") != text}
    return {**differs, **change}
