"""New inputs for a function resemble the inputs that were seen, and keep the properties that all seen inputs share."""

from __future__ import annotations

from typing import Any

from nightshift.sandbox.inside import values
from nightshift_engine.choose import more_inputs
from nightshift_engine.evaluation import Call


def call(*args: object, **kwargs: object) -> Call:
    return Call(path="m.py", scope="f", args=values.pack(args), kwargs=values.pack(kwargs))


def make(*calls: Call, count: int = 30) -> list[Any]:
    return [values.unpack(call.args) for call in more_inputs(calls, count)]


def test_numbers_texts_and_truth_values_keep_their_kind() -> None:
    inputs = make(call(3, "ab", True, 0.5, None), call(7, "ba", False, 2.0, None))
    assert inputs
    for number, text, truth, real, nothing in inputs:
        assert type(number) is int
        assert isinstance(text, str)
        assert set(text) <= {"a", "b"}
        assert isinstance(truth, bool)
        assert isinstance(real, float)
        assert nothing is None


def test_none_of_them_was_seen_and_none_comes_twice() -> None:
    inputs = make(call(1), call(2), count=5)
    assert len(set(inputs)) == len(inputs)
    assert not {(1,), (2,)} & set(inputs)


def test_what_was_sorted_distinct_or_not_empty_stays_so() -> None:
    for (items,) in make(call([1, 4, 9]), call([2, 3]), call([5])):
        assert items
        assert items == sorted(set(items))


def test_numbers_that_were_never_negative_stay_so() -> None:
    assert all(number >= 0 for (number,) in make(call(0), call(12)))


def test_tuples_keep_their_length_and_others_are_taken_from_what_was_seen() -> None:
    for pair, table in make(call((1, "a"), {"k": 1}), call((2, "b"), {"j": 2})):
        assert len(pair) == 2
        assert table in ({"k": 1}, {"j": 2})


def test_calls_of_different_width_are_kept_apart_and_keywords_are_kept() -> None:
    calls = more_inputs([call(1), call(1, 2), call(5, key=3)], 60)
    widths = {(len(values.unpack(call.args)), str(values.unpack(call.kwargs))) for call in calls}
    assert widths == {(1, "{}"), (2, "{}"), (1, "{'key': 3}")}
