"""A task with a history: claimed, tried twice, judged and ended, written through the real stores."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Spent, Task
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, Verdict
from nightshift.core.tools import ToolPlace, ToolRecord
from nightshift.server.context import AppContext
from nightshift.storage.db.tool_store import ToolStore

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


def verdict(passed: bool, suffix: str = "") -> Verdict:
    result = Result.PASSED if passed else Result.FAILED
    failure = Failure(
        id="test_calc.py::test_add",
        kind="AssertionError",
        message=f"assert -1 == 5\n  where -1 = add(2, 3){suffix}",
        frame="test_calc.py:5 in test_add",
        excerpt=f"    assert add(2, 3) == 5{suffix}",
        output=suffix,
    )
    return Verdict(
        passed=passed,
        reason=("2 of 2 tests passed" if passed else "1 of 2 tests failed") + suffix,
        evidence=Evidence(tree="ab" * 20, sandbox="bubblewrap", label=Label.TESTS_PASSED, ids=("a", "b"), twins=2),
        results=(CaseResult(id="test_calc.py::test_add", result=result), CaseResult(id="b", result=Result.PASSED)),
        failures=() if passed else (failure,),
        duration_s=0.41,
    )


def read_held(suffix: str = "") -> dict[str, object]:
    """Return a record of which sections, files and lessons a prompt contained, as a step stores it."""
    return {
        "call": 0, "tokens": 1234, "limit": 24000, "sections": [["Instructions", 900], [f"The task{suffix}", 334]],
        "whole": [f"calc.py{suffix}"], "whole_count": 1, "outlined": [], "outlined_count": 0,
        "named": [f"long{n}.py{suffix}" for n in range(3)], "named_count": 45, "left_out": 4952,
        "lessons": [7], "shortened": [f"The task{suffix}"], "omitted": [f"The plan{suffix}"],
    }  # fmt: skip


def submit(context: AppContext, description: str, **fields: object) -> int:
    return context.queue.submit(parse_spec({"description": description, **fields})).result().task_id


def work_on(
    context: AppContext, *, passes: bool = True, reply: str = RIGHT, suffix: str = "", base: str = "c0ffee" * 6
) -> Task:
    """Claim the next task, store the records of two tries, and end the task. `suffix` is added to every text."""
    task = context.queue.claim("worker-1").result()
    assert task is not None
    work = AttemptState(phase=Phase.PLANNING, base=base, attempt=task.attempt)
    script = [
        (Phase.PLANNING, Outcome.OK, 0, "Plan: one function, one module.", None),
        (Phase.CODING, Outcome.OK, 1, "Wrote calc.py.", WRONG),
        (Phase.TESTING, Outcome.REDO, 1, "1 of 2 tests failed.", None),
        (Phase.REFLECTING, Outcome.REDO, 1, "The sign is wrong.", None),
        (Phase.CODING, Outcome.OK, 2, "Changed calc.py.", reply),
        (Phase.TESTING, Outcome.OK if passes else Outcome.REDO, 2, "2 of 2 tests passed.", None),
    ]
    for number, (phase, outcome, iteration, note, code) in enumerate(script):
        judged = verdict(passes and iteration == 2, suffix) if phase is Phase.TESTING else work.verdict
        change = {"calc.py": code} if code else work.change
        work = replace(work, phase=phase, step_no=number, iteration=iteration, change=change, verdict=judged)
        if phase is not Phase.TESTING:
            _ask(context, task, work, reply if code else f"Thinking about {note}")
        if code and suffix:
            _call_tool(context, task, work, suffix)
        done = replace(work, step_no=number + 1)
        step = Step(phase=phase, outcome=outcome, state=done, note=note + suffix, data={"prompts": [read_held(suffix)]})
        context.steps.save_step(task.id, task.attempt, task.fence, step, started_at=utc_now(), duration_s=1.25).result()
    ending, reason = (Ending.COMMITTED, "") if passes else (Ending.STUCK, "the same test failed three times")
    spent = Spent(model_calls=4, tokens_in=4800, tokens_out=920, model_s=6.2, suite_s=0.8)
    return context.queue.finish(
        task.id, task.fence, ending, reason=reason + suffix, commit="3f2a9c1d" * 5 if passes else None,
        branch=f"agent/{task.id}-calc" if passes else None, iterations=2, spent=spent,
    ).result()  # fmt: skip


def _ask(context: AppContext, task: Task, work: AttemptState, text: str) -> None:
    request = ModelRequest(
        phase=work.phase,
        messages=(Message(role="system", text=f"Phase: {work.phase}\nYou write Python."),
                  Message(role="user", text=task.spec.description)),
        task_id=task.id, attempt=task.attempt, step_no=work.step_no, iteration=work.iteration,
    )  # fmt: skip
    completion = Completion(
        text=text, backend="ollama", model="qwen2.5-coder:7b", tokens_in=1200, tokens_out=230, latency_s=1.55
    )
    context.steps.save_reply(request, completion).result()


def _call_tool(context: AppContext, task: Task, work: AttemptState, suffix: str) -> None:
    """Store a call of the edit tool in which every text is `suffix`."""
    tool_place = ToolPlace(task_id=task.id, attempt=task.attempt, step_no=work.step_no, call_no=0, seq=0)
    arguments = json.dumps({"path": suffix, "old": suffix, "new": f"{suffix} {suffix}", suffix: suffix})
    record = ToolRecord(name="edit", arguments=arguments, text=suffix, ok=False, change={suffix: suffix})
    ToolStore(context.database, context.events, mask=context.mask).save(tool_place, task.fence, record).result()


def claim(context: AppContext) -> Task:
    """Claim the next task."""
    task = context.queue.claim("worker-1").result()
    assert task is not None
    return task


def save(
    context: AppContext,
    task: Task,
    work: AttemptState,
    phase: Phase = Phase.CODING,
    outcome: Outcome = Outcome.OK,
    **data: Any,
) -> None:
    """Store a step that ended with this state."""
    step = Step(phase=phase, outcome=outcome, state=work, note="note", data=data)
    context.steps.save_step(task.id, task.attempt, task.fence, step, started_at=utc_now(), duration_s=0.5).result()
