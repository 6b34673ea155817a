"""Puts a close look at a suite together from what its run reported, under the names that its owner knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from core.trials import Call, How, Observed, Sight, Trouble
from repair.trials import reading
from verdict.answer import Trial
from verdict.plan import Plan
from verdict.shaping import Names

MOST_LINES = 100_000


def sight(trial: Trial | None, plan: Plan, names: Names) -> Sight:
    """What was seen; when not even the tests could be collected, each of their files counts as broken."""
    look = _Look(names)
    for row in reading.rows(trial):
        look.take(row)
    if not look.tests and not look.broken:
        why = Trouble(kind="Timeout" if trial and trial.how == "timeout" else "Crash", message="no test was collected")
        return Sight(broken={file.path: why for file in plan.files})
    return look.sight()


class _Look:
    """Takes the lines of a run one by one; what has another form is passed over."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.tests: dict[int, Observed] = {}
        self.broken: dict[str, Trouble] = {}
        self._lines: dict[int, Mapping[str, frozenset[int]]] = {}
        self._kinds: dict[str, dict[str, frozenset[str]]] = {}
        self._calls: dict[int, list[Call]] = {}

    def take(self, row: list[Any]) -> None:
        known: dict[str, Callable[..., None]] = {"broken": self._broken, "test": self._test, "watched": self._watched}
        if row[0] in known:
            try:
                known[row[0]](*row[1:])
            except (ValueError, TypeError, KeyError, AttributeError):
                return

    def sight(self) -> Sight:
        ran = dict(sorted(self.tests.items()))
        ordered = sorted(ran, key=lambda number: ran[number].passed)
        return Sight(
            tests=tuple(self._with_lines(number, test) for number, test in ran.items()),
            broken=self.broken,
            kinds=self._kinds,
            calls=tuple(call for number in ordered for call in self._calls.get(number, ())),
        )

    def _with_lines(self, number: int, test: Observed) -> Observed:
        return replace(test, lines=self._lines.get(number, {}))

    def _broken(self, name: str, details: Any) -> None:
        self.broken[self._names.id(name)] = reading.trouble(details, self._names, tests=True)

    def _test(self, number: int, name: str, how: str, seconds: float, steps: int, details: Any) -> None:
        if how == "skipped":
            return
        trouble = reading.trouble(details, self._names, tests=False) if details else None
        self.tests[int(number)] = Observed(
            id=self._names.id(name), how=How(how), duration_s=float(seconds), steps=int(steps), trouble=trouble
        )

    def _watched(self, number: int, lines: Any, kinds: Any, calls: Any) -> None:
        self._lines[int(number)] = {str(path): _bits(text) for path, text in lines.items() if text != "0x0"}
        for place, names in kinds.items():
            seen = self._kinds.setdefault(str(place), {})
            for name, found in names.items():
                seen[str(name)] = seen.get(str(name), frozenset()) | frozenset(map(str, found))
        self._calls[int(number)] = [
            Call(path=str(path), scope=str(scope), args=args, kwargs=named) for path, scope, args, named in calls
        ]


def _bits(text: str) -> frozenset[int]:
    """The numbers of the bits that are set in a hexadecimal number."""
    if len(text) > MOST_LINES // 4:
        raise ValueError("too many lines")
    return frozenset(place for place, bit in enumerate(reversed(f"{int(text, 16):b}")) if bit == "1")
