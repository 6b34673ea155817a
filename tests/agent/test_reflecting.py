"""REFLECTING: the lessons that it records, when it starts afresh, and the reasons that it gives."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.agent import history
from nightshift.agent.reflecting import by_rule, read_reflection
from nightshift.agent.services import AgentSettings
from nightshift.core.events import Kind
from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, SuiteJob, Verdict
from tests.support.agent_parts import RIGHT, TESTS, WRONG, Bench, PlainSuite, block, case_for, model_for

P = Phase


def wrong(n: int) -> str:
    return block("add.py", f"def add(a, b):\n    return {n}00\n")


async def test_each_failure_of_a_gate_is_remembered_before_it_is_thought_about() -> None:
    bench = Bench(model_for(WRONG, block("add.py", "def add(a, b:\n"), RIGHT))
    await bench.run(case_for(tests=TESTS))
    kinds = [work.verdict.failures[0].kind for work in bench.memory.remembered if work.verdict]
    assert kinds == ["AssertionError", "SyntaxError"]
    assert [work.tries[-1].reflection for work in bench.memory.remembered] == [Reflection()] * 2
    assert [event.kind for event in bench.events].count(Kind.LESSON_STORED) == 2


async def test_lessons_are_recalled_once_and_shown_in_all_phases_that_think() -> None:
    bench = Bench(model_for(WRONG, RIGHT))
    bench.memory.lessons = [Lesson(id=n, text=f"lesson number {n}", score=1 / n) for n in range(1, 6)]
    work = await bench.run(case_for(tests=TESTS))
    assert [lesson.id for lesson in work.lessons] == [1, 2, 3]
    assert all("lesson number 3" in bench.model.prompt(n) for n in range(4))
    assert not any("lesson number 4" in bench.model.prompt(n) for n in range(4))
    (recall,) = [event for event in bench.events if event.kind is Kind.LESSON_RECALLED]
    assert [lesson["id"] for lesson in recall.data["lessons"]] == [1, 2, 3]
    assert {"score", "age_days", "about", "kind"} < recall.data["lessons"][0].keys()


OLD = "from add import add\n\n\ndef test_old():\n    assert add(2, 3) == -1\n"


class WithOld(PlainSuite):
    """A suite that also runs tests of the repository."""

    def __init__(self, old: str = OLD) -> None:
        super().__init__()
        self.old = old

    async def judge(self, job: SuiteJob) -> Verdict:
        return await super().judge(replace(job, given={**job.given, "tests/test_old.py": self.old}))


def blames(*tests: str) -> str:
    return json.dumps({"root_cause": "the task wants a sum", "replan": True, "contradicting_tests": tests})


async def test_where_tests_are_kept_one_that_contradicts_the_task_is_one_question_to_its_owner() -> None:
    suite, reflection = WithOld(), blames("tests/test_old.py::test_old")
    model, keep = model_for(RIGHT, WRONG, REFLECTING=[reflection] * 9), AgentSettings(change_tests="keep")
    bench = Bench(model, suite=suite, base={"tests/test_old.py": OLD}, settings=keep)
    case = case_for("Write `add` in add.py", iterations=2)
    case = replace(case, task=replace(case.task, spec=replace(case.task.spec, tests=TESTS)))
    held = await bench.run(case)
    assert (held.phase, held.held_in, held.iteration) == (P.AWAITING_APPROVAL, P.CODING, 1)
    (ask,) = held.asks
    assert "the existing test tests/test_old.py::test_old contradicts it: the task wants a sum" in ask.question
    assert bench.walk.count(P.PLANNING) == 1
    assert len(suite.jobs) == 1
    on = replace(held, phase=P.CODING, held_in=None, asks=())
    refused = await bench.run(replace(case, denied=frozenset({ask.subject})), on)
    assert (refused.phase, refused.ending) == (P.ABANDON, Ending.REFUSED)
    answered_case = replace(case, granted=frozenset({ask.subject}), answers={ask.subject: "Keep the old test."})
    work = await bench.run(answered_case, on)
    assert (work.phase, work.iteration) == (P.ABANDON, 2), "it is asked once, and no test gives way"
    assert "Keep the old test." in bench.model.prompt(-1) + bench.model.prompt(-2)
    assert "tests/test_old.py" not in work.change


async def test_an_existing_test_that_contradicts_the_task_may_be_changed_by_the_next_try() -> None:
    reflection = blames("tests/test_old.py::test_old")
    bench = Bench(
        model_for(*[RIGHT] * 9, REFLECTING=[reflection] * 9), suite=WithOld(), base={"tests/test_old.py": OLD}
    )
    case = case_for("Write `add` in add.py", iterations=2)
    await bench.run(replace(case, task=replace(case.task, spec=replace(case.task.spec, tests=TESTS))))
    second = [request for request in bench.model.requests if request.phase is P.CODING][1]
    assert "demand the opposite of the task: tests/test_old.py::test_old. If they do" in second.messages[1].text


@pytest.mark.parametrize("named", ["test_add.py::test_add", "tests/test_gone.py::test_x"])
async def test_given_tests_and_tests_that_did_not_fail_contradict_nothing(named: str) -> None:
    bench = Bench(model_for(WRONG, RIGHT, REFLECTING=[blames(named)]))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)


async def test_the_first_time_stuck_the_history_is_dropped_and_a_hand_over_stays() -> None:
    bench = Bench(model_for(wrong(1), wrong(2), wrong(3), wrong(4), RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration, work.escalation) == (P.COMMIT, 5, 1)
    codings = [request for request in bench.model.requests if request.phase is P.CODING]
    assert [request.escalation for request in codings] == [0, 0, 0, 1, 1]
    fresh = codings[3].messages[1].text
    assert "What was tried before this fresh start" in fresh
    assert "Try 1 failed" in fresh
    assert "Begin again from the words of the task" in fresh
    assert "## Earlier tries" not in fresh
    assert "Try 4 failed" not in codings[4].messages[1].text.split("## What the last try led to")[0]


@pytest.mark.parametrize("reply", ["", "{}", '{"replan": true}', '{"root_cause": "x", "replan": "perhaps"}'])
def test_an_unusable_reflection_is_none(reply: str) -> None:
    assert read_reflection(reply) is None


@settings(deadline=None)
@given(st.recursive(st.booleans() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=5))
def test_whatever_a_reflection_holds_is_read_or_refused(value: object) -> None:
    reflection = read_reflection(json.dumps({"root_cause": value, "suggested_fix": value}))
    assert reflection is None or len(reflection.root_cause) <= 800


async def test_without_a_usable_reflection_a_rule_gives_one() -> None:
    bench = Bench(model_for(WRONG, RIGHT, REFLECTING=["I do not know."]))
    work = await bench.run(case_for(tests=TESTS))
    assert work.phase is P.COMMIT
    assert "Follow the input of the first failing assertion" in bench.model.prompt(3)
    evidence = Evidence(tree="", sandbox="", label=Label.TESTS_PASSED)
    failure = Failure(id="a.py", kind="collection ModuleNotFoundError", message="No module named 'x'")
    verdict = Verdict(passed=False, reason="", evidence=evidence, failures=(failure,))
    assert "Create the module" in by_rule(AttemptState(phase=P.REFLECTING, base="", verdict=verdict)).suggested_fix


# Attempts that go in circles.


def tries(*failing: str) -> list[Try]:
    return [Try(iteration=n, digest=str(n), failing=tuple(names), feedback="") for n, names in enumerate(failing)]


@pytest.mark.parametrize(
    ("failing", "why"),
    [
        (["ab", "ab", "ab"], "3 times in a row"), (["a", "b", "a", "b"], "take turns"),
        (["a", "ab", "ac", "ad", "ae"], "no test that failed has passed since"), (["ab", "ab"], None), (["a"], None),
    ],
)  # fmt: skip
def test_circles_are_found_by_what_fails(failing: list[str], why: str | None) -> None:
    reason = history.why_stuck(tries(*failing), [])
    assert (why is None) == (reason is None)
    assert why is None or why in str(reason)
