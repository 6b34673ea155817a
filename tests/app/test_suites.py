"""The owner's settings reach the checker of changes and the commit hooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nightshift.app.suites import make_checker
from nightshift.config.load import load_settings
from nightshift.core.tasks.change_checks import ChangeCheckJob, ChangeCheckReport, Severity
from nightshift.core.tasks.task import TaskSpec
from tests.support.trees import TextTree


async def report(flags: Mapping[str, object], home: Path, **fields: str) -> ChangeCheckReport:
    checker = make_checker(load_settings(flags, home))
    spec = checker.policy.widened(TaskSpec(description="Write it", **fields))  # type: ignore[arg-type]
    change = {"a.py": "def f(x):\n    return eval(x)\n", "b.sh": "terraform apply\n"}
    return await checker.change_check.examine(ChangeCheckJob(spec=spec, tree=TextTree(), change=change))


async def test_rules_repositories_and_patterns_are_the_owners(tmp_path: Path) -> None:
    usual = await report({}, tmp_path)
    assert [(f.rule, f.severity) for f in usual.findings] == [("python.eval", Severity.BLOCK)]
    flags = {"checker_rules": {"python.eval": "note"}, "blocked_commands": ["terraform apply *"]}
    owners_report = await report(flags, tmp_path)
    assert {(f.rule, f.severity) for f in owners_report.findings} == {
        ("python.eval", Severity.NOTE),
        ("command.own.terraform-apply", Severity.BLOCK),
    }
    assert (await report({"checker_allow": {str(tmp_path): ["python"]}}, tmp_path, repo=str(tmp_path))).findings == ()
