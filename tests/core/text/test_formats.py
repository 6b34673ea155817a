"""Percentages, money, counts and times have one format each.

The browser tests check the JavaScript formatter against the same table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.text import formats

TABLE = json.loads(Path(__file__).with_name("formats.json").read_text())
CASES = [(name, values, text) for name, cases in TABLE.items() for values, text in cases]


@pytest.mark.parametrize(("name", "values", "text"), CASES)
def test_values_are_written_as_in_the_table(name: str, values: list[Any], text: str) -> None:
    assert getattr(formats, name)(*values) == text


@given(st.floats(0, 1))
def test_a_share_is_called_nothing_or_all_only_when_it_is(share: float) -> None:
    assert (formats.percent(share) == "0 %") == (share == 0)
    assert (formats.percent(share) == "100 %") == (share == 1)
