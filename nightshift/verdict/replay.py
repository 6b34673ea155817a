"""Asks again, outside of any test, what the checks of JavaScript tests ask of the tested code, and compares here.

A test says what it found in the process that the tested code runs in. Here the code runs without its tests, and what it
answers is compared with the values of the tests, which nothing inside has.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.judging import Judgement, Run
from nightshift.verdict.languages import plan
from nightshift.verdict.languages.javascript.plan import NodeLaunch
from nightshift.verdict.languages.javascript.replay import replay
from nightshift.verdict.languages.plan import Role
from nightshift.verdict.suite_runs import SuiteRuns


async def ask_again(job: SuiteJob, run: Run, found: Judgement, runs: SuiteRuns) -> Judgement:
    """The judgement of a passing run, with a reason where the code answers otherwise outside of tests.

    Raises:
        SandboxError: nothing could be run.
    """
    launch = run.plan.launch
    if not found.passed or job.language is not Language.JAVASCRIPT or not isinstance(launch, NodeLaunch):
        return found
    files = [file for file in run.plan.files if file.role is not Role.REGRESSION]
    asked = {file.path: made for file in files if (made := replay(file.path, file.original))}
    alone = replace(plan.calls_alone(run.plan, job.base.entries(), ()), launch=replace(launch, is_bare=True))
    answers = await asyncio.gather(
        *(
            runs.run(job, replace(alone, command=(launch.program, *launch.flags, *made.words)))
            for made in asked.values()
        )
    )
    for made, answer in zip(asked.values(), answers, strict=True):
        session = answer.answer.session if answer.answer else None
        if session is None or session.how != "exited" or session.printed[2]:
            continue  # what took too long, or printed too much, says nothing
        if call := made.differing(session.printed[0]):
            reason = f"`{call}` gives another value outside of tests than in them: the result cannot be believed"
            return replace(found, reason=" ".join(reason.split()))
    return found
