"""Review findings as models write them: readable findings are accepted, all others are refused with a reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.replies.remarks import MOST_REMARKS, read_remarks
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


@pytest.mark.parametrize("text", ["", "LGTM", "[]", '{"findings": "none"}', '{"findings": [3]}', '{"finding": []}'])
def test_what_is_no_list_of_findings_is_refused_in_a_sentence(text: str) -> None:
    read = read_remarks(text, PATHS, ONE)
    assert read.fault.endswith(".")
    assert not read.remarks


def test_of_an_endless_list_the_worst_are_kept() -> None:
    many = [{"file": "a.py", "line": n, "severity": "low", "reason": f"number {n}"} for n in range(1, 200)]
    worst = {"file": "a.py", "line": 200, "severity": "critical", "reason": "loses data"}
    remarks = read_remarks(reply(*many, worst), PATHS, ONE).remarks
    assert len(remarks) == MOST_REMARKS
    assert remarks[0].reason == "loses data"


def test_what_can_be_read_beside_what_cannot_is_not_lost() -> None:
    good = {"file": "a.py", "line": 1, "severity": "high", "reason": "a lost value"}
    read = read_remarks(reply({"file": "a.py"}, good), PATHS, ONE)
    assert [remark.reason for remark in read.remarks] == ["a lost value"]
    assert read.fault.startswith("Finding 1: severity")


def test_a_finding_about_a_file_that_the_change_has_not_keeps_the_name_that_was_written() -> None:
    remarks = read_remarks(
        reply({"file": "b/else.py", "severity": "high", "reason": "still calls it"}), PATHS, ONE
    ).remarks
    assert [remark.where for remark in remarks] == ["else.py"]


@pytest.mark.parametrize(
    ("reader_name", "whose"),
    [("review", Reader.REVIEW), (" Audit ", Reader.AUDIT), ("", Reader.AUDIT), ("nobody", Reader.AUDIT)],
)
def test_what_does_not_say_whose_it_is_belongs_to_the_stricter_of_two_readers(reader_name: str, whose: Reader) -> None:
    text = reply({"file": "a.py", "severity": "high", "reason": "a lost value", "reader": reader_name})
    assert [remark.reader for remark in read_remarks(text, PATHS, BOTH).remarks] == [whose]
    assert [remark.reader for remark in read_remarks(text, PATHS, ONE).remarks] == [Reader.REVIEW]


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=12))
def test_texts_come_through_in_one_line_without_control_characters(reason: str, line: str, severity: str) -> None:
    text = reply({"file": "a.py", "line": line, "severity": severity, "reason": reason})
    for remark in read_remarks(text, PATHS, ONE).remarks:
        assert remark.line >= 0
        assert remark.reason == " ".join(remark.reason.split())
        assert remark.reason.isprintable() or "\ufffd" in remark.reason or not remark.reason.isascii()
