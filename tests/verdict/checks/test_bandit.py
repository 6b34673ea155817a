"""Bandit checks text without writing files, and ignores exemption comments of the code's author."""

from __future__ import annotations

import asyncio

import pytest

from nightshift.core.tasks.change_checks import Severity
from nightshift.verdict.checks import bandit


def test_what_it_finds_is_weighed() -> None:
    for text, rule, severity in (
        ("import subprocess\nsubprocess.run(x, shell=True)  # nosec\n", "bandit.B602", Severity.BLOCK),
        ("import hashlib\nhashlib.md5(x)\n", "bandit.B324", Severity.NOTE),
        ("import telnetlib\n", "bandit.B401", Severity.ASK),
    ):
        (finding,) = (seen for seen in bandit.scan(text) if seen.rule == rule)
        assert finding.severity is severity
        assert finding.why


@pytest.mark.parametrize("text", ["def f(:", "x" * 500_000, "assert x\nimport random\nrandom.random()\n"])
def test_what_is_no_python_or_of_no_use_is_passed_over(text: str) -> None:
    assert bandit.scan(text) == ()


async def test_several_threads_may_read_at_once() -> None:
    texts = [f"import requests\nx = {n}\nrequests.get(u, verify=False, timeout={n})\n" for n in range(30)]
    scans = await asyncio.gather(*(asyncio.to_thread(bandit.scan, text) for text in texts))
    assert all({seen.rule for seen in scan} == {"bandit.B501"} for scan in scans)
