"""The engine's way into the sandbox: shut until there is one, and open from then on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent.library import FileTree
from bootstrap.engine import NOT_YET, LateTrials
from core.errors import SandboxError
from core.trials import (
    Answered,
    Call,
    Candidate,
    How,
    Outcome,
    Patience,
    Sight,
    Synthesised,
    SynthesisJob,
    TrialJob,
)

JOB = TrialJob(base=FileTree({}), change={}, tests={})
CANDIDATE = Candidate(path="a.py", scope="", text="x = 1\n")
STUB = SynthesisJob(job=JOB, path="a.py", scope="f")


class Counting:
    """A port that answers how much it was asked."""

    async def observe(self, job: TrialJob) -> Sight:
        assert job is JOB
        return Sight()

    async def attempt(
        self, job: TrialJob, candidates: Sequence[Candidate], order: Sequence[str], patience: Patience
    ) -> Sequence[Outcome]:
        return [Outcome(how=How.PASSED, passed=len(order)) for _ in candidates]

    async def probe(
        self, job: TrialJob, variants: Sequence[Candidate], calls: Sequence[Call], patience: Patience
    ) -> Sequence[Sequence[Answered]]:
        return [[Answered(how=How.PASSED)] * len(calls) for _ in variants]

    async def synthesise(self, job: SynthesisJob) -> Synthesised:
        return Synthesised(texts=(job.scope,))


async def test_before_there_is_a_sandbox_everything_says_so() -> None:
    late = LateTrials()
    assert late.why_missing() == NOT_YET
    for asked in (
        lambda: late.observe(JOB),
        lambda: late.attempt(JOB, [CANDIDATE], ["t"], Patience()),
        lambda: late.probe(JOB, [CANDIDATE], [], Patience()),
        lambda: late.synthesise(STUB),
    ):
        with pytest.raises(SandboxError, match=NOT_YET):
            await asked()


async def test_where_there_will_be_none_it_says_why() -> None:
    late = LateTrials()
    late.give_up("nothing can be run: install bubblewrap")
    assert late.why_missing() == "nothing can be run: install bubblewrap"
    with pytest.raises(SandboxError, match="install bubblewrap"):
        await late.observe(JOB)


async def test_once_it_is_open_everything_is_passed_on() -> None:
    late, port = LateTrials(), Counting()
    late.open(port, port)
    assert late.why_missing() == ""
    assert await late.observe(JOB) == Sight()
    assert await late.attempt(JOB, [CANDIDATE] * 2, ["a", "b"], Patience()) == [Outcome(how=How.PASSED, passed=2)] * 2
    call = Call(path="a.py", scope="f", args=[], kwargs={})
    assert await late.probe(JOB, [CANDIDATE], [call], Patience()) == [[Answered(how=How.PASSED)]]
    assert (await late.synthesise(STUB)).texts == ("f",)


async def test_without_a_synthesiser_stubs_are_not_filled_and_the_rest_goes_on() -> None:
    late = LateTrials()
    late.open(Counting())
    found = await late.synthesise(STUB)
    assert (found.texts, bool(found.why)) == ((), True)
