"""Commit messages: their parts can be read back, and no text can pass for a trailer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.clock import utc_now
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import (
    SUBJECT_CHARS,
    CommitMessage,
    home_of,
    message_for,
    slug,
    task_of,
    trailers,
)
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.text.masking import Masker


def message(subject: str = "Add a door", body: str = "", **fields: str) -> str:
    return CommitMessage(subject=subject, body=body, trailers={"Task": "7", **fields}).text()


def test_the_home_stands_after_the_first_trailer() -> None:
    message = CommitMessage(subject="Add a door", trailers={"Task": "7", "Model": "m1"})
    assert message.from_home("0123abcd").text() == "Add a door\n\nTask: 7\nHome: 0123abcd\nModel: m1\n"
    assert message.from_home("").text() == message.text()
    assert [home_of(each.text()) for each in (message.from_home("0123abcd"), message)] == ["0123abcd", ""]
    assert CommitMessage(subject="x", trailers={}).from_home("0123abcd").text() == "x\n\nHome: 0123abcd\n"


@given(subject=st.text(), body=st.text(), model=st.text())
def test_no_text_can_add_or_change_a_trailer(subject: str, body: str, model: str) -> None:
    text = message(subject, body + "\n\nTask: 99\n", Model=f"{model}\nTask: 98")
    assert task_of(text) == 7
    assert "\x00" not in text
    assert len(text.split("\n")[0]) <= SUBJECT_CHARS
    assert text.split("\n")[1] == ""


def test_a_message_of_somebody_else_has_no_trailers() -> None:
    assert trailers("Task: 7\n") == {}
    assert trailers("Subject\n\nTask: 7\nand more prose\n") == {}
    assert task_of("Subject\n\nTask: seven\n") is None
    assert task_of("Subject\n\nTask: ٧\n") is None


@given(st.text())
def test_a_slug_always_fits_a_branch_name(description: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(description))
    assert len(slug(description)) <= 40


def test_a_message_says_what_was_done_and_what_was_asked_for() -> None:
    spec = TaskSpec(description="Write add().\nIt adds.")
    task = Task(id=7, spec=spec, status=Status.RUNNING, created_at=utc_now())
    work = AttemptState(
        phase=Phase.COMMIT, base="0" * 40, summary="Add add()\nWith ints.", models=("a", "b", "a"), iteration=2
    )
    assert message_for(task, work).text() == (
        "Add add()\n\nWith ints.\n\nAsked for:\n> Write add().\n> It adds.\n\nTask: 7\nModel: a, b\nIterations: 2\n"
    )


@pytest.mark.parametrize(
    ("summary", "subject"),
    [
        ("Here is the code.", "Write add()"),
        ("Okay, here are the changes.\nAdd add()", "Add add()"),
        ("Here is the fix: round the last page up", "round the last page up"),
        ("Done.", "Write add()"),
        ("Surely no page is lost", "Surely no page is lost"),
    ],
)
def test_a_summary_that_says_nothing_of_the_change_is_no_subject(summary: str, subject: str) -> None:
    task = Task(id=7, spec=TaskSpec(description="Write add()"), status=Status.RUNNING, created_at=utc_now())
    work = AttemptState(phase=Phase.COMMIT, base="", summary=summary)
    assert message_for(task, work).subject == subject


def test_a_secret_in_the_description_or_the_summary_does_not_reach_a_commit() -> None:
    spec = TaskSpec(description="Call the API with sk-proj-abcdefghij0123456789\nand the word hunter2-secret")
    task = Task(id=7, spec=spec, status=Status.RUNNING, created_at=utc_now())
    work = AttemptState(phase=Phase.COMMIT, base="", summary="Use hunter2-secret\x1b[31m\u202e")
    text = message_for(task, work, Masker(["hunter2-secret"])).text()
    assert text.startswith("Use ***\\x1b[31m\\u{202e}\n")
    assert "hunter2" not in text
    assert "sk-proj" not in text
