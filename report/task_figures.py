"""The figures on tasks: how they ended, at which try, how long they took and waited, and why those failed that did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.shares import Share
from core.states import Ending, Status
from db.report_queries import EndedTask
from report.plots import Part, Tone
from report.stats import Spread, counted, spread

SLOWEST, EXAMPLES = 5, 4
_TONES = {Ending.COMMITTED: Tone.GOOD, Ending.NO_CHANGE: Tone.PLAIN, Ending.USER: Tone.DIM}


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFigures:
    """The ended tasks of one kind; empty for tasks that name none."""

    kind: str
    done: Share
    first_try: Share
    iterations: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedGroup:
    """Failed tasks that ended alike and give the same reason, numbers aside; a few of them as examples."""

    ending: Ending
    reason: str
    count: int
    tasks: Sequence[EndedTask]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """The tasks that ended in the span. `first_try` are done tasks that needed one attempt and one iteration."""

    submitted: int
    open_at_end: int
    by_status: Mapping[Status, int]
    by_ending: Mapping[Ending, int]
    kinds: Sequence[KindFigures]
    first_try: int
    iterations: Spread
    duration_s: Spread
    queue_wait_s: Spread
    work_s: float
    """Of all together, first start to end."""
    slowest: Sequence[EndedTask]
    failed: Sequence[FailedGroup]

    @property
    def ended(self) -> int:
        """All that ended, however."""
        return sum(self.by_status.values())

    @property
    def endings(self) -> list[Part]:
        """How many ended in which way, the good ones first."""
        parts = [
            Part(name=ending.replace("_", " "), count=count, tone=_TONES.get(ending, Tone.BAD))
            for ending, count in self.by_ending.items()
        ]
        return sorted(parts, key=lambda part: list(Tone).index(part.tone))

    def count(self, status: Status) -> int:
        """How many ended so."""
        return self.by_status.get(status, 0)

    @property
    def success(self) -> Share:
        """Done, of those that ended as done or failed: what its owner cancelled tells nothing about the agent."""
        return Share(part=self.count(Status.DONE), whole=self.count(Status.DONE) + self.count(Status.FAILED))


def fold(ended: Sequence[EndedTask], *, submitted: int, open_at_end: int) -> TaskFigures:
    """The figures of the tasks that ended in a span; each task once."""
    worked = [task for task in ended if task.started_at]
    durations = [duration_s(task) for task in worked]
    return TaskFigures(
        submitted=submitted,
        open_at_end=open_at_end,
        by_status=counted(task.status for task in ended),
        by_ending=counted(task.ending for task in ended if task.ending),
        kinds=[_kind(kind, [t for t in ended if t.kind == kind]) for kind in counted(task.kind for task in ended)],
        first_try=sum(map(at_first_try, ended)),
        iterations=spread(float(task.iterations) for task in worked),
        duration_s=spread(durations),
        queue_wait_s=spread(map(wait_s, worked)),
        work_s=sum(durations),
        slowest=sorted(worked, key=lambda task: (-duration_s(task), task.id))[:SLOWEST],
        failed=_failed(ended),
    )


def last_ends(ended: Iterable[EndedTask]) -> list[EndedTask]:
    """Each task once, as it ended last, by id."""
    last: dict[int, EndedTask] = {}
    for task in ended:
        if task.id not in last or last[task.id].ended_at <= task.ended_at:
            last[task.id] = task
    return [last[number] for number in sorted(last)]


def at_first_try(task: EndedTask) -> bool:
    """Tell whether it is done, and needed one attempt and one iteration."""
    return task.status is Status.DONE and task.attempt <= 1 and task.iterations <= 1


def duration_s(task: EndedTask) -> float:
    """Seconds from a started task's first start to its end."""
    assert task.started_at is not None
    return (task.ended_at - task.started_at).total_seconds()


def wait_s(task: EndedTask) -> float:
    """Seconds from when a started task might have begun to when it did; a rest before a later try is no wait."""
    assert task.started_at is not None
    asked = task.not_before if task.not_before and task.not_before <= task.started_at else task.created_at
    return max(0.0, (task.started_at - max(asked, task.created_at)).total_seconds())


def _kind(kind: str, tasks: Sequence[EndedTask]) -> KindFigures:
    done = sum(task.status is Status.DONE for task in tasks)
    judged = sum(task.status in {Status.DONE, Status.FAILED} for task in tasks)
    return KindFigures(
        kind=kind,
        done=Share(part=done, whole=judged),
        first_try=Share(part=sum(map(at_first_try, tasks)), whole=done),
        iterations=spread(float(task.iterations) for task in tasks if task.started_at),
    )


def _failed(ended: Iterable[EndedTask]) -> list[FailedGroup]:
    groups: dict[tuple[Ending, str], list[EndedTask]] = {}
    for task in ended:
        if task.status is Status.FAILED and task.ending:
            groups.setdefault((task.ending, reason_of(task)), []).append(task)
    order = Counter({key: len(tasks) for key, tasks in groups.items()})
    ranked = sorted(groups, key=lambda key: (-order[key], str(key[0]), key[1]))
    return [
        FailedGroup(ending=key[0], reason=key[1], count=len(groups[key]), tasks=groups[key][:EXAMPLES])
        for key in ranked
    ]


def reason_of(task: EndedTask) -> str:
    """The reason's first sentence, with figures and quoted names taken out, so that like reasons are one."""
    first = task.reason.strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    words = ("…" if any(c.isdigit() for c in word) or word[:1] in {"'", '"', "`"} else word for word in first.split())
    return " ".join(words) or "no reason was given"
