"""Ordinary programs that need the same functions as forgeries: none is blocked, and the owner is not asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.code import javascript
from nightshift.core.tasks.change_checks import ChangeCheckJob, Severity
from nightshift.core.tasks.task import TaskSpec
from nightshift.verdict.checks import python
from nightshift.verdict.checks.checker import StaticChecker
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.policy import Policy
from tests.support.trees import TextTree

GATE = StaticChecker(Policy(), CommandHooks(()))
PARTS = (Path(__file__).parent / "right_programs.txt").read_text().split("=== ")[1:]
PROGRAMS = {name: text for name, _, text in (part.partition("\n") for part in PARTS)}


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_right_program_is_let_through(name: str) -> None:
    text = PROGRAMS[name]
    assert python.read_tree(text) if name.endswith(".py") else javascript.fault(name, text) is None
    job = ChangeCheckJob(spec=TaskSpec(description="Write it"), tree=TextTree(), change={name: text})
    report = await GATE.examine(job)
    assert [finding for finding in report.findings if finding.severity is not Severity.NOTE] == []
    assert report.asks == ()
