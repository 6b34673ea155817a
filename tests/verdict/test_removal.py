"""The verdict on a change that removes all files of a project."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nightshift.core.tasks.verdicts import Label, SuiteJob
from nightshift.verdict import removal
from tests.support.trees import TextTree

BASE = TextTree({"README.md": "# stat\n", "stat.py": "", "tests/test_stat.py": ""})
JOB = SuiteJob(
    base=BASE,
    change={"README.md": None, "stat.py": None},
    gone=("tests/test_stat.py",),
    takes_away=True,
    whole_tree=False,
)


@pytest.mark.parametrize(
    "job",
    [
        replace(JOB, gone=()),
        replace(JOB, takes_away=False),
        replace(JOB, change={**JOB.change, "new.py": "x = 1\n"}),
        replace(JOB, own={"tests/test_new.py": ""}),
    ],
)
def test_what_leaves_or_adds_a_file_is_judged_like_any_change(job: SuiteJob) -> None:
    assert not removal.leaves_nothing(job)


def test_a_project_that_is_gone_is_said_to_have_run_nothing() -> None:
    assert removal.leaves_nothing(JOB)
    verdict = removal.passed(JOB)
    assert (verdict.passed, verdict.evidence.label) == (True, Label.REMOVED)
    assert verdict.evidence.notes == ("nothing was run: no file of the project is left",)
