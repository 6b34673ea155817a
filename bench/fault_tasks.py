"""Makes small tasks for the fault campaign from a table: a function to write, and its tests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# Rows: name, description, and the right and the wrong expression over `x`, a list of numbers. `{n}` is replaced by the
# task's number.
TABLE = (
    ("above", "sums what is greater than {n}", "sum(v for v in x if v > {n})", "sum(v for v in x if v >= {n})"),
    ("below", "counts what is less than {n}", "sum(1 for v in x if v < {n})", "sum(1 for v in x if v <= {n})"),
    ("shifted", "adds {n} to each number", "[v + {n} for v in x]", "[v - {n} for v in x]"),
    ("scaled", "multiplies each number by {n}", "[v * {n} for v in x]", "[v * ({n} + 1) for v in x]"),
    ("clipped", "replaces what is greater than {n} by {n}", "[min(v, {n}) for v in x]", "[max(v, {n}) for v in x]"),
    ("floored", "replaces what is less than {n} by {n}", "[max(v, {n}) for v in x]", "[min(v, {n}) for v in x]"),
    ("without", "leaves out each {n}", "[v for v in x if v != {n}]", "[v for v in x if v == {n}]"),
    ("falling", "sorts from high to low and adds {n} at the end", "sorted(x, reverse=True) + [{n}]",
     "sorted(x) + [{n}]"),
    ("spread", "gives the greatest less the least plus {n}", "max(x, default=0) - min(x, default=0) + {n}",
     "max(x, default=0) + min(x, default=0) + {n}"),
    ("nearest", "gives the number nearest to {n}, or {n}", "min(x, key=lambda v: (abs(v - {n}), v), default={n})",
     "max(x, key=lambda v: (abs(v - {n}), v), default={n})"),
)  # fmt: skip


class Fate(StrEnum):
    """The ending that a task of the campaign must reach."""

    COMMITTED = "committed"
    GAVE_UP = "gave_up"
    DEPENDENCY = "dependency"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One task of the campaign.

    `n` is its number. `fate` is the only ending that is right. `needs` is the number of the job that it depends on, or
    None.
    """

    n: int
    fate: Fate
    needs: int | None = None

    @property
    def name(self) -> str:
        """Name of the function that the task asks for."""
        return TABLE[self.n % len(TABLE)][0]

    @property
    def file(self) -> str:
        """Name of the module's file."""
        return f"{self.name}_{self.n}.py"

    @property
    def task(self) -> dict[str, object]:
        """The task as the body of a request to the API, without its dependency."""
        does = TABLE[self.n % len(TABLE)][1].format(n=self.n)
        limits = {"iterations": 3} if self.fate is Fate.GAVE_UP else {}
        return {
            "description": f"Write {self.name}(x) in {self.file} (job {self.n:03}): it {does}",
            "tests": {f"test_{self.file}": self._tests()},
            "key": f"job-{self.n}",
            "limits": limits,
        }

    def code(self, *, right: bool) -> str:
        """Return the module's code, right or wrong."""
        expression = TABLE[self.n % len(TABLE)][2 if right else 3].format(n=self.n)
        return f"def {self.name}(x):\n    return {expression}\n"

    def _tests(self) -> str:
        right = eval(f"lambda x: {TABLE[self.n % len(TABLE)][2].format(n=self.n)}")
        cases = [[self.n, self.n + 1, self.n - 1], [], [self.n - 7, self.n + 5]]
        lines = [f"from {self.name}_{self.n} import {self.name}"]
        for number, case in enumerate(cases):
            lines += ["", "", f"def test_case_{number}():", f"    assert {self.name}({case!r}) == {right(case)!r}"]
        return "\n".join(lines) + "\n"


def jobs(count: int) -> list[Job]:
    """Make `count` jobs: of every twenty, one never passes, two depend on other jobs, and one is cancelled."""
    batch = []
    for n in range(1, count + 1):
        position = n % 20
        fate = {5: Fate.GAVE_UP, 6: Fate.DEPENDENCY, 11: Fate.USER}.get(position, Fate.COMMITTED)
        batch.append(Job(n=n, fate=fate, needs=n - 1 if position in {6, 16} else None))
    return batch
