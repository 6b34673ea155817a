"""The figures of a report, each computed from a history in the real stores."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

from nightshift.core.events import Kind, Level
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.text.masking import Masker
from nightshift.report.figures import Summary
from nightshift.report.risk import WEIGHTS
from nightshift.report.weekly import render, summarise
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit
from tests.support.history import FIRST, WEEK, History, verdict

UNTIL = FIRST + WEEK


def describe(history: History, since: datetime = FIRST, until: datetime = UNTIL) -> Summary:
    return summarise(history.store.db, since, until)


def claim(history: History, **fields: object) -> Task:
    history.store.queue.submit(parse_spec({"description": "do it", **fields})).result()
    task = history.store.queue.claim("w").result()
    assert task
    return task


def finish(history: History, task: Task) -> None:
    history.store.queue.finish(task.id, task.fence, Ending.NO_CHANGE, iterations=1).result()


def commit_files(history: History, task: Task, *files: str, **fields: object) -> str:
    """Record a commit of a claimed task; return its id."""
    changed = tuple(ChangedFile(path=path, added=10, removed=2) for path in files)
    commit = Commit(
        task_id=task.id, attempt=1, repo="/r", branch="b", commit=f"{task.id:040d}", base="0" * 40, subject="s",
        label="verified", model="big", iterations=1, integrated=True, files=changed, at=history.clock.now,
    )  # fmt: skip
    history.store.state.record_commit(replace(commit, **fields)).result()  # type: ignore[arg-type]
    history.store.queue.finish(task.id, task.fence, Ending.COMMITTED, iterations=1).result()
    return commit.commit


def test_tasks_are_counted_by_ending_in_the_span_in_which_they_ended(history: History) -> None:
    for ending, iterations in ((Ending.COMMITTED, 1), (Ending.COMMITTED, 3), (Ending.STUCK, 15)):
        task = claim(history)
        history.store.queue.finish(task.id, task.fence, ending, iterations=iterations).result()
    late = claim(history)
    history.clock.now = UNTIL
    finish(history, late)
    tasks = describe(history).tasks
    assert (tasks.submitted, tasks.ended, tasks.open_at_end, tasks.first_try) == (4, 3, 1, 1)
    assert tasks.by_status == {Status.DONE: 2, Status.FAILED: 1}
    assert tasks.by_ending == {Ending.COMMITTED: 2, Ending.STUCK: 1}
    assert (tasks.iterations.median, tasks.iterations.most) == (3, 15)


def test_models_are_summed_and_an_unknown_price_is_not_guessed(history: History) -> None:
    task = claim(history)
    for number, model in enumerate((("openai", "big", 0.001), ("openai", "big", 0.001), ("ollama", "small", None))):
        history.models = (model,)
        history.reply(task, AttemptState(phase=Phase.CODING, base="b", step_no=number + 1), Phase.CODING)
    models = {model.model: model for model in describe(history).usage.models}
    assert (models["big"].calls, models["big"].cost.is_known, models["small"].cost.is_known) == (2, True, False)
    (row,) = [line for line in render(describe(history)).splitlines() if "`small`" in line]
    assert "\\$?" in row


def test_questions_that_wait_at_the_end_need_the_owner(history: History) -> None:
    for granted in (True, None):
        task = claim(history)
        ask = Ask(kind=AskKind.PACKAGE, subject=f"package:toolz-{task.id}", question="?")
        history.store.queue.wait_for_owner(task.id, task.fence, "waits", [ask]).result()
        (open_ask,) = history.store.queue.approvals(task_id=task.id)
        if granted is not None:
            history.store.queue.decide(open_ask.id, granted=granted).result()
            again = history.store.queue.claim("w").result()
            assert again
            finish(history, again)
    assert describe(history).open_asks == 1
    assert "1 decision" in render(describe(history))


def _judge_change(kind: str, message: str) -> AttemptState:
    return AttemptState(phase=Phase.REFLECTING, base="b", iteration=1, verdict=verdict(False, (kind, message, "")))


def test_ranks_look_at_what_happened_around_a_commit(history: History) -> None:
    signs = Signs(packages={"toolz": "1.0"})
    failing = replace(_judge_change("KeyError", "'a'"), change={"src/a.py": "x\n", "src/b.py": "x\n"})
    asyncio.run(history.memory.remember(replace(failing, change={"src/b.py": "x\n"}), claim(history).id, "x"))
    history.clock.advance(60)
    commit = commit_files(history, claim(history), "src/a.py", signs=signs)
    commit_files(history, claim(history), "src/c.py", "src/b.py", signs=signs)
    failing = replace(failing, change={"src/a.py": "x\n"})
    history.clock.advance(60)
    asyncio.run(history.memory.remember(failing, claim(history).id, "x"))
    history.tell(Kind.REGRESSION, "", Level.ERROR, commit=commit, tests=["test_a.py::test"])
    first, second = describe(history).commits.ranked
    assert [reason.weight for reason in first.reasons] == ["regression", "package", "later_failures"]
    assert first.points == sum(WEIGHTS[name].points for name in ("regression", "package", "later_failures"))
    assert (second.commit.task_id, second.reasons) == (3, [])


def test_a_whole_history_has_a_report_with_every_section(history: History) -> None:
    for _ in range(2):
        history.week(15, skill=0.9)
    page = render(describe(history, UNTIL, UNTIL + WEEK))
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Recommendations", "## Commits worth reading", "## Tasks", "## Models", "## Git activity",
        "## Commonest failures", "## Does memory help?",
    ]  # fmt: skip


def test_no_secret_of_a_task_reaches_a_page(history: History) -> None:
    secret, shaped = "correct-horse-battery", "sk-" + "a1" * 12
    task = claim(history, description=f"use {secret} and {shaped}")
    history.clock.advance(5)
    reason = f"no answer to {secret}"
    history.store.queue.finish(task.id, task.fence, Ending.REFUSED, reason=reason).result()
    page = render(describe(history), Masker([secret]))
    assert secret not in page
    assert shaped not in page
    assert "use *** and ***" in page.replace("\\", "")
    assert shaped not in render(describe(history))
