"""The file of the settings page.

It is read back unchanged, contains only the necessary values, and never overwrites a concurrent change.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import hypothesis as h
import pytest
import yaml
from hypothesis import strategies as st

from nightshift.config.overrides import ConfigChanged, OverridesFile, change_overrides, text_of
from tests.support import tiers

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXT, below, max_size=4),
    max_leaves=8,
)


@h.given(st.dictionaries(st.sampled_from(["worker_count", "quiet_hours", "model_prices"]), VALUES))
@h.example({"model_name": "off"})
@h.example({"quiet_hours": ["22:00-07:00", "22:00", "1e5", "~", "\ufeff", "\x85", "a\nb", "x" * 300 + " y"]})
@h.settings(max_examples=tiers.examples(200), deadline=None)
def test_each_setting_has_a_line_of_its_own_that_is_read_as_it_was_meant(values: dict[str, Any]) -> None:
    text = text_of(values)
    assert (yaml.safe_load(text) or {}) == values
    assert [yaml.safe_load(each) for each in text.split("\n") if each and not each.startswith("#")] == [
        {name: value} for name, value in values.items()
    ]


@pytest.mark.parametrize(
    ("values", "reset", "after"),
    [
        ({"a": 3}, (), {"a": 3, "b": 9}),
        ({"a": 1}, (), {"b": 9}),  # Same as config.yaml
        ({"a": True}, (), {"a": True, "b": 9}),  # A different value
        ({"a": None}, (), {"a": None, "b": 9}),  # The default, although config.yaml has another value
        ({"b": None}, (), {"a": 2}),  # Not set in config.yaml
        ({}, ("a",), {"b": 9}),
        ({}, ("c",), {"a": 2, "b": 9}),
        ({"a": 4}, ("a", "b"), {"a": 4}),
    ],
)
def test_only_what_differs_from_the_file_is_kept(
    values: dict[str, Any], reset: tuple[str, ...], after: dict[str, Any]
) -> None:
    assert change_overrides({"a": 2, "b": 9}, {"a": 1}, values, reset) == after


@pytest.mark.parametrize("other", ["settings.overrides.yaml", "config.yaml"])
def test_a_file_is_replaced_only_while_both_are_as_they_were(tmp_path: Path, other: str) -> None:
    path = tmp_path / "settings.overrides.yaml"
    file = OverridesFile(path, tmp_path / "config.yaml")
    file.replace(file.digest(), "worker_count: 1\n")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("worker_count: 1\n", 0o600)
    digest = file.digest()
    (tmp_path / other).write_text("worker_count: 7\n")
    before = path.read_text()
    with pytest.raises(ConfigChanged, match="load them again"):
        file.replace(digest, "worker_count: 2\n")
    assert path.read_text() == before


def test_the_digest_is_of_no_use_to_others(tmp_path: Path) -> None:
    def file() -> OverridesFile:
        return OverridesFile(tmp_path / "settings.overrides.yaml", tmp_path / "config.yaml")

    assert file().digest() != file().digest()
