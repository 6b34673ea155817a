"""Verdicts are cleaned where they are made: each text is masked, printable and bounded, and keeps its meaning."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, Verdict
from nightshift.core.text.masking import MASK, Masker
from nightshift.sandbox.cleaning import MAX_TEXT, clean, print_output
from tests.support.sandboxes import Judge

SECRET = "daemon-secret-0123456789abcdef"
MASKED = Masker([SECRET])
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x07 \u202egnp.exe \u2066\u200b\x00 \x9b2J <script>alert(1)</script>\r"
    f'\n{{"level": "INFO", "event": "committed"}}\n{SECRET} sk-proj-abcdefghij0123456789 '
)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and not isinstance(value, Enum):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in texts(part))
    elif isinstance(value, tuple):
        yield from (text for part in value for text in texts(part))
    elif dataclasses.is_dataclass(value):
        yield from (text for field in dataclasses.fields(value) for text in texts(getattr(value, field.name)))


def verdict_of(text: str) -> Verdict:
    failure = Failure(id=text, kind=text, message=text, frame=text, excerpt=text, output=text)
    evidence = Evidence(
        tree="t", sandbox="s", label=Label.TESTS_PASSED, ids=(text,), python=text, notes=(text,), held_from=(text,)
    )
    result = CaseResult(id=text, result=Result.FAILED, message=text)
    return Verdict(
        passed=False, reason=text, evidence=evidence, results=(result,), failures=(failure,), weak=(text,),
        unseen=(text,),
    )  # fmt: skip


def assert_harmless(text: str) -> None:
    assert all(char.isprintable() or char in "\n\t" or char.isspace() for char in text), ascii(text[:200])
    assert not set(text) & set("\x1b\x9b\x00\x07\r\u202e\u2066\u200b")
    assert SECRET not in text
    assert "sk-proj" not in text
    assert len(text) <= MAX_TEXT + 2100


def test_colours_are_left_out_of_what_a_run_printed() -> None:
    verdict = clean(verdict_of("\x1b[0m\x1b[32m.\x1b[0m\x1b[31m [ 70%]\x1b[39;49;00m"), MASKED)
    assert (verdict.reason, verdict.failures[0].output) == (". [ 70%]", ". [ 70%]")


def test_every_text_of_a_verdict_is_masked_printable_and_bounded() -> None:
    verdict = clean(verdict_of(HOSTILE + "x" * 300_000), MASKED)
    all_texts = list(texts(verdict))
    assert len(all_texts) > 12
    for text in all_texts:
        assert_harmless(text)
    one_line = {verdict.reason, *verdict.evidence.ids, verdict.failures[0].kind, verdict.results[0].id, *verdict.unseen}
    assert not any("\n" in text for text in one_line)
    assert verdict.failures[0].message.count("\n") >= 2
    assert MASK in verdict.failures[0].message


@given(st.text(alphabet=st.characters(), max_size=40))
def test_cleaning_twice_changes_nothing_more_and_what_decides_stays(text: str) -> None:
    once = clean(verdict_of(text), MASKED)
    assert clean(once, MASKED) == once
    assert (once.passed, once.results[0].result, once.evidence.label) == (False, Result.FAILED, Label.TESTS_PASSED)
    assert once.failing == frozenset(once.evidence.ids)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bplain\x1b7", "red link plain"),
        ("10%\r50%\r100%\r\ndone\r\n", "100%\ndone\n"),
        ("a\x07b\x00c\x08\x1b", "abc\\x1b"),
        ("\x1b]never ended\nnext", "\nnext"),
        (f"{SECRET[:9]}\x1b[1m{SECRET[9:]} \u202e", f"{MASK} \\u{{202e}}"),
        ("ä\tü" * 3000, "ä\tü" * 3000),
    ],
)
def test_printed_output_is_what_a_terminal_shows_in_the_end(raw: str, shown: str) -> None:
    assert print_output(raw, MASKED) == shown


@given(st.text(alphabet="ab\x1b[]m;0\x07\r\n\\"))
def test_printed_output_holds_nothing_that_a_terminal_obeys(raw: str) -> None:
    output = print_output(raw, MASKED)
    assert not {"\x1b", "\x07", "\r"} & set(output)
    assert output.count("\n") == raw.count("\n")


NOISY = f"""
import os
import sys

import pytest

HOSTILE = {HOSTILE!r}


@pytest.mark.parametrize("value", [HOSTILE, "plain"])
def test_noise(value):
    os.write(1, b"z" * 300_000 + bytes([10, 255, 254, 0]) + HOSTILE.encode())
    print(HOSTILE, file=sys.stderr)
    raise type("Fault" + HOSTILE.replace(chr(0), ""), (Exception,), {{}})(HOSTILE)
"""


async def test_what_a_real_run_reports_is_harmless_wherever_it_goes(judge: Judge) -> None:
    verdict = await judge({"solution.py": "x = 1\n"}, {"test_noise.py": NOISY}, cpu_s=20)
    assert not verdict.passed
    assert len(verdict.results) == 2, verdict
    for text in texts(verdict):
        assert_harmless(text.replace(SECRET, ""))
    assert "Fault" in verdict.failures[0].kind
    assert verdict.failures[0].output
    assert len(repr(verdict)) < 60_000
