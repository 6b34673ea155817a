from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.states import Ending
from nightshift.report.causes import cluster
from nightshift.storage.db.brief_queries import FailedTask
from nightshift.storage.memory.signature import signature

AT = datetime(2026, 11, 25, 3, tzinfo=UTC)


def fail(
    number: int, error: str = "", *, ending: Ending = Ending.GAVE_UP, reason: str = "", blocker: int | None = None
) -> FailedTask:
    return FailedTask(
        id=number, title=f"task {number}", repo="", ending=ending, reason=reason, ended_at=AT, error=error,
        signature=signature(error), blocker=blocker,
    )  # fmt: skip


def ids(tasks: Sequence[FailedTask]) -> list[list[int]]:
    return [[task.id for task in cause.tasks] for cause in cluster(tasks)]


def test_the_same_mistake_in_other_functions_with_other_values_is_one_cause() -> None:
    shop = "Traceback (most recent call last):\n  File \"/w/shop.py\", line 3, in total\nKeyError: 'price'"
    till = "Traceback (most recent call last):\n  File \"/w/till.py\", line 90, in close\nKeyError: 'sum'"
    assert ids([fail(1, shop), fail(2, "TypeError: no"), fail(3, till)]) == [[1, 3], [2]]


@pytest.mark.parametrize(
    "errors",
    [
        [
            "AssertionError: assert None == 5\n +  where None = median_3([1, 2, 9])",
            "AssertionError: assert None == 'a'\n +  where None = longest_81('a', ['b'])",
            "AssertionError: assert None == [1]\n +  where None = <function unique_7 at 0x7f1>([1])",
        ],
        ["AssertionError: assert [[1, 2], [3]] == [[1, 2, 3]]", "AssertionError: assert [1, [2, 3]] == [4, 5, [6]]"],
        ["assert mean_4([1.5, 2.5]) == 2", "assert area(Circle(3), unit='m') == 28.3"],
        ["TypeError: total_3() missing 1 required positional argument: 'x'",
         "TypeError: above_12_7() missing 1 required positional argument: 'limit'"],
        ["AssertionError: assert 3 in [1, 2]\n +  where [1, 2] = keys_1()\n +  and   3 = size_2()",
         "AssertionError: assert 'x' in 'abc'\n +  where 'abc' = name_9(4)"],
    ],
)  # fmt: skip
def test_values_and_names_of_functions_make_no_cause_of_their_own(errors: list[str]) -> None:
    others = ["AssertionError: assert 'Ann' == 'ann'", "KeyError: 'x'", "AssertionError: assert 3 < 2", "TypeError: no"]
    causes = cluster([fail(number, error) for number, error in enumerate([*errors, *others])])
    assert [len(cause.tasks) for cause in causes] == [len(errors), 1, 1, 1, 1]


def test_each_missing_module_is_a_cause_of_its_own() -> None:
    error = "ModuleNotFoundError: No module named 'httpx.auth'"
    tasks = [fail(1, error), fail(2, error.replace("httpx.auth", "yaml")), fail(3, error.replace(".auth", ""))]
    causes = cluster(tasks)
    assert [(cause.module, len(cause.tasks)) for cause in causes] == [("httpx", 2), ("yaml", 1)]
    assert cluster([fail(1, "Error: Cannot find module '@scope/left-pad'")])[0].module == "@scope/left-pad"


def test_what_failed_for_the_sake_of_another_task_belongs_to_its_cause() -> None:
    first = fail(1, "KeyError: 'a'")
    second = fail(2, ending=Ending.DEPENDENCY, reason="task 1 failed", blocker=1)
    third = fail(3, ending=Ending.DEPENDENCY, reason="task 2 failed", blocker=2)
    (cause,) = cluster([first, second, third])
    assert ([task.id for task in cause.tasks], cause.title) == ([1, 2, 3], "KeyError: 'a'")
    (alone,) = cluster([third])
    assert alone.title == "task 2 failed"


@given(st.lists(st.sampled_from(["KeyError: 'a'", "ValueError: 3", "", "assert 1 == 2"]), max_size=12))
def test_each_failed_task_has_exactly_one_cause_and_the_commonest_comes_first(errors: list[str]) -> None:
    groups = ids([fail(number, error) for number, error in enumerate(errors, 1)])
    assert sorted(number for group in groups for number in group) == list(range(1, len(errors) + 1))
    assert [len(group) for group in groups] == sorted(map(len, groups), reverse=True)
