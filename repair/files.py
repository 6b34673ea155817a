"""The files that a mend may change: the task's own, and those of the repository that failing tests run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from core.parsing import parse_quietly
from repair.evaluation import Sight, TrialJob

MOST_FILES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Path to text, and path to syntax tree of those that parse."""

    texts: Mapping[str, str] = field(default_factory=dict)
    trees: Mapping[str, ast.Module] = field(default_factory=dict)


def sources(job: TrialJob, sight: Sight) -> Sources:
    """Read what may be changed: Python files that are no tests and steer none.

    Args:
        job: the tree.
        sight: what the tests were seen to do; files of the base take part if failing tests ran them, or ended there.
    """
    texts = dict[str, str]()
    for path in list(dict.fromkeys(_paths(job, sight)))[:MOST_FILES]:
        text = _text(job, path)
        if text is not None and _may_change(job, path):
            texts[path] = text
    parsed = {path: parse_quietly(text) for path, text in texts.items()}
    return Sources(texts=texts, trees={path: tree for path, tree in parsed.items() if tree is not None})


def _paths(job: TrialJob, sight: Sight) -> Iterator[str]:
    yield from (path for path, text in {**job.start, **job.change}.items() if text is not None)
    for trouble in (*sight.broken.values(), *(test.trouble for test in sight.failing if test.trouble)):
        yield from (frame[0] for frame in trouble.frames)
    yield from sight.broken
    for test in sight.failing:
        yield from test.lines


def _text(job: TrialJob, path: str) -> str | None:
    for files in (job.change, job.start):
        if path in files:
            return files[path]
    if path not in job.base.entries():
        return None
    try:
        return job.base.read(path).decode()
    except UnicodeDecodeError:
        return None


def _may_change(job: TrialJob, path: str) -> bool:
    name = path.rpartition("/")[2]
    is_test = path in job.tests or name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return path.endswith(".py") and not is_test and path not in job.base.unwritable()
