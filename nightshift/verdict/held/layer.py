"""Layer 4 of a verdict: combines held-out cases with the tests, and limits what a model learns from the result.

The shown tests run first, because their failures may be reported, and because no tested code has yet seen anything that
the model does not know. The held-out calls come next; only their inputs enter the sandbox. The owner's complete tests
come last, so that code in them cannot carry anything out of its sandbox in time for the other two.

The complete tests are the shown tests plus the checks that were held out of them. The held-out calls repeat these
checks. If every such call returned the right value, a single plain run of the complete tests is enough. It needs no
must-fail copies of the tests, because the run of the shown tests has already included such copies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from nightshift.core.tasks.held_out import ValueCase
from nightshift.core.tasks.verdicts import (
    HELD_OUT,
    CaseResult,
    Evidence,
    Failure,
    Finding,
    FindingKind,
    Label,
    Result,
    SuiteJob,
    Verdict,
)
from nightshift.verdict.held.asking import Asked
from nightshift.verdict.held.weighing import Finding as Weighed

KIND = HELD_OUT
_HINT = (
    "This was checked with inputs that are not shown. The code must follow the task's words for every input they allow."
)
_MAX_LINES = 20
MOST_TRIES = 2
"""Maximum number of attempts that failed on held-out cases.

After more attempts, the answers may have been guessed, so passing the cases no longer earns a better label.
"""

Judge = Callable[[SuiteJob], Awaitable[Verdict]]
Ask = Callable[[SuiteJob], Awaitable[Asked]]


async def judge(job: SuiteJob, tests: Judge, plainly: Judge, ask: Ask, sandbox: str) -> Verdict:
    """Return the verdict of all four layers.

    Args:
        job: a job with or without held-out cases.
        tests: returns the verdict of the first three layers.
        plainly: returns the verdict of one run of the tests without must-fail copies.
        ask: runs the held-out cases.
        sandbox: the name of the sandbox, for the evidence if no test was run.

    Raises:
        SandboxError: nothing could be run.
    """
    if not job.held.cases:
        return await tests(job)
    if not (job.given or job.own or job.command or job.regression):
        return _of_cases(job, await ask(job), sandbox)
    if not job.held.shown:
        full_verdict = await tests(job)
        return _with_cases(full_verdict, await ask(job), job) if full_verdict.passed else full_verdict
    seen = await tests(replace(job, given={**job.given, **job.held.shown}))
    if not seen.passed:
        return seen
    asked = await ask(job)
    full_verdict = _unspoken(_prove_by_whole(seen, await plainly(job)) if _all_right(job, asked) else await tests(job))
    if full_verdict.passed:
        return _with_cases(full_verdict, asked, job)
    return await _judge_contradiction(job, full_verdict, seen, tests, asked)


def _all_right(job: SuiteJob, asked: Asked) -> bool:
    """Check whether every check that is held out of the tests was repeated as a call and gave the right result."""
    right = {case for case, finding in asked.findings if finding is Weighed.RIGHT}
    is_clean = not (asked.wrong or asked.stopped or asked.is_forged)
    return is_clean and all(case in right for case in job.held.cases if not (case.shown or case.explicit))


def _prove_by_whole(seen: Verdict, full_verdict: Verdict) -> Verdict:
    """Return the verdict of a plain run of the complete tests, with the evidence from the run of the shown tests."""
    proof = seen.evidence
    evidence = replace(full_verdict.evidence, twins=proof.twins, notes=proof.notes, mutants=proof.mutants)
    return replace(full_verdict, evidence=evidence)


def _unspoken(verdict: Verdict) -> Verdict:
    """Return a verdict on the complete tests without any text that the code in the run could have written.

    That code can read the held-out checks, and the model reads the verdict. So parameter names, messages and the like
    are removed. Only the names of test functions and their results stay.
    """
    results = {case.id.partition("[")[0]: case.result for case in verdict.results}
    for case in verdict.results:
        if case.result is not Result.PASSED:
            results[case.id.partition("[")[0]] = case.result
    shown = tuple(CaseResult(id=name, result=result) for name, result in results.items())
    reason = f"{len(shown)} test{'s' if len(shown) > 1 else ''} passed" if verdict.passed else verdict.reason
    return replace(
        verdict, reason=reason, results=shown, weak=(), evidence=replace(verdict.evidence, ids=tuple(results)),
    )  # fmt: skip


async def _judge_contradiction(
    job: SuiteJob, full_verdict: Verdict, seen: Verdict, tests: Judge, asked: Asked
) -> Verdict:
    """Return the verdict if the shown tests pass and the complete tests fail.

    A fault of the code usually shows in the held-out calls as well. If it does not, the complete tests may have failed
    by chance or under load, so they run again.
    """
    if not (asked.wrong or asked.stopped):
        again = await tests(job)
        if again.passed:
            return _with_cases(_unspoken(again), asked, job)
    lines = (
        f"the complete tests: {full_verdict.reason}",
        *(f"{failure.id}: {failure.kind}: {failure.message}" for failure in full_verdict.failures),
    )
    return _refuse_verdict(seen, asked, lines)


def _with_cases(verdict: Verdict, asked: Asked, job: SuiteJob) -> Verdict:
    """Add the results of the held-out cases to a passing verdict; wrong results make the verdict fail."""
    if asked.wrong or asked.stopped:
        return _refuse_verdict(verdict, asked, ())
    if asked.is_forged:
        says = "the report of the held-out calls contains data that answers no call"
        forged = Finding(kind=FindingKind.FORGED, where="", says=says)
        evidence = replace(verdict.evidence, label=Label.DOUBTFUL)
        return replace(verdict, reason=says, findings=(*verdict.findings, forged), evidence=evidence)
    evidence = replace(verdict.evidence, notes=(*verdict.evidence.notes, *asked.notes))
    if not (asked.judged or job.given or job.own or job.command):
        reason = "; ".join(asked.notes) or "no held-out case could be judged"
        return replace(verdict, passed=False, reason=reason, evidence=replace(evidence, label=Label.TESTS_PASSED))
    if asked.verifies and job.held_tries < MOST_TRIES:
        evidence = replace(evidence, label=Label.VERIFIED)
    elif asked.verifies:
        tried = f"{job.held_tries} tries failed on held-out cases, so that these prove no more than the tests"
        evidence = replace(evidence, notes=(*evidence.notes, tried))
    if asked.judged:
        evidence = replace(evidence, held_out=asked.judged, held_from=_sources(job, asked))
    reason = f"{verdict.reason} and {_count(asked.judged)}" if asked.judged else verdict.reason
    return replace(verdict, reason=reason, evidence=evidence)


def _of_cases(job: SuiteJob, asked: Asked, sandbox: str) -> Verdict:
    """Return the verdict on a task that has cases and no tests."""
    evidence = Evidence(tree=asked.tree, sandbox=sandbox, label=Label.TESTS_PASSED, complete=job.whole_tree)
    return _with_cases(Verdict(passed=True, reason="all calls gave the right results", evidence=evidence), asked, job)


def _refuse_verdict(verdict: Verdict, asked: Asked, lines: Iterable[str]) -> Verdict:
    """Return a failing verdict about hidden checks.

    The failures in this verdict contain the name of a function and a kind of failure, but no input or result.
    """
    ways = dict.fromkeys((case.function, _way(case, finding)) for case, finding in asked.wrong)
    if asked.stopped:
        ways = dict.fromkeys([("held-out cases", f"calls that are not shown {asked.stopped}")])
    if not ways:
        ways = dict.fromkeys([("held-out tests", "a check that is not shown fails, although the shown ones pass")])
    failures = tuple(Failure(id=name, kind=KIND, message=f"{text}. {_HINT}") for name, text in ways)
    wrong = [_line(case, finding) for case, finding in asked.wrong]
    return replace(
        verdict,
        passed=False,
        reason="; ".join(text for _, text in list(ways)[:3]),
        failures=failures,
        unseen=(*wrong, *lines)[:_MAX_LINES],
        evidence=replace(verdict.evidence, label=Label.TESTS_PASSED, notes=(*verdict.evidence.notes, *asked.notes)),
    )


def _way(case: ValueCase, finding: Weighed) -> str:
    if case.shown:
        return f"`{case.function}` {finding}, called as in a shown test, where no test framework is in the process"
    return f"a held-out case of `{case.function}` {finding}"


def _line(case: ValueCase, finding: Weighed) -> str:
    """Describe a case with its inputs and its expected result. Only the owner may see this text."""
    named = "" if case.kwargs == "{}" else f"**{case.kwargs}"
    inputs = ", ".join(part for part in (case.args[1:-1].removesuffix(","), named) if part)
    expected = f"raises {', '.join(case.raises)}" if case.raises else case.expect
    return f"{case.call}({inputs}) {finding}; expected ({case.compare}): {expected}"


def _sources(job: SuiteJob, asked: Asked) -> tuple[str, ...]:
    """Return the origins of the hidden cases that gave the right value: `tests`, `cases` or `oracle`."""
    right = [case for case, finding in asked.findings if finding is Weighed.RIGHT and not case.shown]
    names = ("cases" if case in job.held.cases else "oracle" for case in right if case.explicit)
    return tuple(dict.fromkeys([*("tests" for case in right if not case.explicit), *names]))


def _count(cases: int) -> str:
    return f"{cases} held-out case{'s' if cases > 1 else ''}"
