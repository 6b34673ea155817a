"""Replays checks: repeats calls of the task's tests in a sandbox without the tests.

A call is repeated only if a test expects a literal result of it. A finding refuses a change only if it is certain: the
test passes, but its call returns a plain value other than the expected one. A call that raises makes the change
doubtful. An object instead of a plain value is only noted, because the object may be right.
"""

from __future__ import annotations

from collections.abc import Mapping

from nightshift.core.tasks.held_out import ValueCase
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Control, Finding, FindingKind, SuiteJob
from nightshift.sandbox.source import Source
from nightshift.verdict.answer import Reply
from nightshift.verdict.held import weighing
from nightshift.verdict.held.asking import BY_VALUE, Asker
from nightshift.verdict.held.extract import spots

MOST = 100
"""Maximum number of calls in one replay."""


async def replay(tests: Mapping[str, str], job: SuiteJob, asker: Asker) -> list[Finding]:
    """Report calls in passing tests that give another value outside of the tests.

    Args:
        tests: the test files of the task, path to text.
        job: the job.
        asker: makes calls in the sandbox.

    Raises:
        SandboxError: nothing could be run.
    """
    if job.language is not Language.PYTHON or job.held.cases:
        return []
    read = [(path, case) for path, text in tests.items() for case in _read_cases(path, text)]
    modules = {case.module for case in await asker.select(job, [case for _, case in read])}
    chosen_cases = [(path, case) for path, case in read if case.module in modules][:MOST]
    if not chosen_cases:
        return []
    replies = await asker.call(job, [case for _, case in chosen_cases])
    findings = (_weigh(path, case, reply) for (path, case), reply in zip(chosen_cases, replies, strict=True))
    return [finding for finding in findings if finding]


def _read_cases(path: str, text: str) -> list[ValueCase]:
    try:
        return [spot.case for spot in spots(path, Source(text)) if spot.case.compare in BY_VALUE]
    except (SyntaxError, ValueError):
        return []


def _weigh(path: str, case: ValueCase, reply: Reply | None) -> Finding | None:
    call = f"{case.function}({case.args[1:-1].removesuffix(',')})"
    if reply is None or reply.how != "value":
        return Finding(kind=FindingKind.VALUE, where=path, says=f"{call} fails outside of the tests")
    if not weighing.plainly(reply):
        if weighing.weigh(case, reply) is weighing.Finding.RIGHT:
            return None
        says = f"{call} gives an object that says it equals {case.expect}"
        return Finding(kind=FindingKind.OBJECT, where=path, says=says)
    if weighing.weigh(case, reply) in {weighing.Finding.RIGHT, weighing.Finding.UNKNOWN}:
        return None
    says = f"{call} returns a value other than {case.expect} outside of the tests"
    return Finding(kind=FindingKind.VALUE, where=path, says=says, control=Control.VALUE)
