"""Data that people send: fields that are nested too deeply or too large are rejected by name, in every notation."""

import json
from typing import Any

import pytest

from nightshift.core.text import plain_data
from nightshift.core.text.plain_data import MAX_DEPTH, BadData, check, read_json, shallow, too_deep


def nest(depth: int, *, lists: bool = False) -> Any:
    value: Any = "the bottom"
    for _ in range(depth):
        value = [value] if lists else {"a": value}
    return value


def test_a_submission_holds_so_many_values_in_all_fields_together() -> None:
    half = [0] * (plain_data.MAX_VALUES // 2)
    assert check({"a": half, "b": half[:-2]}) == {}
    assert check({"a": half, "b": half}).keys() == {"task"}
    assert check(dict.fromkeys(map(str, range(plain_data.MAX_VALUES + 1)))).keys() == {"task"}


def test_json_that_is_too_deep_is_refused_by_the_name_of_its_field() -> None:
    with pytest.raises(BadData, match="nested") as refused:
        read_json('{"x": "y", "m": ' + "[" * 5_000_000)
    assert refused.value.field == "m"


@pytest.mark.parametrize(
    "text", ["[" + "0," * 10 + "0]", "[" + "[]," * 10 + "[]]", '"' * 100, '["' + '","' * 10 + '"]']
)
def test_json_with_too_many_values_is_refused_before_it_is_read(text: str) -> None:
    with pytest.raises(BadData, match="more than 9 values"):
        read_json(text, most_values=9)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "x"]}, [], {}, "text", 5, nest(MAX_DEPTH),
        {"a,[{": "]}\",", "\\": '\\"', "é": ["\n"]},
    ],
)  # fmt: skip
def test_json_within_bounds_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": {"b": 1, "c": 2, "b": 3}}', "NaN", '{"a": "'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_what_lies_too_deep_is_shown_as_a_note() -> None:
    shown = shallow(nest(300))
    assert not too_deep(shown)
    assert "nested more than 50 deep" in json.dumps(shown, ensure_ascii=False)
    assert shallow(nest(MAX_DEPTH)) == nest(MAX_DEPTH)
    assert shallow({"a": [1, {"b": None}]}) == {"a": [1, {"b": None}]}
