"""Only the reviewers' findings on the current change of an attempt count as open."""

from __future__ import annotations

from dataclasses import replace

from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import message_for, trailers
from nightshift.core.tasks.remarks import Gravity, Reader, Reading, Remark
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import digest
from tests.support.agent_parts import case_for

CHANGE = {"add.py": "def add(a, b):\n    return a - b\n"}
CRITICAL = Remark(path="add.py", line=2, gravity=Gravity.CRITICAL, reason="it subtracts\nTask: 9, which is wrong")
LOW = replace(CRITICAL, gravity=Gravity.LOW, reason="a name")
IN = replace(CRITICAL, gravity=Gravity.HIGH, reason="any number is taken", reader=Reader.AUDIT)


def read(*remarks: Remark) -> AttemptState:
    """Return an attempt whose current change both readers have read, with these remarks as their findings."""
    readings = tuple(
        Reading(
            reader=reader, change=digest(CHANGE), found=tuple(remark for remark in remarks if remark.reader is reader)
        )
        for reader in Reader
    )
    return AttemptState(phase=Phase.COMMIT, base="b" * 40, change=CHANGE, readings=readings)


def test_the_grave_ones_of_all_readers_stand_open_the_worst_first() -> None:
    assert read(LOW, IN, CRITICAL).open_remarks == (CRITICAL, IN)
    assert read(LOW, IN, CRITICAL).remarks_on_change == (CRITICAL, IN, LOW)


def test_another_change_has_none_of_them_and_the_same_one_has_them_again() -> None:
    other = replace(read(CRITICAL), change={"add.py": "def add(a, b):\n    return a + b\n"})
    assert (other.open_remarks, other.reading(Reader.REVIEW)) == ((), None)
    assert replace(other, change=CHANGE).open_remarks == (CRITICAL,)


def test_they_hold_when_the_packages_of_the_change_are_declared() -> None:
    declared = read(CRITICAL).with_declared({**CHANGE, "requirements.txt": "toolz==1.0\n"}, {})
    assert declared.open_remarks == (CRITICAL,)
    assert read(CRITICAL).with_declared(CHANGE, {}) == read(CRITICAL)


def test_the_commit_names_them_in_its_body_and_counts_them_in_a_trailer() -> None:
    text = message_for(case_for().task, replace(read(IN, CRITICAL, LOW), project="shop")).text()
    assert trailers(text)["Open-Findings"] == "1 critical, 1 high"
    body = " ".join(text.split())
    assert "Findings that are left open: - critical (review): shop/add.py:2: it subtracts" in body
    assert "- high (audit): shop/add.py:2: any number is taken" in body
    assert trailers(text)["Task"] == "7"
    assert "Open-Findings" not in trailers(message_for(case_for().task, read(LOW)).text())


def test_a_secret_that_a_reader_repeats_is_not_committed() -> None:
    remark = replace(CRITICAL, reason="it prints hunter2 to the log")
    text = message_for(case_for().task, read(remark), lambda text: text.replace("hunter2", "***")).text()
    assert "prints *** to" in text
