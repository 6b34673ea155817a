from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift_engine.inside import instrument
from nightshift_engine.inside.instrument import OutOfSteps

PROGRAM = '''def pairs(numbers):
    """Those that stand beside each other."""
    last = None
    for number in numbers:
        if last is not None:
            yield last, number
        last = number
    else:
        yield last, None


class Counter:
    def __init__(self):
        "Only a docstring."

    def down(self, number):
        while number > 0:
            number -= 1
            if number == 77: raise ValueError(number)
        return [n for n in range(3)]


def empty():
    """Nothing but this."""


def late(flag):
    try:
        while flag: pass
    except Exception:
        return "caught"
'''


def _ticking(text: str = PROGRAM) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(instrument.ticking(ast.parse(text)), "program.py", "exec"), space)
    return space


def _load_original() -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(PROGRAM, space)
    return space


@given(numbers=st.lists(st.integers(0, 50), max_size=8))
def test_an_instrumented_program_does_what_it_did(numbers: list[int]) -> None:
    instrument.allow(10_000)
    ticking, original = _ticking(), _load_original()
    assert list(ticking["pairs"](numbers)) == list(original["pairs"](numbers))
    assert [ticking["Counter"]().down(n) for n in numbers] == [original["Counter"]().down(n) for n in numbers]
    for name in ("pairs", "empty"):
        assert ticking[name].__doc__ == original[name].__doc__


def test_loop_turns_and_calls_are_counted() -> None:
    space = _ticking()
    left = instrument.allow(100)
    list(space["pairs"]([1, 2, 3]))
    assert instrument.count_used(left) == 4
    space["empty"]()
    space["Counter"]().down(5)
    assert instrument.count_used(left) == 4 + 1 + 2 + 5


def test_more_steps_than_allowed_raise_what_no_handler_of_exceptions_catches_again_and_again() -> None:
    space = _ticking()
    instrument.allow(1000)
    for _ in range(3):
        with pytest.raises(OutOfSteps):
            space["late"](True)
    instrument.allow(1000)
    assert space["late"](False) is None


def test_lines_stay_those_of_the_text() -> None:
    instrument.allow(1000)
    with pytest.raises(ValueError, match="77") as caught:
        _ticking()["Counter"]().down(80)
    line = PROGRAM[: PROGRAM.index("raise ValueError")].count("\n") + 1
    assert caught.tb.tb_next is not None
    assert caught.tb.tb_next.tb_lineno == line
