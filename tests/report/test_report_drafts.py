"""Drafts in the brief and in the weekly report: counted separately, each with its test results."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from nightshift.core.events import Kind
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Spent, Task
from nightshift.report import brief
from nightshift.report.brief import Figures, Topic
from nightshift.report.figures import Summary
from nightshift.report.markdown import tell_brief
from nightshift.report.weekly import render, summarise
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit, describe_draft
from tests.support.history import FIRST, History

DRAFT = Commit(
    task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="aa11", base="b", subject="Draft: x", label="draft",
    signs=Signs(tests=5, tests_passed=3),
)  # fmt: skip


def fail(history: History, *, drafts: bool = True) -> Task:
    """Run a task that ends as stuck, with a draft unless `drafts` is False."""
    history.store.queue.submit(parse_spec({"description": "Add sums"})).result()
    task = history.store.queue.claim("w").result()
    assert task
    branch = f"agent/{task.id}-add-sums"
    if drafts:
        entry = replace(DRAFT, task_id=task.id, branch=branch, commit=f"{task.id:040d}", at=history.clock.now)
        history.store.state.record_commit(entry).result()
        history.tell(Kind.DRAFT_LEFT, describe_draft(entry), task_id=task.id, commit=entry.commit, branch=branch)
    return history.store.queue.finish(task.id, task.fence, Ending.STUCK, reason="stuck", branch=branch).result()


def summary(history: History) -> Summary:
    return summarise(history.store.db, FIRST, history.clock.now + timedelta(seconds=1))


def test_the_brief_counts_drafts_apart(history: History) -> None:
    history.clock.now = FIRST
    fail(history)
    fail(history)
    fail(history, drafts=False)
    night_brief = brief.read(history.store.db, FIRST, history.clock.now + timedelta(seconds=1))
    assert (
        night_brief.figures.landed,
        night_brief.figures.on_branch,
        night_brief.figures.drafts,
        night_brief.figures.unread,
    ) == (0, 0, 2, 0)
    assert "3 failed (all with the same cause), 2 drafts" in night_brief.line
    figures = Figures(landed=0, failed=1, common=1, spent=Spent(), drafts=1)
    assert [(part.topic, part.text) for part in brief.parts_of(figures)][-1] == (Topic.DRAFTS, "1 draft")


def test_the_report_lists_each_with_its_tests_and_what_to_do(history: History) -> None:
    history.clock.now = FIRST
    task = fail(history)
    week_summary = summary(history)
    assert (week_summary.commits.total.commits, tell_brief(week_summary).drafts) == (0, 1)
    text = render(week_summary)
    assert f"- task {task.id}: draft on agent/{task.id}-add-sums: 3 of 5 tests pass" in text.replace("\\", "")
    assert "**1 draft of failed tasks**" in text
    for command in ("show TASK", "retry TASK --from-draft", "integrate TASK", "discard TASK"):
        assert command in text
