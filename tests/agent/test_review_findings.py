"""Findings as models write them: read where they can be, refused with a reason where not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.review import MOST_REMARKS, read_remarks
from core.remarks import Gravity

PATHS = ("a.py", "pkg/b.py")


def reply(*findings: object) -> str:
    return json.dumps({"findings": list(findings)})


def test_the_worst_comes_first_and_each_once() -> None:
    low = {"file": "a.py", "line": 1, "severity": "low", "reason": "a name"}
    bad = {
        "path": "./pkg/b.py",
        "line": "L7-9",
        "severity": "Blocker",
        "message": "loses data",
        "suggestion": "keep it",
    }
    found = read_remarks(reply(low, bad, low), PATHS)
    assert not isinstance(found, str)
    assert [(one.where, one.gravity, one.fix) for one in found] == [
        ("pkg/b.py:7", Gravity.CRITICAL, "keep it"),
        ("a.py:1", Gravity.LOW, ""),
    ]


@pytest.mark.parametrize("text", ["", "LGTM", "[]", '{"findings": "none"}', '{"findings": [3]}', '{"finding": []}'])
def test_what_is_no_list_of_findings_is_refused_in_a_sentence(text: str) -> None:
    said = read_remarks(text, PATHS)
    assert isinstance(said, str)
    assert said.endswith(".")


def test_an_endless_list_is_cut() -> None:
    many = [{"file": "a.py", "line": n, "severity": "low", "reason": f"number {n}"} for n in range(1, 200)]
    assert len(read_remarks(reply(*many), PATHS)) == MOST_REMARKS


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=12))
def test_texts_come_through_in_one_line_without_control_characters(reason: str, line: str, severity: str) -> None:
    found = read_remarks(reply({"file": "a.py", "line": line, "severity": severity, "reason": reason}), PATHS)
    for one in () if isinstance(found, str) else found:
        assert one.line >= 0
        assert one.reason == " ".join(one.reason.split())
        assert one.reason.isprintable() or "\ufffd" in one.reason or not one.reason.isascii()
