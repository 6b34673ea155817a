"""The phases that one attempt passes through, with a real suite and scripted replies."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.agent.machine import FIRST, TABLE, Machine
from nightshift.agent.services import AgentServices, Runner
from nightshift.attempt import subtasks
from nightshift.core.errors import NightshiftError
from nightshift.core.events import Kind
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.states import TERMINAL_PHASES, Ending, Outcome, Phase, Status
from nightshift.core.tasks.task import Subtask, Task
from nightshift.core.tasks.verdicts import Evidence, Label, Verdict
from tests.support.agent_parts import RIGHT, TESTS, WRONG, Bench, ScriptedModel, Walk, case_for, model_for

P = Phase


async def test_wrong_first_and_right_second_is_two_tries_and_four_calls() -> None:
    bench = Bench(model_for(WRONG, RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert work.phase is P.COMMIT
    assert work.iteration == 2
    assert bench.model.phases == [P.PLANNING, P.CODING, P.REFLECTING, P.CODING]
    assert bench.walk == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.CODING, P.TESTING]
    assert work.change == {"add.py": "def add(a, b):\n    return a + b\n"}
    assert work.verdict is not None
    assert work.verdict.passed
    assert work.spent.model_calls == 4
    assert work.spent.tokens_in == 40
    assert work.models == ("scripted-1",)


async def test_the_same_wrong_code_for_ever_ends_as_stuck_within_a_few_tries() -> None:
    bench = Bench(model_for(WRONG, forever=True))
    work = await bench.run(case_for(tests=TESTS))
    assert work.phase is P.ABANDON
    assert work.ending is Ending.STUCK
    assert work.iteration == 4
    assert "test_add.py::test_add" in work.reason
    assert [event.kind for event in bench.events].count(Kind.STUCK) == 3
    assert bench.walk.count(P.PLANNING) == 2


async def test_each_step_is_stored_before_the_next_phase_runs() -> None:
    bench = Bench(model_for(WRONG, RIGHT))
    asked_before: list[int] = []

    async def keep(step: Step) -> None:
        asked_before.append(len(bench.model.requests))
        bench.steps.append(step)

    case = case_for(tests=TESTS)
    await Walk(bench.tools, keep).run(case, bench.start(case))
    assert asked_before == [1, 2, 2, 3, 4, 4]
    assert [step.state.step_no for step in bench.steps] == [1, 2, 3, 4, 5, 6]
    assert [request.reply_key for request in bench.model.requests] == [
        (7, 1, 0, 0),
        (7, 1, 1, 0),
        (7, 1, 3, 0),
        (7, 1, 4, 0),
    ]


async def test_an_attempt_resumes_after_each_of_its_steps_with_the_same_questions() -> None:
    full_bench = Bench(model_for(WRONG, RIGHT))
    case = case_for(tests=TESTS)
    end = await full_bench.run(case)
    for done, step in enumerate(full_bench.steps[:-1], 1):
        asked = sum(1 for request in full_bench.model.requests if request.step_no < done)
        later = Bench(model_for(*[WRONG, RIGHT][sum(r.phase is P.CODING for r in full_bench.model.requests[:asked]) :]))
        again = await later.run(case, step.state)
        assert [r.digest for r in later.model.requests] == [r.digest for r in full_bench.model.requests[asked:]]
        assert replace(again, verdict=None) == replace(end, verdict=None)


# Random outcomes of the phases, checked against the table of transitions.


def make_script(outcomes: dict[Phase, list[Outcome]]) -> dict[Phase, Runner]:
    """Return phases that take their outcomes from lists and change the attempt as the real phases do."""
    count = itertools.count()

    def phase(name: Phase) -> Runner:
        async def run(case: AttemptContext, work: AttemptState, tools: AgentServices) -> Step:
            outcome = outcomes[name].pop(0)
            if outcome is Outcome.SPLIT and (not case.split or work.iteration):
                outcome = Outcome.OK  # only the first plan may split; another test breaks this rule
            if name is P.CODING:
                work = replace(work, change={"x.py": str(next(count))}, iteration=work.iteration + 1)
            if name is P.TESTING:
                work = replace(work, verdict=_verdict(outcome is Outcome.OK))
            if outcome is Outcome.NEEDS_APPROVAL:
                work = replace(work, held_in=name)
            if outcome is Outcome.SPLIT:
                work = replace(work, parts=PARTS)
            return Step(phase=name, outcome=outcome, state=work)

        return run

    return {name: phase(name) for name in Phase if name not in TERMINAL_PHASES}


def _verdict(passed: bool) -> Verdict:
    return Verdict(passed=passed, reason="", evidence=Evidence(tree="", sandbox="", label=Label.TESTS_PASSED))


PARTS = tuple(Subtask(description=f"part {n}", files=(f"{n}.py",), acceptance=("it is there",)) for n in range(2))
ALLOWED = {phase: sorted(o for p, o in TABLE if p is phase) for phase in Phase if phase not in TERMINAL_PHASES}
LENGTH = 14


@settings(deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.booleans())
async def test_every_walk_that_commits_passed_all_checks_on_one_change(
    data: st.DataObject, review: bool, audit: bool, clarify: bool
) -> None:
    outcomes = {
        phase: data.draw(st.lists(st.sampled_from(allowed), min_size=LENGTH, max_size=LENGTH), label=phase)
        for phase, allowed in ALLOWED.items()
    }
    bench = Bench(ScriptedModel({}))
    case = replace(case_for(), review=review, audit=audit, clarify=clarify, split=True)
    try:
        work = await Walk(bench.tools, bench.keep, make_script(outcomes)).run(case, bench.start(case))
    except IndexError:
        return  # the script ran out before the walk ended
    check_walk(bench.steps, work, review=review, audit=audit)


@settings(deadline=None)
@given(st.data(), st.booleans(), st.booleans())
async def test_an_attempt_that_was_held_commits_past_no_check_either(
    data: st.DataObject, review: bool, audit: bool
) -> None:
    outcomes = {
        phase: data.draw(st.lists(st.sampled_from(allowed), min_size=LENGTH, max_size=LENGTH), label=phase)
        for phase, allowed in ALLOWED.items()
    }
    bench = Bench(ScriptedModel({}))
    case = replace(case_for(), review=review, audit=audit, clarify=True)
    work = bench.start(case)
    try:
        while work.phase not in {P.COMMIT, P.ABANDON}:
            work = await Walk(bench.tools, bench.keep, make_script(outcomes)).run(case, work)
            if work.phase is P.AWAITING_APPROVAL:
                assert work.held_in is bench.steps[-1].phase
                work = replace(work, phase=work.held_in or P.ABANDON)
    except IndexError:
        return  # the script ran out before the walk ended
    check_walk(
        [step for step in bench.steps if step.outcome is not Outcome.NEEDS_APPROVAL], work, review=review, audit=audit
    )


@settings(deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.booleans())
async def test_an_attempt_that_was_split_commits_past_no_check_either(
    data: st.DataObject, review: bool, audit: bool, failed: bool
) -> None:
    outcomes = {
        phase: data.draw(st.lists(st.sampled_from(allowed), min_size=LENGTH, max_size=LENGTH), label=phase)
        for phase, allowed in ALLOWED.items()
    }
    outcomes[P.PLANNING] = [Outcome.SPLIT, *[Outcome.OK] * LENGTH]
    bench = Bench(ScriptedModel({}))
    case = replace(case_for(), review=review, audit=audit, split=True)
    machine = Walk(bench.tools, bench.keep, make_script(outcomes))
    split = await machine.run(case, replace(bench.start(case), phase=P.PLANNING))
    assert (split.phase, split.parts) == (P.SPLIT, PARTS)
    on = subtasks.go_on(split, "f" * 40, [_end(Status.FAILED if failed and n else Status.DONE) for n in range(2)])
    assert on.phase is (P.PLANNING if failed else P.CODING)
    try:
        work = await machine.run(case, on)
    except IndexError:
        return  # the script ran out before the walk ended
    check_walk(bench.steps, work, review=review, audit=audit)


def _end(status: Status) -> Task:
    return replace(
        case_for().task, status=status, ending=Ending.GAVE_UP if status is Status.FAILED else Ending.COMMITTED
    )


@pytest.mark.parametrize("wrong", ["not allowed", "a second time", "after a try"])
async def test_a_split_that_the_rules_do_not_have_is_a_fault_of_the_program(wrong: str) -> None:
    async def splits(case: AttemptContext, work: AttemptState, tools: AgentServices) -> Step:
        parts = () if wrong == "no parts" else PARTS[:1]
        outcome = Outcome.OK if wrong == "parts without a split" else Outcome.SPLIT
        return Step(phase=P.PLANNING, outcome=outcome, state=replace(work, parts=parts))

    bench = Bench(ScriptedModel({}))
    case = replace(case_for(), split=wrong != "not allowed")
    work = replace(bench.start(case), phase=P.PLANNING, iteration=int(wrong == "after a try"))
    work = replace(work, parts=PARTS if wrong == "a second time" else ())
    with pytest.raises(NightshiftError, match="split"):
        await Walk(bench.tools, bench.keep, {P.PLANNING: splits}).run(case, work)
    assert not bench.steps


def check_walk(steps: list[Step], work: AttemptState, *, review: bool, audit: bool) -> None:
    if work.phase is not P.COMMIT:
        return
    checks = [P.CODING, *[P.REVIEW] * review, *[P.AUDIT] * audit, P.TESTING]
    last = steps[-len(checks) :]
    assert [step.phase for step in last] == checks
    assert {step.outcome for step in last} == {Outcome.OK}
    assert all(step.state.change == last[0].state.change for step in last)


@pytest.mark.parametrize(("review", "audit"), list(itertools.product([False, True], repeat=2)))
def test_exhaustively_no_walk_of_eight_steps_commits_past_a_check(review: bool, audit: bool) -> None:
    machine = Machine(Bench(ScriptedModel({})).tools, make_script({}))
    case = replace(case_for(), review=review, audit=audit)
    checks = [P.CODING, *[P.REVIEW] * review, *[P.AUDIT] * audit, P.TESTING]
    commits = 0
    walks: list[list[tuple[Phase, Outcome]]] = [[]]
    for _ in range(8):
        longer = []
        for walk in walks:
            at = machine._on(case, TABLE[walk[-1]] if walk else FIRST)
            if at is P.COMMIT:
                commits += 1
                assert walk[-len(checks) :] == [(check, Outcome.OK) for check in checks]
            elif at not in TERMINAL_PHASES:
                longer += [[*walk, (at, outcome)] for outcome in ALLOWED[at]]
        walks = longer
    assert commits > 0


def test_every_cycle_of_the_table_leads_through_reflecting() -> None:
    edges = {(phase, to) for (phase, _), to in TABLE.items() if P.REFLECTING not in (phase, to)}
    reached = {phase: {to for start, to in edges if start is phase} for phase in Phase}
    for middle, start, end in itertools.product(Phase, repeat=3):
        if middle in reached[start] and end in reached[middle]:
            reached[start].add(end)
    assert not [phase for phase in Phase if phase in reached[phase]]


@pytest.mark.parametrize(
    ("phase", "after"),
    [
        (P.REFLECTING, {"change": {"x.py": "sneaked in"}}),
        (P.TESTING, {"change": {"x.py": "sneaked in"}, "verdict": _verdict(passed=True)}),
        (P.CODING, {"own_tests": {"test_x.py": ""}}),
        (P.TESTING, {"verdict": _verdict(passed=False)}),
    ],
)
async def test_a_phase_that_oversteps_is_a_fault_of_the_program(phase: Phase, after: dict[str, object]) -> None:
    async def overstep(case: AttemptContext, work: AttemptState, tools: AgentServices) -> Step:
        return Step(phase=phase, outcome=Outcome.OK, state=replace(work, **after))  # type: ignore[arg-type]

    bench = Bench(ScriptedModel({}))
    work = replace(bench.start(case_for()), phase=phase)
    with pytest.raises(NightshiftError):
        await Walk(bench.tools, bench.keep, {phase: overstep}).run(case_for(), work)
    assert not bench.steps
