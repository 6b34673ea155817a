"""Settings of a repository override the general settings but not those of a task, and have their own error messages."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.core.code.repository_commands import Linter
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks import repository_settings
from nightshift.core.tasks.repository_settings import HELP, RepositorySettings, RepositorySettingsIn, parse, readable
from nightshift.core.tasks.task import Limits, TaskSpec

ALL: dict[str, Any] = {
    "test_command": ["make", "test", "test"], "test_paths": ["tests/", "unit"], "base": "main", "target": "develop",
    "integrate": True, "review": True, "audit": False, "linters": ["ruff"], "allow": ["python.subprocess", "ruff.E501"],
    "packages": ["requests"], "wall_s": 60.0, "cost_usd": 1.5, "iterations": 4,
}  # fmt: skip


def test_all_fields_are_read_and_told_to_the_owner() -> None:
    read = parse(ALL)
    assert read == RepositorySettings(
        test_command=("make", "test", "test"), test_paths=("tests", "unit"), base="main", target="develop",
        integrate=True, review=True, audit=False, linters=(Linter.RUFF,), allow=("python.subprocess", "ruff.E501"),
        packages=("requests",), limits=Limits(wall_s=60, cost_usd=1.5, iterations=4),
    )  # fmt: skip
    assert set(HELP) == set(RepositorySettingsIn.model_fields)
    assert repository_settings.BY_HAND in HELP


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"review": "yes"}, "review", "on or off"),
    ({"test_command": []}, "test_command", "make test"),
    ({"test_paths": ["../x"]}, "test_paths", "without . or .."),
    ({"packages": ["a b"]}, "packages.0", "for example requests"),
    ({"attempts": 3}, "attempts", "it has test_command, test_paths"),
])  # fmt: skip
def test_a_fault_names_its_field_and_what_it_takes(values: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidTask) as error:
        parse(values)
    assert words in error.value.fields[field]


def test_stored_values_that_cannot_be_read_are_left_out_and_told() -> None:
    read, faults = readable({"wall_s": 60.0, "review": "yes", "of_a_later_version": 1})
    assert read == RepositorySettings(limits=Limits(wall_s=60))
    assert set(faults) == {"review", "of_a_later_version"}
    assert readable({})[1] == {}


def test_a_tasks_own_fields_go_before_those_of_its_repository() -> None:
    own = TaskSpec(
        description="x", repo="/r", base="next", review=False, integrate=False, test_command=("pytest",),
        limits=Limits(wall_s=5), allow=("js.eval",), packages=("rich",),
    )  # fmt: skip
    got = parse(ALL).apply_to(own)
    assert (got.base, got.review, got.integrate, got.test_command) == ("next", False, False, ("pytest",))
    assert got.limits == Limits(wall_s=5, cost_usd=1.5, iterations=4)
    assert got.allow[:3] == ("js.eval", "python.subprocess", "ruff.E501")
    assert got.packages == ("rich", "requests")


def test_a_task_with_tests_or_cases_is_judged_by_them_alone() -> None:
    given = parse(ALL).apply_to(TaskSpec(description="x", tests={"test_a.py": "def test_a(): assert 1"}))
    assert given.test_command == ()
