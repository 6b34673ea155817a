"""Later prompts summarise earlier tries in a few words; after a fresh start they show a hand-over note instead."""

from __future__ import annotations

import json
from dataclasses import replace

from nightshift.agent.history import afresh, fit
from nightshift.agent.services import AgentSettings
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import SHORT_TERM, AttemptState, Brief, Reflection, Try
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Label, Result, Verdict
from tests.support.agent_parts import RIGHT, Bench, block, case_for, model_for

P = Phase
TESTS = {
    "test_add.py": "from add import add\n\n\n"
    + "\n\n".join(f"def test_{n}():\n    assert add({n}, 3) == {n + 3}\n" for n in range(4))
}


def wrong(n: int) -> str:
    """Return incorrect code that fails different tests for different `n`."""
    return block("add.py", f"def add(a, b):\n    return a + b if a in {{{n % 4}, {(n + n // 4 + 1) % 4}}} else {n}00\n")


def attempt(iteration: int, failing: tuple[str, ...] = ("test_a",)) -> Try:
    thought = Reflection(root_cause=f"cause {iteration}", suggested_fix=f"fix {iteration}")
    return Try(iteration=iteration, digest=str(iteration), failing=failing, feedback="OUTPUT", reflection=thought)


def judge_change(**results: bool) -> Verdict:
    cases = tuple(CaseResult(id=name, result=Result.PASSED if ok else Result.FAILED) for name, ok in results.items())
    return Verdict(
        passed=False, reason="", evidence=Evidence(tree="", sandbox="", label=Label.TESTS_PASSED), results=cases
    )


def work_of(count: int, **fields: object) -> AttemptState:
    tries = tuple(attempt(n) for n in range(1, count + 1))[-SHORT_TERM:]
    state = AttemptState(
        phase=P.REFLECTING, base="", iteration=count, tries=tries, verdict=judge_change(a=True, b=False)
    )
    return replace(state, change={"x.py": "1\n"}, **fields)  # type: ignore[arg-type]  # callers name fields of Work


def describe(work: AttemptState) -> str:
    return fit(work, 10_000, Gauge())[0]


def test_a_hand_over_names_goal_done_pending_files_and_what_was_tried() -> None:
    text = describe(afresh(work_of(3, brief=Brief(goal="Add two numbers"))))
    order = ["Goal:\n- Add two numbers", "Done:\n- 1 tests pass: a", "Pending:\n- 1 tests fail: b"]
    order += ["Files changed so far:\n- x.py", "What was tried, and why it failed:\n- Try 1 failed: test_a."]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "The diagnosis was: cause 2. What was suggested: fix 2." in text
    assert "OUTPUT" not in text


async def test_a_long_story_ends_in_a_fresh_context_that_counts_for_nothing() -> None:
    reflection = json.dumps({"root_cause": "because " * 60, "suggested_fix": "change " * 60})
    replies = [wrong(1), wrong(2), wrong(3), RIGHT]
    settings = AgentSettings(prompt_tokens=12_000, fresh_share=0.03)
    bench = Bench(model_for(*replies, REFLECTING=[reflection] * 9), settings=settings)
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.escalation) == (P.COMMIT, 0)
    fresh = [step.data["fresh"] for step in bench.steps if step.phase is P.REFLECTING]
    assert True in fresh
    assert not fresh[0]
    codings = [request.messages[1].text for request in bench.model.requests if request.phase is P.CODING]
    after = codings[fresh.index(True) + 1]
    assert "What was tried before this fresh start" in after
    assert "## Earlier tries" not in after
    assert "What was tried, and why it failed:\n- Try 1 failed" in after
