"""REFLECTING: the lessons that it records, when it starts afresh, and the reasons that it gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, SuiteJob, Verdict
from tests.support.agent_parts import REFLECTION, Bench, ListMemory, PlainSuite, block, case_for, model_for

P = Phase
TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
WRONG = block("add.py", "def add(a, b):\n    return a - b\n")
RIGHT = block("add.py", "def add(a, b):\n    return a + b\n")


def wrong(n: int) -> str:
    return block("add.py", f"def add(a, b):\n    return {n}00\n")


async def test_each_failure_of_a_gate_is_remembered_before_it_is_thought_about() -> None:
    bench = Bench(model_for(WRONG, block("add.py", "def add(a, b:\n"), RIGHT))
    await bench.run(case_for(tests=TESTS))
    kinds = [work.verdict.failures[0].kind for work in bench.memory.remembered if work.verdict]
    assert kinds == ["AssertionError", "SyntaxError"]
    assert [work.tries[-1].reflection for work in bench.memory.remembered] == [Reflection()] * 2
    assert [event.kind for event in bench.events].count(Kind.LESSON_STORED) == 2


async def test_a_try_that_repeats_the_one_before_is_not_remembered_again() -> None:
    bench = Bench(model_for(WRONG, WRONG, WRONG, RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 4)
    assert len(bench.memory.remembered) == 1


async def test_the_failure_that_ends_the_attempt_is_remembered_too() -> None:
    bench = Bench(model_for(WRONG))
    await bench.run(case_for(tests=TESTS, iterations=1, warn_at=1))
    assert len(bench.memory.remembered) == 1


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


async def test_a_failure_and_a_pattern_of_the_same_number_are_two_lessons() -> None:
    class Both(ListMemory):
        async def recall(
            self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1
        ) -> Sequence[Lesson]:
            await super().recall(query, limit)
            return [Lesson(id=1, text="x", score=1.0, source="pattern" if len(self.asked) == 1 else "failure")]

    bench = Bench(model_for(WRONG, RIGHT), memory=Both())
    work = await bench.run(case_for(tests=TESTS))
    assert [(lesson.source, lesson.id) for lesson in work.lessons] == [("pattern", 1), ("failure", 1)]


async def test_a_failure_brings_one_more_lesson_where_there_is_room() -> None:
    class Growing(ListMemory):
        async def recall(
            self, query: str, limit: int, *, task_id: int | None = None, attempt: int = 1
        ) -> Sequence[Lesson]:
            await super().recall(query, limit)
            return [Lesson(id=n, text=f"lesson number {n}", score=1.0) for n in range(1, len(self.asked) + 1)][:limit]

    bench = Bench(model_for(wrong(1), wrong(2), wrong(3), wrong(4), RIGHT), memory=Growing())
    work = await bench.run(case_for(tests=TESTS))
    assert [lesson.id for lesson in work.lessons] == [1, 2, 3]
    assert bench.memory.asked[0] == "Write `add` in add.py"
    assert "AssertionError" in bench.memory.asked[1]
    assert "lesson number 2" in bench.model.prompt(2)


async def test_a_reflection_is_handed_to_the_next_try() -> None:
    bench = Bench(model_for(WRONG, RIGHT))
    await bench.run(case_for(tests=TESTS))
    assert "Cause: the bound" in bench.model.prompt(3)
    assert "Fix: mend the bound" in bench.model.prompt(3)


async def test_a_reflection_may_ask_for_another_plan() -> None:
    again = json.dumps({"root_cause": "wrong approach", "replan": True})
    bench = Bench(model_for(WRONG, RIGHT, REFLECTING=[again]))
    work = await bench.run(case_for(tests=TESTS))
    assert bench.walk == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.PLANNING, P.CODING, P.TESTING]
    assert "Plan another approach" in bench.model.prompt(3)
    assert len(bench.memory.asked) == 2, "once for the plan, once for the failure"
    assert work.iteration == 2


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


async def test_several_tests_that_contradict_the_task_are_named_together() -> None:
    old = f"{OLD}\n\ndef test_more():\n    assert add(3, 3) == 0\n"
    names = [f"tests/test_old.py::{name}" for name in ("test_old", "test_more[1]", "test_gone")]
    model, base = model_for(*[RIGHT] * 9, REFLECTING=[blames(*names)] * 9), {"tests/test_old.py": old}
    keep = AgentSettings(change_tests="keep")
    bench = Bench(model, suite=WithOld(old=old), base=base, settings=keep)
    case = case_for("Write `add` in add.py", iterations=2)
    held = await bench.run(replace(case, task=replace(case.task, spec=replace(case.task.spec, tests=TESTS))))
    (ask,) = held.asks
    both = "tests/test_old.py::test_old, tests/test_old.py::test_more"
    assert f"the existing tests {both} contradict it: the task wants a sum" in ask.question


def test_one_test_that_contradicts_the_task_may_be_named_without_a_list() -> None:
    for name in ("contradicting_test", "contradicting_tests"):
        reflection = read_reflection(json.dumps({"root_cause": "x", name: "tests/test_old.py::test_old"}))
        assert reflection == Reflection(root_cause="x", contradicting_tests=("tests/test_old.py::test_old",))
        assert read_reflection(json.dumps({"root_cause": "x", name: ""})) == Reflection(root_cause="x")


@pytest.mark.parametrize("named", ["test_add.py::test_add", "tests/test_gone.py::test_x", "rubbish"])
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


async def test_the_second_time_stuck_another_plan_and_model_are_asked_for() -> None:
    bench = Bench(model_for(*[wrong(n) for n in range(1, 6)], RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration, work.escalation) == (P.COMMIT, 6, 2)
    assert bench.walk.count(P.PLANNING) == 2
    assert [r.escalation for r in bench.model.requests if r.phase is P.PLANNING] == [0, 2]
    stuck_at = [step for step in bench.steps if step.data.get("stuck")]
    assert [step.outcome for step in stuck_at] == [Outcome.REDO, Outcome.REPLAN]


@pytest.mark.parametrize(
    "reply", [REFLECTION, f"Sure:\n```json\n{REFLECTION}\n```", f"Here you are:\n\n{REFLECTION}\n\nI hope this helps."]
)
def test_a_reflection_is_read_fenced_bare_or_between_sentences(reply: str) -> None:
    assert read_reflection(reply) == Reflection(
        pattern="off by one", root_cause="the bound", suggested_fix="mend the bound"
    )


@pytest.mark.parametrize(
    "reply",
    ["", "no idea", "{}", '{"root_cause": ""}', '{"replan": true}', '{"root_cause": "x", "replan": "perhaps"}', "[1]"],
)
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
        (["ab", "ab", "ab"], "3 times in a row"),
        (["a", "ab", "ab", "ab"], "3 times in a row"),
        (["a", "b", "a", "b"], "take turns"),
        (["a", "ab", "ac", "ad", "ae"], "no test that failed has passed since"),
        (["ab", "ab"], None),
        (["abc", "ab", "a"], None),
        (["abc", "abd", "b", "ab", "c"], None),
        (["a"], None),
        ([], None),
    ],
)
def test_circles_are_found_by_what_fails(failing: list[str], why: str | None) -> None:
    reason = history.why_stuck(tries(*failing), [])
    assert (why is None) == (reason is None)
    assert why is None or why in str(reason)


def test_circles_are_found_by_what_was_written_before() -> None:
    assert history.why_stuck(tries("a", "b"), ["0", "1"]) == "the files are as they were after an earlier try"
    assert history.why_stuck(tries("a", "b"), ["0", "7"]) is None


@settings(deadline=None)
@given(st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=15, max_size=15))
def test_whoever_does_not_progress_is_found_within_five_tries(failing: list[set[str]]) -> None:
    always = [Try(iteration=n, digest=str(n), failing=("x", *sorted(f)), feedback="") for n, f in enumerate(failing)]
    same = [Try(iteration=n, digest=str(n), failing=("x",), feedback="") for n in range(5)]
    assert history.why_stuck(same, [])
    shrinking = [Try(iteration=n, digest=str(n), failing=tuple("abcdef"[n:]), feedback="") for n in range(5)]
    assert history.why_stuck(shrinking, []) is None
    assert history.why_stuck(always[:1], []) is None
