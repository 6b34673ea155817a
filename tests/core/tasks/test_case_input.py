"""Held-out cases as people write them: accepted and rejected input, error messages, and conversion back to text."""

from typing import Any

import pytest

from nightshift.core.code import literals
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.case_input import as_input as written
from nightshift.core.tasks.held_out import Compare
from nightshift.core.tasks.submission import as_input, parse_spec


def spec(*cases: dict[str, Any], **more: Any) -> Any:
    return parse_spec({"description": "x", "cases": list(cases), **more})


def test_values_come_as_json_or_as_literals() -> None:
    (case,) = spec(
        {"call": "shop.price:Cart.total", "args": [[1, None], {"literal": "{2, 3}"}], "kwargs": {"net": True},
         "expect": {"literal": "(1, b'x')"}, "tolerance": 0.001}
    ).cases  # fmt: skip
    assert (case.call, case.module, case.function) == ("shop.price:Cart.total", "shop.price", "Cart.total")
    assert literals.read(case.args) == ([1, None], {2, 3})
    assert (case.kwargs, case.expect, case.compare) == ("{'net': True}", "(1, b'x')", Compare.STRICT)
    assert (case.rel, case.abs, case.explicit, case.shown) == (0.001, 0.001, True, False)


@pytest.mark.parametrize(
    "sent",
    [
        {"call": "a:f", "args": [1, "x", {"literal": "(1,)"}], "expect": {"literal": "{1}"}},
        {"call": "a:f", "kwargs": {"n": 1.5}, "raises": "ValueError"},
        {"call": "a:f", "args": [{"literal": "{'literal': 1}"}], "expect": {"literal": "{1: 2}"}},
    ],
)
def test_a_case_can_be_written_as_what_a_person_would_send(sent: dict[str, Any]) -> None:
    (case,) = spec(sent).cases
    assert written(case) == sent
    assert as_input(spec(sent))["cases"] == [sent]


@pytest.mark.parametrize(
    ("sent", "hint"),
    [
        ({"call": "a:b:c", "expect": 1}, "module.function"),
        ({"call": "a.f", "args": [{"literal": "open('x')"}], "expect": 1}, "is not a literal"),
        ({"call": "a.f", "expect": 1, "raises": "ValueError"}, "not both"),
        ({"call": "a.f", "raises": "E", "tolerance": 0.1}, "tolerance"),
        ({"call": "a.f", "expect": 1, "args": [{"literal": "[" * 60 + "]" * 60}]}, "nested more than"),
        ({"call": "a.f", "expect": 1, "args": ["x" * 150_000, "y" * 150_000]}, "longer than"),
    ],
)
def test_a_faulty_case_is_refused_with_a_reason(sent: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        spec(sent)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ({"oracle": "def f(:"}, "is not valid Python"),
        ({"oracle": {"../a.py": ""}}, "relative"),
        ({"oracle": "x = 1", "language": "javascript"}, "Python"),
    ],
)
def test_a_faulty_oracle_is_refused_with_a_reason(more: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        spec({"call": "a.f", "args": [1]}, **more)
    assert hint in str(caught.value)


def test_an_oracle_that_no_parser_can_hold_is_refused() -> None:
    for text in ("x = " + "-" * 900_000 + "1", "x = " + "(" * 10_000, "x = a" + ".b" * 300_000):
        with pytest.raises(InvalidTask, match="is not valid Python"):
            spec({"call": "a.f", "args": [1]}, oracle=text)
