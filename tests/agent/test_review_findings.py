"""Review findings as models write them: readable findings are accepted, all others are refused with a reason."""

from __future__ import annotations

import json

import pytest

from nightshift.agent.replies.remarks import read_remarks
from nightshift.core.tasks.remarks import Gravity, Reader

PATHS = ("a.py", "pkg/b.py")
ONE, BOTH = (Reader.REVIEW,), (Reader.REVIEW, Reader.AUDIT)


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
    read = read_remarks(reply(low, bad, low), PATHS, ONE)
    assert not read.fault
    assert [(remark.where, remark.gravity, remark.fix) for remark in read.remarks] == [
        ("pkg/b.py:7", Gravity.CRITICAL, "keep it"),
        ("a.py:1", Gravity.LOW, ""),
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"findings": [3]}'])
def test_what_is_no_list_of_findings_is_refused_in_a_sentence(text: str) -> None:
    read = read_remarks(text, PATHS, ONE)
    assert read.fault.endswith(".")
    assert not read.remarks


@pytest.mark.parametrize(
    ("reader_name", "whose"), [("review", Reader.REVIEW), ("", Reader.AUDIT), ("nobody", Reader.AUDIT)]
)
def test_what_does_not_say_whose_it_is_belongs_to_the_stricter_of_two_readers(reader_name: str, whose: Reader) -> None:
    text = reply({"file": "a.py", "severity": "high", "reason": "a lost value", "reader": reader_name})
    assert [remark.reader for remark in read_remarks(text, PATHS, BOTH).remarks] == [whose]
    assert [remark.reader for remark in read_remarks(text, PATHS, ONE).remarks] == [Reader.REVIEW]
