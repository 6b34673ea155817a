"""Percentages, money, counts and times have one format each.

The browser tests check the JavaScript formatter against the same table.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.text import formats

TABLE = json.loads(Path(__file__).with_name("formats.json").read_text())
CASES = [(name, values, text) for name, cases in TABLE.items() for values, text in cases]
SECONDS = st.floats(0, 1e8)
PARTS = re.compile(r"([\d.]+) (ms|s|min|h|d)")
SIZES = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@pytest.mark.parametrize(("name", "values", "text"), CASES)
def test_values_are_written_as_in_the_table(name: str, values: list[Any], text: str) -> None:
    assert getattr(formats, name)(*values) == text


@given(st.tuples(SECONDS, SECONDS))
def test_a_longer_time_never_reads_as_a_shorter_one(pair: tuple[float, float]) -> None:
    shorter, longer = (seconds_of(formats.duration(each)) for each in sorted(pair))
    assert shorter <= longer


@given(st.tuples(st.floats(0, 1e7), st.floats(0, 1e7)))
def test_a_higher_cost_never_reads_as_a_lower_one(pair: tuple[float, float]) -> None:
    lower, higher = (dollars_of(formats.money(each)) for each in sorted(pair))
    assert lower <= higher


@given(st.tuples(st.floats(0, 1e14), st.floats(0, 1e14)))
def test_a_count_of_more_never_reads_as_less(pair: tuple[float, float]) -> None:
    for write in (formats.compact, formats.tokens):
        less, more = (number_of(write(each)) for each in sorted(pair))
        assert less <= more


@given(st.floats(0, 1))
def test_a_share_is_called_nothing_or_all_only_when_it_is(share: float) -> None:
    assert (formats.percent(share) == "0 %") == (share == 0)
    assert (formats.percent(share) == "100 %") == (share == 1)


def seconds_of(text: str) -> float:
    return sum(float(number) * SIZES[unit] for number, unit in PARTS.findall(text))


def dollars_of(text: str) -> float:
    return 0.00005 if text.startswith("<") else float(text.lstrip("$").replace(",", ""))


def number_of(text: str) -> float:
    unit = text.lstrip("0123456789.,")
    return float(text.removesuffix(unit).replace(",", "")) * UNITS[unit]
