"""Changing a value in `config.yaml` touches its own lines and no other byte."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from core.errors import ConfigError
from settings.config_text import edited
from tests.support import tiers

FILE = """\
# Mine.

worker_count:   4      # more make the fan loud
model_name: 'qwen:7b'
  # an odd place for a comment

notify_on:             # by telephone
  - failed             # always
    # not these:
  # - done
  - 'needs_you'        # at once
model_prices:
    # per million
    big: {input_per_million_usd: 1.50, output_per_million_usd: 6}   # dear
    small:
        input_per_million_usd: 0.1
        output_per_million_usd: 0.2     # cheap

quiet_hours: ["22:00-07:00",
   "Sat,Sun 00:00-24:00"]   # two lines
notify_command:
- sh
- -c
- |
  notify-send "$X"   # no comment, but text

git_author_name:
# the end
"""


def changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """The lines that went and those that came, with what the two texts have in common taken away at both ends."""
    a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return a, b


@pytest.mark.parametrize(
    ("changes", "gone", "came"),
    [
        (
            {"worker_count": 6},
            ["worker_count:   4      # more make the fan loud"],
            ["worker_count:   6      # more make the fan loud"],
        ),
        ({"worker_count": None}, ["worker_count:   4      # more make the fan loud"], []),
        ({"git_author_name": "Ada: #1"}, ["git_author_name:"], ["git_author_name: 'Ada: #1'"]),
        ({"log_level": "DEBUG"}, [], ["log_level: DEBUG"]),
        (
            {"notify_on": ["failed", "done", "needs_you"]},
            [],
            ["  - done"],
        ),
        ({"notify_on": ["needs_you"]}, ["  - failed             # always"], []),
        (
            {"notify_on": ["failed", "checkpoint"]},
            ["  - 'needs_you'        # at once"],
            ["  - checkpoint        # at once"],
        ),
        (
            {
                "model_prices": {
                    "big": {"input_per_million_usd": 1.5, "output_per_million_usd": 6},
                    "small": {"input_per_million_usd": 0.1, "output_per_million_usd": 0.3},
                }
            },
            ["        output_per_million_usd: 0.2     # cheap"],
            ["        output_per_million_usd: 0.3     # cheap"],
        ),
        (
            {"quiet_hours": ["12:00-13:00"]},
            ['quiet_hours: ["22:00-07:00",', '   "Sat,Sun 00:00-24:00"]   # two lines'],
            ["quiet_hours: ['12:00-13:00']   # two lines"],
        ),
    ],
)
def test_only_the_lines_of_the_value_change(changes: dict[str, Any], gone: list[str], came: list[str]) -> None:
    new = edited(FILE, changes)
    went, brought = changed_lines(FILE, new)
    assert ([line.rstrip("\n") for line in went], [line.rstrip("\n") for line in brought]) == (gone, came)


def test_a_list_that_becomes_empty_keeps_the_comment_behind_its_name() -> None:
    new = edited(FILE, {"notify_on": []})
    assert "notify_on: []             # by telephone\n" in new
    assert yaml.safe_load(new) == {**yaml.safe_load(FILE), "notify_on": []}


@pytest.mark.parametrize(
    ("text", "name", "value", "new"),
    [
        ("", "a", 1, "a: 1\n"),
        ("# nothing yet", "a", 1, "# nothing yet\na: 1\n"),
        ("---\nb: 2\n...\n", "a", "x", "---\nb: 2\na: x\n...\n"),
        ("b: 2", "a", 1, "b: 2\na: 1\n"),
        ("b: 2\r\n# c\r\n", "a", 1, "b: 2\r\na: 1\r\n# c\r\n"),
        ("{}", "a", 1, "{a: 1}"),
        ("{b: 2, c: 3} # d", "a", [1], "{b: 2, c: 3, a: [1]} # d"),
        ("{b: 2, c: 3}", "b", None, "{c: 3}"),
        ("{b: 2, c: 3}", "c", None, "{b: 2}"),
        ("a: 1\na: 2\nb: 3\n", "a", 4, "a: 1\na: 4\nb: 3\n"),
        ("a: 1\na: 2\nb: 3\n", "a", None, "b: 3\n"),
        ("a: |\n  x\n  y\n\nb: 3\n", "a", "z", "a: z\n\nb: 3\n"),
        ("a: b\n", "a", "off", "a: 'off'\n"),
        ("a: b\n", "a", "x\ny", 'a: "x\\ny"\n'),
        ("", "m", {"x": {"y": 1}}, "m:\n  x:\n    y: 1\n"),
        ("m:\n# none\nb: 1\n", "m", {"x": 1}, "m: {x: 1}\n# none\nb: 1\n"),
    ],
)
def test_odd_documents(text: str, name: str, value: Any, new: str) -> None:
    assert edited(text, {name: value}) == new


def test_a_value_that_others_refer_to_is_left_alone() -> None:
    for text, change in (("a: &x 1\nb: *x\n", {"b": 2}), ("<<: {a: 1}\nb: 2\n", {"a": None})):
        with pytest.raises(ConfigError, match="change it there"):
            edited(text, change)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=3), max_leaves=8
)
NAMES = st.sampled_from(["worker_count", "notify_on", "model_prices", "b", "git_author_name", "long_name_2"])


def written(name: str, value: Any, *, flow: bool, feed: str) -> str:
    """An entry as people write it: lines of its own, or brackets that go over several lines."""
    if flow:
        words = yaml.safe_dump(value, default_flow_style=True, width=30).removesuffix("...\n")
        text = f"{name}:  " + "  ".join(words.splitlines(keepends=True))
    else:
        text = yaml.safe_dump({name: value}, default_flow_style=False, width=30)
    return text.replace("\n", feed)


def reads(text: str) -> Any:
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError:
        return None


@given(
    held=st.dictionaries(NAMES, VALUES, max_size=5),
    flow=st.booleans(),
    name=NAMES,
    value=VALUES,
    remark=st.sampled_from(["", "# kept: [a]", "  # - kept"]),
    feed=st.sampled_from(["\n", "\r\n"]),
)
@example(held={"b": {"": None}}, flow=False, name="b", value={"": 0}, remark="", feed="\n")
@settings(max_examples=tiers.examples(150), deadline=None)
def test_any_change_says_what_was_meant_and_keeps_all_other_lines(
    held: dict[str, Any], flow: bool, name: str, value: Any, remark: str, feed: str
) -> None:
    parts = {key: written(key, each, flow=flow, feed=feed) for key, each in held.items()}
    text = "".join(remark + feed + part for part in parts.values())
    assume(reads(text) == held)
    new = edited(text, {name: value})
    assert reads(new) == ({**held, name: value} if value is not None else {k: v for k, v in held.items() if k != name})
    at = 0
    for part in (part for key, part in parts.items() if key != name):
        at = new.index(remark + feed + part, at) + len(part)
    assert new.count(remark + feed) >= len(held)


def test_the_example_is_what_it_seems() -> None:
    assert set(yaml.safe_load(FILE)) == {
        "worker_count", "model_name", "notify_on", "model_prices", "quiet_hours", "notify_command", "git_author_name",
    }  # fmt: skip
