"""The one validation of tasks: what every door accepts and refuses."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidTask
from core.submission import as_input, parse_spec
from core.tasks import Kind, Limits

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_a_description_is_enough() -> None:
    spec = parse_spec({"description": "  Build it \n"})
    assert (spec.description, spec.priority, spec.limits) == ("Build it", 1, Limits())


def test_every_field_arrives() -> None:
    spec = parse_spec(
        {
            "description": "x", "priority": 5, "repo": "/r", "base": "main", "kind": "cli_tool", "language": "python",
            "tests": {"test_x.py": "t"}, "files": {"x.py": "f"}, "depends_on": [2, 1, 2], "key": "k",
            "not_before": "2030-01-01T00:00:00", "limits": {"iterations": 3}, "review": True, "audit": False,
            "clarify": None, "integrate": True, "metadata": {"category": "api"},
        }
    )  # fmt: skip
    assert spec.kind is Kind.CLI_TOOL
    assert spec.depends_on == (2, 1)
    assert spec.not_before == datetime(2030, 1, 1, tzinfo=UTC)
    assert spec.limits.iterations == 3


def test_a_task_can_be_written_as_what_a_person_would_send() -> None:
    sent = {
        "description": "x", "priority": 5, "repo": "/r", "base": "main", "kind": "cli_tool", "language": "javascript",
        "test_command": ["make", "test"], "files": {"x.py": "f"}, "depends_on": [2, 1], "key": "k",
        "not_before": "2030-01-01T00:00:00.000000Z", "limits": {"iterations": 3}, "review": True, "audit": False,
        "metadata": {"category": ["api", None]},
    }  # fmt: skip
    assert as_input(parse_spec(sent)) == sent
    assert as_input(parse_spec({"description": "x", "priority": 1, "tests": {}})) == {"description": "x"}


@pytest.mark.parametrize(
    ("sent", "field", "hint"),
    [
        ({}, "description", "required"),
        ({"description": "  "}, "description", "describe"),
        ({"description": "x", "priority": "5"}, "priority", "integer"),
        ({"description": "x", "priority": True}, "priority", "integer"),
        ({"description": "x", "prio": 5}, "prio", "known are"),
        ({"description": "x", "kind": "game"}, "kind", "web_app"),
        ({"description": "x", "files": {"../x": ""}}, "files", ".."),
        ({"description": "x", "tests": {"/etc/x": ""}}, "tests", "relative"),
        ({"description": "x", "limits": {"iterations": 0}}, "limits.iterations", "1"),
        ({"description": "x", "limits": {"time": 1}}, "limits.time", "wall_s"),
        ({"description": "x", "limits": {"memory_mb": 8}}, "limits.memory_mb", "64"),
        ({"description": "x", "limits": {"cpus": 0}}, "limits.cpus", "0.1"),
        ({"description": "x", "limits": {"cost_usd": False}}, "limits.cost_usd", "number"),
        ({"description": "x", "limits": {"pids": 2}}, "limits.pids", "16"),
        ({"description": "x", "limits": {"work_mb": 0}}, "limits.work_mb", "1"),
        ({"description": "x", "depends_on": ["a"]}, "depends_on.0", "integer"),
        ({"description": "x", "not_before": 5}, "not_before", "2026-12-24T18:00:00Z"),
        ({"description": "x", "not_before": "0.5"}, "not_before", "2026-12-24T18:00:00Z"),
        ({"description": "x", "base": "main"}, "task", "repo"),
        ({"description": "x", "tests": {"a": ""}, "files": {"a": ""}}, "task", "both"),
        ({"description": "x", "tests": {"a": ""}, "test_command": ["make"]}, "task", "either"),
        ({"description": "x", "files": {"a": "", "a/b": ""}}, "task", "beside"),
        ({"description": "x", "files": {"Foo.py": ""}, "tests": {"foo.py": ""}}, "task", "beside"),
        ([], "task", "mapping"),
    ],
)
def test_a_fault_names_its_field_and_the_mend(sent: Any, field: str, hint: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        parse_spec(sent)
    assert hint.lower() in refused.value.fields[field].lower()


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(InvalidTask) as refused:
        parse_spec({"priority": "high", "kind": "game", "x": 1})
    assert refused.value.fields.keys() == {"description", "priority", "kind", "x"}


@given(json)
def test_any_json_is_a_task_or_refused_by_name(sent: Any) -> None:
    try:
        parse_spec(sent)
    except InvalidTask as refused:
        assert refused.fields  # noqa: PT017 - most input is refused, some is not
