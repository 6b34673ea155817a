"""The validation that all interfaces share: the input for new tasks that it accepts and rejects."""

from typing import Any

import pytest

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.submission import as_input, parse_spec


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
        ({"description": "x", "prio": 5}, "prio", "known are"),
        ({"description": "x", "kind": "game"}, "kind", "web_app"),
        ({"description": "x", "limits": {"iterations": 0}}, "limits.iterations", "1"),
        ({"description": "x", "limits": {"time": 1}}, "limits.time", "wall_s"),
        ({"description": "x", "test_command": 5}, "test_command", "list"),
        ({"description": "x", "not_before": "0.5"}, "not_before", "2026-12-24T18:00:00Z"),
        ({"description": "x", "base": "main"}, "task", "repo"),
        ({"description": "x", "tests": {"a": ""}, "files": {"a": ""}}, "task", "both"),
        ({"description": "x", "tests": {"a": ""}, "test_command": ["make"]}, "task", "either"),
        ({"description": "x", "files": {"a": "", "a/b": ""}}, "task", "beside"),
        ([], "task", "mapping"),
    ],
)
def test_a_fault_names_its_field_and_the_mend(sent: Any, field: str, hint: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        parse_spec(sent)
    assert hint.lower() in refused.value.fields[field].lower()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pytest -k 'x*' \"a|b\"", ("pytest", "-k", "x*", "a|b")),
        ('pytest "$PART"', ("sh", "-c", 'pytest "$PART"')),
        ("cd api && make test", ("sh", "-c", "cd api && make test")),
        ("", ()),
    ],
)
def test_a_command_may_be_one_text_as_it_is_typed(text: str, words: tuple[str, ...]) -> None:
    assert parse_spec({"description": "x", "test_command": text}).test_command == words


@pytest.mark.parametrize("field", ["metadata", "files", "nothing_we_know"])
def test_a_field_that_is_nested_too_deeply_is_refused_by_its_name(field: str) -> None:
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(InvalidTask) as refused:
        parse_spec({"description": "x", field: deep})
    assert refused.value.fields == {field: "nested more than 50 deep; make it flatter"}


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("depends_on", [""] * 1001, "at most 1000"),
        ("test_command", ["x" * 200_000], "at most 100000"),
        ("allow", ["A"] * 201, "at most 200"),
        ("oracle", {f"{number}.py": 1 for number in range(501)}, "at most 500"),
    ],
)
def test_a_list_that_is_too_long_is_one_fault_whatever_it_holds(field: str, value: Any, hint: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        parse_spec({"description": "x", field: value})
    assert len(refused.value.fields) <= 2
    assert any(hint in why for why in refused.value.fields.values())


def test_where_everything_is_wrong_the_answer_stays_small() -> None:
    wrong: dict[str, Any] = {
        "description": 1, "depends_on": [""] * 1000, "test_command": [""] * 1000, "allow": ["A"] * 200,
        "packages": [""] * 200, "tests": {f"{number}": 1 for number in range(500)},
        "cases": [{f"u{number}": 1 for number in range(40)}] * 500,
    }  # fmt: skip
    with pytest.raises(InvalidTask) as refused:
        parse_spec(wrong)
    assert refused.value.more > 20_000
    assert len(str(refused.value)) < 20_000


def test_tools_of_servers_are_named_with_their_server_and_need_a_model_that_uses_tools() -> None:
    assert parse_spec({"description": "x", "mcp": ["docs.search", "docs.search"]}).mcp == ("docs.search",)
    with pytest.raises(InvalidTask, match=r"mcp\.0"):
        parse_spec({"description": "x", "mcp": ["search"]})
    with pytest.raises(InvalidTask, match="explore is off"):
        parse_spec({"description": "x", "mcp": ["docs.search"], "explore": "off"})
