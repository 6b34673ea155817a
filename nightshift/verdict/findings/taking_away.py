"""Looks whether a removal takes more than its task names: what the task names may go, and what only that used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.findings import Finding, FindingKind
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.findings.assets import subject_of

_WORD = re.compile(r"[a-z0-9]+")


def find_more(job: SuiteJob) -> Iterator[Finding]:
    """One question for all files that go although the task does not name them.

    Args:
        job: one whose change removes files; a renamed file is no removal.
    """
    gone = [path for path, text in job.change.items() if text is None and path in job.base.entries()]
    new = {text for text in job.change.values() if text}
    named = [path for path in gone if _is_named(path, job.asked or "")]
    more = [
        path
        for path in gone
        if path not in named
        and not is_test_path(path)
        and not any(_mentions(job, other, path) for other in named)
        and text_of(job.base, path) not in new
    ]
    if more:
        says = f"also removes {', '.join(more[:10])}, which the task does not name: may it go?"
        yield Finding(kind=FindingKind.TOOK_MORE, where=more[0], says=says, subject=subject_of(more[0], None))


def _is_named(path: str, words: str) -> bool:
    """Tell whether words name a file or a folder above it, by a name without its ending."""
    said = " ".join(_WORD.findall(words.lower()))
    names = (PurePosixPath(part).stem.lower() for part in path.split("/"))
    return any(f" {' '.join(_WORD.findall(name))} " in f" {said} " for name in names if _WORD.search(name))


def _mentions(job: SuiteJob, path: str, other: str) -> bool:
    """Tell whether a file says the name of another one."""
    return PurePosixPath(other).stem in (text_of(job.base, path) or "")
