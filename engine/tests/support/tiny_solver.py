"""A solver for tests of the code around the engine: it swaps one operator for another, and really runs the tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from nightshift.core.code.tree import FileTree
from nightshift.core.dialogue import Material, Message, ModelRequest
from nightshift.core.events import Event
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift_engine.problem import Finding, OnProgress, Problem, Progress
from tests.support.agent_parts import PlainSuite, case_for

BUGGY = "# the sum\ndef add(a, b):\n    return a - b\n"
MENDED = "# the sum\ndef add(a, b):\n    return a + b\n"
TESTS = {
    "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n    assert add(0, 1) == 1\n"
}
SWAPS = ((" - ", " + "), (" - ", " * "), (" < ", " <= "), (" + ", " * "), (" = 0", " = 1"))


class TinySolver:
    """Tries one swap of operators at a time, in every file of the change.

    Attributes:
        problems: the problems that the solver was given.
        slow_s: seconds that the solver waits before it begins; if it has less time, it gives up.
    """

    def __init__(self, slow_s: float = 0.0) -> None:
        self.problems: list[Problem] = []
        self.slow_s = slow_s

    async def __call__(self, problem: Problem, tell: OnProgress) -> Finding:
        """Look for a swap that lets all tests pass."""
        self.problems.append(problem)
        began, tried = time.monotonic(), 0
        if problem.budget_s < self.slow_s:
            await asyncio.sleep(problem.budget_s)
            took_s = time.monotonic() - began
            return Finding(why_not=f"no swap was tried within {problem.budget_s:g} s", seconds=took_s)
        await asyncio.sleep(self.slow_s)
        for path, text, note in _swap(problem):
            tried += 1
            tell(Progress(tried=tried, estimated=tried, text=f"trying {path}"))
            if not problem.refuses({path: text}) and await _passes(problem, {path: text}):
                return Finding(
                    change={path: text}, plan=f"1. `{path}` is suspected.", description=note, kind="swap", tried=tried,
                    estimated=tried, seconds=time.monotonic() - began, warning="one test says little",
                )  # fmt: skip
        return Finding(why_not=f"none of {tried} swaps passes", tried=tried, seconds=time.monotonic() - began)


def _swap(problem: Problem) -> Iterator[tuple[str, str, str]]:
    for path, text in problem.job.change.items():
        for old, new in SWAPS:
            if text and old in text:
                yield path, text.replace(old, new, 1), f"replaces `{old.strip()}` by `{new.strip()}`"


async def _passes(problem: Problem, change: dict[str, str]) -> bool:
    job = problem.job
    full_change = {**job.change, **change}
    return (await PlainSuite().judge(SuiteJob(base=job.base, change=full_change, given=job.tests))).passed


def asked(phase: Phase = Phase.PLANNING, *, emit: list[Event] | None = None, **more: Any) -> ModelRequest:
    """Make a request about a task whose `add` is wrong; `more` holds fields of the task, the case and the request."""
    names = {"call_no", "step_no", "within_s", "escalation", "task_id"}
    own = {name: more.pop(name) for name in list(more) if name in names}
    work = more.pop("work", None)
    base = more.pop("base", {})
    case = case_for("Mend add", **{"tests": TESTS, "files": {"add.py": BUGGY}, **more})
    work = work or AttemptState(phase=phase, base="0" * 40, change=dict(case.task.spec.files))
    material = Material(context=case, state=work, tree=FileTree(base), emit=emit.append if emit is not None else None)
    turns = (Message(role="user", text="words"),)
    return ModelRequest(phase=phase, messages=turns, material=material, **{"task_id": 7, **own})
