"""TESTING when the repository's tests pass, but the agent's own tests prove nothing about the change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from tests.support.agent_parts import RIGHT, Bench, PlainSuite, ScriptedModel, block, case_for, model_for

P = Phase
ASKED = "Let `add` in add.py sum its two numbers"
BASE = {"add.py": "def add(a, b):\n    return a\n"}
WRONG = block("add.py", "def add(a, b):\n    return 'a'\n")
NEVER_RED = block("tests/test_own.py", "from add import add\n\n\ndef test_own():\n    assert add(1, 0) == 1\n")
NEVER_RED_TOO = block("tests/test_own.py", "from add import add\n\n\ndef test_own():\n    assert add(2, 0) == 2\n")
SHARP = block("tests/test_own.py", "from add import add\n\n\ndef test_own():\n    assert add(2, 3) == 5\n")
OLD = {
    f"tests/test_old_{n}.py": f"from add import add\n\n\ndef test_old():\n    assert add({n}, 0) == {n}\n"
    for n in (1, 2)
}


@dataclass
class WithOldTests(PlainSuite):
    """A suite that runs the repository's own tests with every job, as `nightshift.attempt.regression` does."""

    async def judge(self, job: SuiteJob) -> Verdict:
        return await super().judge(replace(job, given={**job.given, **OLD}))

    @property
    def ran(self) -> list[tuple[int, int]]:
        """For each run, the count of the repository's test files and the count of the agent's test files."""
        return [(len(job.given), len(job.own)) for job in self.jobs]


def prompts_for_tests(model: ScriptedModel) -> list[str]:
    """Return all prompts that asked the model for tests."""
    asked = [request for request in model.requests if request.phase is P.TESTING]
    return ["\n".join(f"{message.role}: {message.text}" for message in request.messages) for request in asked]


def bench_for(*tests: str, code: Sequence[str] = (RIGHT,)) -> Bench:
    return Bench(model_for(*code, TESTING=tests), suite=WithOldTests(), base={**BASE, **OLD})


async def test_tests_that_show_nothing_twice_end_the_attempt_and_the_change_is_its_best() -> None:
    bench = bench_for(NEVER_RED, NEVER_RED_TOO, SHARP)
    state = await bench.run(case_for(ASKED))
    assert (state.phase, state.ending, len(prompts_for_tests(bench.model))) == (P.ABANDON, Ending.STUCK, 2)
    why = "The change passes the repository's 2 tests, but the self-written tests do not show what it changes"
    assert state.reason.startswith(why)
    assert state.best_here is not None
    assert state.best_here.change == {"add.py": "def add(a, b):\n    return a + b\n"}


async def test_code_that_breaks_a_test_of_the_repository_is_to_blame_and_not_the_unusable_tests() -> None:
    bench = bench_for(*["I would rather not."] * 3, SHARP, code=(WRONG, RIGHT))
    state = await bench.run(case_for(ASKED))
    assert state.phase is P.COMMIT
    assert bench.model.phases.count(P.CODING) == 2
    coding = [at for at, phase in enumerate(bench.model.phases) if phase is P.CODING]
    assert "test_old" in bench.model.prompt(coding[1])


@pytest.mark.parametrize("reply", ["I would rather not.", SHARP.replace("== 5", "== 6")])
@pytest.mark.parametrize("has_suite", [True, False])
async def test_no_prompt_for_tests_is_sent_twice_in_an_attempt(reply: str, has_suite: bool) -> None:
    bench = bench_for(*[reply] * 60, code=[RIGHT, WRONG] * 20)
    bench.suite = WithOldTests() if has_suite else PlainSuite()
    state = await bench.run(case_for(ASKED))
    assert state.phase is P.ABANDON
    assert [n for n in Counter(prompts_for_tests(bench.model)).values() if n > 1] == []
