from __future__ import annotations

import pytest

from nightshift.core.tasks.states import cause_first, with_failure

FAILURE = "test_a.py::test_sum: AssertionError: assert 7 == (3 + 1)"


@pytest.mark.parametrize(
    ("ending", "brief"),
    [
        ("Gave up after 4 tries, the limit", "gave up after 4 tries"),
        ("Stuck after 3 tries: the files are as they were, and a fresh start did not help", "stuck after 3 tries"),
    ],
)
def test_the_failure_comes_first_and_how_it_ended_behind_it(ending: str, brief: str) -> None:
    assert cause_first(with_failure(ending, FAILURE)) == f"{FAILURE} ({brief})"


@pytest.mark.parametrize("reason", ["", "no such branch", "cancelled by the owner", with_failure("Gave up", " ")])
def test_a_reason_without_a_failure_stays_as_it_is(reason: str) -> None:
    assert cause_first(reason) == reason
