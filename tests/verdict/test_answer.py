from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.isolation import Ended, SandboxResult
from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.answer import Answer, read

KEY = b"k" * 32
GOOD = [
    {"e": "start", "id": "t.py::test_a"},
    {"e": "end", "id": "t.py::test_a", "result": "passed", "s": 0.1, "fail": None},
    {"e": "finish", "exit": 0, "changed": []},
]


def result(stdout: bytes) -> SandboxResult:
    return SandboxResult(exit_code=0, ended=Ended.EXITED, stdout=stdout, stderr=b"", duration_s=0.1)


def sign(events: str, key: bytes = KEY, **more: Any) -> bytes:
    suite = {"ended": "exited", "exit": 0, "events": events, "output": {}, "duration_s": 0.1, "cpu_s": 0.1, "limit": ""}
    text = json.dumps({"python": "3.11.2", "suite": suite, "altered": [], **more}).encode()
    return hashlib.blake2b(text, key=key).hexdigest().encode() + b"\n" + text


def lines(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def take(events: str) -> Answer:
    answer = read(result(sign(events)), KEY)
    assert answer is not None
    return answer


@pytest.mark.parametrize("stdout", [b"nonsense", sign("", b"x" * 32), b"00" + sign(""), sign("") + b" "])
def test_an_answer_without_the_signature_is_none(stdout: bytes) -> None:
    assert read(result(stdout), KEY) is None


@pytest.mark.parametrize(
    "extra",
    [
        "not json\n", "{}\n", '{"e": "end", "id": "t.py::test_b", "result": "fine", "fail": null}\n',
        '{"e": "end", "id": 1, "rows": [[1]], "fail": 2}\n',
    ],
)  # fmt: skip
def test_what_the_recorder_would_not_write_marks_the_stream(extra: str) -> None:
    assert take(lines(*GOOD) + extra).session.garbled


@given(st.lists(st.text() | st.sampled_from([json.dumps(event) for event in GOOD]), max_size=8))
def test_no_stream_of_events_breaks_the_reader(events: list[str]) -> None:
    session = take("\n".join(events)).session
    assert len(session.tests) <= len(events)


def test_only_lines_with_the_secret_count() -> None:
    text = "".join(f"secret{line}\n" for line in lines(*GOOD).splitlines())
    answer = read(result(sign(text)), KEY, "secret")
    assert answer is not None
    assert (answer.session.tests[0].result, answer.session.garbled) == (Result.PASSED, False)
    forged = read(result(sign(text + lines(GOOD[1]))), KEY, "secret")
    assert forged is not None
    assert (len(forged.session.tests), forged.session.garbled) == (1, True)
