"""Repeats the calls that JavaScript tests make, in a process without the tests, and compares the results.

A test reports its result from the process in which the tested code runs, so that code could forge the report. When the
calls are repeated, the code runs without the tests. The results are compared outside of the sandbox, so the expected
values never enter it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightshift.core.tasks.verdicts import Control, Finding, FindingKind, SuiteJob
from nightshift.verdict import answer
from nightshift.verdict.languages import plan
from nightshift.verdict.languages.javascript.plan import NodeLaunch
from nightshift.verdict.languages.javascript.replay import Replay, replay
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.suite_runs import SuiteRuns


async def ask_outside(job: SuiteJob, planned: Plan, runs: SuiteRuns) -> list[Finding]:
    """Report test files with a call that returns another value when it is made outside of the tests.

    Args:
        job: the job.
        planned: the plan of the job's test run.
        runs: runs programs in a sandbox.

    Raises:
        SandboxError: nothing could be run.
    """
    launch = planned.launch
    if not isinstance(launch, NodeLaunch):
        return []
    files = [file for file in planned.files if file.role is not Role.REGRESSION]
    asked = {file.path: replay_program for file in files if (replay_program := replay(file.path, file.text))}
    alone = replace(plan.calls_alone(planned, job.base.entries(), ()), launch=replace(launch, is_bare=True))

    async def ask(path: str, replay_program: Replay) -> Finding | None:
        program = replace(alone, command=(launch.program, *launch.flags, *replay_program.words))
        ready, result = await runs.executed(job, program)
        answered = answer.read(result, ready.key, ready.secret)
        session = answered.session if answered else None
        if session is None or session.how != "exited" or session.printed[2]:
            return None  # a run that took too long, or printed too much, proves nothing
        asked, has_answer = replay_program.find_differing(session.printed[0])
        call = " ".join(asked.split())
        if not call:
            return None
        if not has_answer:  # the code may need a setup that only its tests perform
            says = f"`{call}` gives no value outside of the tests"
            return Finding(kind=FindingKind.VALUE, where=path, says=says)
        says = f"`{call}` returns different values inside and outside of the tests"
        return Finding(kind=FindingKind.VALUE, where=path, says=says, control=Control.VALUE)

    findings = await asyncio.gather(*(ask(path, replay_program) for path, replay_program in asked.items()))
    return [finding for finding in findings if finding]
