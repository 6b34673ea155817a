"""Checks whether a change removes more than its task names.

The change may remove what the task names, and whatever only the named parts used.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.verdicts import Finding, FindingKind, SuiteJob
from nightshift.core.text.faults import name_first
from nightshift.verdict.findings.assets import subject_of

_WORD = re.compile(r"[a-z0-9]+")
_NAME = re.compile(r"\w+")
_CHECKS = re.compile(r"^\s*(raise|if|elif|assert|except|return (False|None)\b)")


def find_more(job: SuiteJob) -> Iterator[Finding]:
    """Ask about removals that the task does not name.

    One question covers all removed files. Each changed Python file in which a function lost a check gives a further
    question.

    Args:
        job: a job whose change removes files; renaming a file does not count.
    """
    gone = [path for path, text in job.change.items() if text is None and path in job.base.entries()]
    new = {text for text in job.change.values() if text}
    named = [path for path in gone if _is_named(path, job.asked or "")]
    more = [
        path
        for path in gone
        if path not in named
        and not is_test_path(path)
        and not any(PurePosixPath(path).stem in (text_of(job.base, other) or "") for other in named)
        and text_of(job.base, path) not in new
    ]
    if more:
        says = f"also removes {name_first(more)}, which the task does not name: may it go?"
        yield Finding(kind=FindingKind.TOOK_MORE, where=more[0], says=says, subject=subject_of(more[0], None))
    if job.takes_away:
        names = {*_NAME.findall(job.asked or ""), *_names_of(job, gone)}
        for path, text in job.change.items():
            if text is None or not path.endswith(".py") or not (before := text_of(job.base, path)):
                continue
            for function in _find_lessened(before, text, names):
                says = f"also takes checks away in {function} of {path}, which the task does not name: may they go?"
                yield Finding(kind=FindingKind.TOOK_MORE, where=path, says=says, subject=subject_of(path, text))
                break


def _is_named(path: str, words: str) -> bool:
    """Check whether a text mentions the name of a file or of a folder above it; extensions are ignored."""
    text = " ".join(_WORD.findall(words.lower()))
    names = (PurePosixPath(part).stem.lower() for part in path.split("/"))
    return any(f" {' '.join(_WORD.findall(name))} " in f" {text} " for name in names if _WORD.search(name))


def _names_of(job: SuiteJob, gone: Collection[str]) -> Iterator[str]:
    """List the names of removed files, without extensions, and the names that these files define at the top level."""
    for path in gone:
        yield PurePosixPath(path).stem
        tree = parse_quietly(text_of(job.base, path) or "") if path.endswith(".py") else None
        yield from (getattr(node, "name", "") for node in tree.body if hasattr(node, "name")) if tree else ()


def _find_lessened(before: str, after: str, names: Collection[str]) -> Iterator[str]:
    """List functions that lost a check or were removed.

    A function is not listed if `names` contains its name. A function that still exists is not listed either if one of
    its removed lines mentions one of `names`.
    """
    then, now = _functions(before), _functions(after)
    for name, lines in then.items():
        lost = list((Counter(lines) - Counter(now.get(name, ()))).elements())
        if name in names or not lost or any(set(_NAME.findall(line)) & set(names) for line in lost if name in now):
            continue
        if name not in now or any(_CHECKS.match(line) for line in lost):
            yield name


def _functions(text: str) -> dict[str, list[str]]:
    tree = parse_quietly(text)
    nodes = ast.walk(tree) if tree else ()
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: ast.unparse(node).split("\n")[1:] for node in functions}
