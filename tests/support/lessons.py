"""Puts lessons into a memory through its own interface, as from tasks that failed and were then fixed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.server.context import AppContext

_EVIDENCE = Evidence(tree="", sandbox="", label=Label.TESTS_PASSED)


def learn(
    context: AppContext, description: str, error: str, advice: str, *, language: str = "python", repo: str | None = None
) -> int:  # fmt: skip
    """Learn from a task that failed with an error and was fixed as the advice says. Return the task's id.

    `error` has the form `Kind: message`.
    """
    spec = parse_spec({"description": description, "language": language, "repo": repo})
    task_id = context.queue.submit(spec).result().task_id
    kind, _, message = error.partition(": ")
    failure = Failure(id="t.py::test_total", kind=kind, message=message, frame="shop.py:3 in total")
    failed = Verdict(passed=False, reason="1 failed", evidence=_EVIDENCE, failures=(failure,))
    tries = (Try(iteration=1, digest="d", failing=(), feedback="", reflection=Reflection(suggested_fix=advice)),)
    work = AttemptState(
        phase=Phase.REFLECTING, base="", change={"shop.py": "total = sum(x)\n"}, verdict=failed, tries=tries
    )  # fmt: skip
    asyncio.run(context.memory().remember(work, task_id, description))
    passing = replace(work, change={"shop.py": "total = sum(map(int, x))\n"}, verdict=None)
    asyncio.run(context.memory().conclude(passing, task_id, solved=True))
    return task_id
