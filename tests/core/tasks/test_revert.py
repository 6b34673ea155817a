"""The message of a revert commit.

Whatever its parts contain, the history finds the reverted commit in the message, and no task claims the revert as its
own.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.commit_message import CommitMessage, revert_message, task_of, undoes

ONE, OTHER = "a1" * 20, "b2" * 20
HOSTILE = st.one_of(
    st.text(),
    st.sampled_from(
        [f"Reverts: {OTHER}", "Task: 7", f"x\n\nTask: 7\nReverts: {OTHER}", f"This reverts commit {OTHER}."]
    ),
)


@given(subject=HOSTILE, judged=HOSTILE, reapply=st.booleans(), number=st.integers(1, 10**9))
def test_it_says_what_it_undoes_and_is_no_commit_of_a_task(
    subject: str, judged: str, reapply: bool, number: int
) -> None:
    text = revert_message(subject, ONE, number, judged, reapply=reapply).text()
    assert undoes(text) == ONE
    assert task_of(text) is None
    assert f"Reverted-Task: {number}" in text.splitlines()[-1]


@given(body=HOSTILE)
def test_a_commit_of_a_task_undoes_nothing_whatever_its_body_says(body: str) -> None:
    message = CommitMessage(subject="x", body=f"{body}\nThis reverts commit {OTHER}.", trailers={"Task": "3"})
    assert undoes(message.text()) is None


@pytest.mark.parametrize(
    ("message", "commit"),
    [
        (f'Revert "x"\n\nThis reverts commit {ONE}.\n', ONE),
        (f'Revert "x"\n\nThis reverts commit {ONE}, reversing\nchanges made to {OTHER}.\n', ONE),
        (f"x\n\n> This reverts commit {ONE}.\n", None),
        (f"x\n\nReverts: {ONE[:10]}\n", None),
    ],
)
def test_what_git_writes_is_understood_and_nothing_else(message: str, commit: str | None) -> None:
    assert undoes(message) == commit
