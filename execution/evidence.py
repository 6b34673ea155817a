"""The evidence of a verdict as a git note: enough to run it again and to say what still holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from core.revisions import Commit
from core.tasks import Task
from core.verdicts import Result, Verdict
from core.work import Work

FORMAT = 1


def to_note(task: Task, work: Work, commit: Commit, verdict: Verdict) -> str:
    """The note's text: JSON with sorted keys.

    `tests` are the paths of the owner's tests, `own_tests` of the agent's; both stand in the commit's tree. `evidence`
    is `core.verdicts.Evidence`, field by field.
    """
    note: dict[str, Any] = {
        "format": FORMAT,
        "task": task.id,
        "commit": commit.id,
        "tree": commit.tree,
        "base": commit.parent,
        "tests": sorted(task.spec.tests),
        "own_tests": sorted(work.own_tests),
        "command": list(task.spec.test_command),
        "passed": verdict.count(Result.PASSED),
        "evidence": asdict(verdict.evidence),
    }
    return json.dumps(note, indent=1, sort_keys=True) + "\n"
