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


@pytest.mark.parametrize("lists", [True, False])
def test_a_value_may_be_nested_so_deep_and_no_deeper(lists: bool) -> None:
    assert check({"metadata": nest(MAX_DEPTH, lists=lists)}) == {}
    assert check({"metadata": nest(MAX_DEPTH + 1, lists=lists), "x": 1}) == {"metadata": plain_data.TOO_DEEP}


def test_sets_and_tuples_have_a_depth_too() -> None:
    value: Any = ()
    for _ in range(MAX_DEPTH):
        value = (value,)
    assert too_deep({"x": value})
    assert too_deep(frozenset([value]))
    assert not too_deep(value[0])


def test_a_submission_holds_so_many_values_in_all_fields_together() -> None:
    half = [0] * (plain_data.MAX_VALUES // 2)
    assert check({"a": half, "b": half[:-2]}) == {}
    assert check({"a": half, "b": half}).keys() == {"task"}
    assert check(dict.fromkeys(map(str, range(plain_data.MAX_VALUES + 1)))).keys() == {"task"}


def test_a_value_that_only_looks_small_is_counted_as_often_as_it_is_met() -> None:
    shared: list[Any] = [0] * 1000
    for _ in range(5):
        shared = [shared] * 1000
    assert check({"a": shared}).keys() == {"task"}


@pytest.mark.parametrize("text", ['{"m": ' + '{"a":' * 5_000_000, '{"x": "y", "m": ' + "[" * 5_000_000])
def test_json_that_is_too_deep_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(BadData, match="nested") as refused:
        read_json(text)
    assert refused.value.field == "m"


def test_json_without_names_at_the_top_names_none() -> None:
    with pytest.raises(BadData, match="nested") as refused:
        read_json('["m", ' + "[" * 100)
    assert refused.value.field == ""


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


def test_signs_within_texts_are_no_values() -> None:
    text = '{"a": "' + ",[]{}\\" * 1000 + '"}'
    with pytest.raises(ValueError, match="escape"):
        read_json(text, most_values=3)
    assert len(read_json('{"a": "' + ",[]{}" * 1000 + '"}', most_values=3)["a"]) == 5000


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": {"b": 1, "c": 2, "b": 3}}', "NaN", "[Infinity]", '{"a": "']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_a_long_name_that_is_given_twice_is_told_cut() -> None:
    name = "k" * 1_000_000
    with pytest.raises(ValueError, match="given twice") as refused:
        read_json(f'{{"{name}": 1, "{name}": 2}}')
    assert len(str(refused.value)) < 200


def test_names_that_are_given_twice_are_found_among_many() -> None:
    text = "{" + ",".join(f'"k{number}":0' for number in range(100_000)) + ',"k99999":1}'
    with pytest.raises(ValueError, match="'k99999' is given twice"):
        read_json(text)


def test_what_lies_too_deep_is_shown_as_a_note() -> None:
    shown = shallow(nest(300))
    assert not too_deep(shown)
    assert "nested more than 50 deep" in json.dumps(shown, ensure_ascii=False)
    assert shallow(nest(MAX_DEPTH)) == nest(MAX_DEPTH)
    assert shallow({"a": [1, {"b": None}]}) == {"a": [1, {"b": None}]}
