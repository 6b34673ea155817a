"""Judges a change that removes a whole project of the workspace, so that nothing is left to run.

Projects cannot use each other, so no test of another project reaches the removed files. The verdict states that nothing
was run.
"""

from __future__ import annotations

from nightshift.core.tasks.task import digest
from nightshift.core.tasks.verdicts import Evidence, Label, SuiteJob, Verdict

_NOTE = "nothing was run: no file of the project is left"


def leaves_nothing(job: SuiteJob) -> bool:
    """Check whether a job removes every file of its project and adds none."""
    if job.whole_tree or not job.takes_away or job.given or job.own or job.command or job.held.cases:
        return False
    gone = {*job.gone, *(path for path, text in job.change.items() if text is None)}
    return bool(gone) and job.base.entries().keys() <= gone and not any(job.change.values())


def passed(job: SuiteJob) -> Verdict:
    """Return the passing verdict for a job that removes its whole project."""
    tree = digest(job.change, {})
    evidence = Evidence(tree=tree, sandbox="none", label=Label.REMOVED, complete=False, notes=(_NOTE,))
    return Verdict(passed=True, reason=_NOTE, evidence=evidence)
