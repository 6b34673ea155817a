"""Later prompts summarise earlier tries in a few words; after a fresh start they show a hand-over note instead."""

from __future__ import annotations

import json
from dataclasses import replace

from nightshift.agent.history import afresh, fit, hand_over, history_tokens, lines_of
from nightshift.agent.services import AgentSettings
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import SHORT_TERM, AttemptState, Reflection, Try
from nightshift.core.tasks.brief import Brief
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Label, Result, Verdict
from tests.support.agent_parts import Bench, block, case_for, model_for

P = Phase
TESTS = {
    "test_add.py": "from add import add\n\n\n"
    + "\n\n".join(f"def test_{n}():\n    assert add({n}, 3) == {n + 3}\n" for n in range(4))
}
RIGHT = block("add.py", "def add(a, b):\n    return a + b\n")


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


def test_an_earlier_hand_over_goes_on_in_the_next_one_and_the_oldest_tries_are_counted() -> None:
    work = afresh(work_of(5))
    assert lines_of(work) == []
    work = replace(work, iteration=10, tries=tuple(attempt(n) for n in range(6, 11)))
    assert len(lines_of(work)) == 5
    later = describe(afresh(work))
    assert "(the 2 oldest tries are left out)" in later
    assert "Try 3 failed" in later
    assert "Try 10 failed" in later
    assert "Try 2 failed" not in later


def test_a_hand_over_that_is_too_long_loses_its_oldest_tries_first() -> None:
    work = afresh(work_of(5))
    assert work.handed
    (full_text, is_cut), (short_text, is_shorter) = fit(work, 1000, Gauge()), fit(work, 170, Gauge())
    assert (full_text, is_cut) == (hand_over(work.handed), False)
    assert is_shorter
    assert "oldest tries are left out" in short_text
    assert "Try 5 failed" in short_text
    assert "Try 1 failed" not in short_text
    assert Gauge().tokens(short_text) <= 170


def test_a_story_is_bounded_however_long_an_attempt_lasts() -> None:
    work, gauge = work_of(1), Gauge()
    for n in range(2, 200):
        huge = attempt(n, tuple(f"{'t' * 5000}{k}" for k in range(200)))
        work = replace(work, iteration=n, tries=(*work.tries, huge)[-SHORT_TERM:])
        work = afresh(work) if n % 3 == 0 else work
        assert history_tokens(work, gauge) < 6000


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


async def test_a_short_story_is_told_as_it_is() -> None:
    bench = Bench(model_for(wrong(1), wrong(2), wrong(3), RIGHT))
    await bench.run(case_for(tests=TESTS))
    assert not any(step.data.get("fresh") for step in bench.steps)
    assert "Earlier tries" in bench.model.prompt(len(bench.model.requests) - 1)


async def test_the_output_of_earlier_runs_is_masked() -> None:
    bench = Bench(model_for(wrong(1), wrong(2), RIGHT))
    await bench.run(case_for(tests=TESTS))
    last = [request.messages[1].text for request in bench.model.requests if request.phase is P.CODING][-1]
    assert last.count("tests failed") <= 1
    assert "----- begin result" in last
    assert "Try 1 failed: test_add.py::" in last


def test_without_a_fresh_start_there_is_no_hand_over_and_nothing_was_left_out() -> None:
    assert fit(AttemptState(phase=Phase.CODING, base="0" * 40), 1000, Gauge()) == ("", False)
