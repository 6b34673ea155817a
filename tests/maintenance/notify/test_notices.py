"""The events that cause a notice, and the single notice that reports several events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.events import Event, Kind, Level
from nightshift.maintenance.notify.notices import MAX_LINES, Notice, NoticeKind, digest, notice_of

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def event(kind: Kind, level: Level = Level.INFO, task_id: int | None = None, **data: Any) -> Event:
    return Event(kind=kind, level=level, message="what happened", task_id=task_id, data=data, id=9, at=AT)


def about(of: Event) -> Notice | None:
    return notice_of(of, lambda task_id: f"title of {task_id}")


WORTH = [
    (event(Kind.TASK_MOVED, task_id=7, to="done", reason=""), "done", "Task 7 is done: title of 7"),
    (event(Kind.TASK_MOVED, task_id=7, to="failed", reason="stuck"), "failed", "Task 7 failed: title of 7"),
    (event(Kind.ASKED, Level.WARNING, task_id=7), "needs_you", "Task 7 asks: title of 7"),
    (event(Kind.CHECKPOINT), "checkpoint", "Checkpoint"),
    (event(Kind.DATABASE_RESTORED, Level.ERROR), "trouble", "The database was restored from a copy"),
    (event(Kind.HELD_BACK, source="review"), "trouble", "Commits wait to be read"),
    (event(Kind.MODEL_DOWN, Level.ERROR), "trouble", "No model answers"),
    (event(Kind.ENVIRONMENT_USED), "needs_you", "A repository's environment is used for the first time"),
    (event(Kind.BUDGET_REACHED, Level.WARNING, budget="today"), "trouble", "The budget of today is spent"),
    (event(Kind.SETTINGS_REFUSED, Level.ERROR), "trouble", "The new settings have faults"),
]
NOT_WORTH = [
    event(Kind.TASK_MOVED, task_id=7, to="scheduled", reason="tried again later"),
    event(Kind.WORKER_ERROR, Level.WARNING),
    event(Kind.HELD_BACK, source="quiet"),
    event(Kind.NOTIFY_FAILED, Level.WARNING),
    event(Kind.PAUSED),
    event(Kind.BUDGET_REACHED, Level.WARNING, task_id=7, budget="the task"),
]


@pytest.mark.parametrize(("of", "kind", "title"), WORTH, ids=[str(row[0].kind) + row[1] for row in WORTH])
def test_what_an_owner_must_know_is_a_notice(of: Event, kind: str, title: str) -> None:
    notice = about(of)
    assert notice is not None
    assert (notice.kind, notice.title, notice.id) == (kind, title, "event-9")
    assert notice.at == "2026-03-01T12:00:00.000000Z"


@pytest.mark.parametrize("of", NOT_WORTH, ids=[f"{of.kind} {of.level}" for of in NOT_WORTH])
def test_what_is_no_news_is_none_and_failures_to_tell_never_are(of: Event) -> None:
    assert about(of) is None


@given(st.lists(st.sampled_from([kind for kind in NoticeKind if kind is not NoticeKind.TEST]), min_size=2, max_size=60))
def test_a_digest_counts_all_and_is_the_same_for_the_same_notices(kinds: list[NoticeKind]) -> None:
    notices = [Notice(id=f"event-{n}", kind=kind, title=f"title {n}") for n, kind in enumerate(kinds, 3)]
    summary = digest(notices)
    assert summary == digest(notices)
    assert summary.id == f"digest-3-{len(kinds) + 2}"
    assert summary.count == len(kinds)
    assert len(summary.lines) == min(len(kinds), MAX_LINES)
    assert summary.title.startswith(f"{len(kinds)} notices: ")
    assert (NoticeKind.TROUBLE in kinds) <= (summary.kind is NoticeKind.TROUBLE), "trouble is not hidden among others"
    twice = digest([summary, Notice(id="event-99", kind=NoticeKind.DONE, title="last")])
    assert (twice.count, twice.id) == (len(kinds) + 1, "digest-3-99")
