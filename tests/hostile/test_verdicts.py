"""Forged verdicts: no wrong answer gets a better label than its `best`, and no verdict reveals held-out cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio

from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.verdicts import Label, SuiteJob, Verdict
from nightshift.sandbox.nested import NestedSandbox
from nightshift.sandbox.pool import Pool
from nightshift.verdict.runner import SuiteRunner
from tests.hostile.verdicts.every import FORGERIES, RIGHT
from tests.hostile.verdicts.forgery import Kind, Suite
from tests.support.sandboxes import bubblewrap, open_folder, runtime
from tests.support.trees import TextTree

MODULE = pytest.mark.asyncio(loop_scope="module")
LEAKS = [name for name, forgery in FORGERIES.items() if forgery.kind is Kind.LEAK]
PASSING = [name for name in FORGERIES if name not in LEAKS]
ORDER = (Label.DOUBTFUL, Label.TESTS_PASSED, Label.VERIFIED)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner() -> AsyncIterator[SuiteRunner]:
    """A suite runner whose sandboxes are kept warm, so that one answer can leave something to the next."""
    with open_folder() as folder:
        nested = NestedSandbox(bubblewrap(), runtime())
        pool = Pool(nested, size=2)
        yield SuiteRunner(pool, runtime(), emit=lambda _event: None, staging_dir=folder)
        await pool.aclose()
        await nested.aclose()


async def judge_change(runner: SuiteRunner, suite: Suite, files: Mapping[str, str]) -> Verdict:
    job = SuiteJob(
        base=TextTree(suite.base),
        change=files,
        given=suite.given,
        held=suite.held,
        language=suite.language,
        limits=RunLimits(cpu_s=15),
    )
    return await runner.judge(job)


def describe(verdict: Verdict) -> str:
    """Return all parts of a verdict that a model, its memory or the next attempt may see."""
    return repr((verdict.reason, verdict.results, verdict.failures, verdict.weak, verdict.evidence))


@MODULE
@pytest.mark.parametrize("name", PASSING)
async def test_a_forged_answer_gets_no_better_label_than_its_row_says(name: str, runner: SuiteRunner) -> None:
    forgery = FORGERIES[name]
    for _ in range(2 if forgery.kind is Kind.CHANNEL else 1):  # the second attempt may find what the first one left
        verdict = await judge_change(runner, forgery.suite, forgery.files)
        label = verdict.evidence.label
        assert not verdict.passed or ORDER.index(label) <= ORDER.index(forgery.best), f"{label}: {verdict.reason}"


@MODULE
@pytest.mark.parametrize("name", LEAKS)
async def test_a_refusal_does_not_tell_what_was_held_out(name: str, runner: SuiteRunner) -> None:
    forgery = FORGERIES[name]
    verdict = await judge_change(runner, forgery.suite, forgery.files)
    assert not any(text in describe(verdict) for text in forgery.carries)
    honest = await judge_change(runner, forgery.suite, forgery.suite.honest)
    assert {result.id for result in verdict.results} <= {result.id for result in honest.results}
    assert set(verdict.evidence.ids) <= set(honest.evidence.ids)


@MODULE
@pytest.mark.parametrize("name", RIGHT)
async def test_a_right_answer_passes(name: str, runner: SuiteRunner) -> None:
    suite = RIGHT[name]
    verdict = await judge_change(runner, suite, suite.honest)
    assert verdict.passed, verdict.reason
    assert verdict.evidence.label is (Label.VERIFIED if suite.held.cases else Label.TESTS_PASSED)
