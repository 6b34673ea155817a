"""Ordinary JavaScript programs with ordinary tests are accepted on the first run."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.tasks.task import Language
from tests.support.sandboxes import Judge

ORDINARY = Path(__file__).parent / "ordinary"
"""Programs with their tests. Each file starts with a line of four slashes and its path; its text follows."""


def program(name: str) -> dict[str, str]:
    parts = f"\n{(ORDINARY / f'{name}.txt').read_text()}".split("\n//// ")[1:]
    return {path: f"{text}\n" for path, _, text in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize("name", sorted(path.stem for path in ORDINARY.iterdir()))
async def test_an_ordinary_program_is_accepted(name: str, judge: Judge) -> None:
    files = program(name)
    given = {path: text for path, text in files.items() if path.startswith("test/")}
    change = {path: text for path, text in files.items() if path not in given}
    verdict = await judge(change, given, language=Language.JAVASCRIPT, cpu_s=30)
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.twins
