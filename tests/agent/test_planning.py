"""Plans that split a task.

The tests cover how plans are read, the sentence with which each bad plan is refused, and how PLANNING asks again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from nightshift.agent import planning
from nightshift.agent.planning import list_planned_packages
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.change_checks import Ask, AskKind, ChangeCheckJob, ChangeCheckReport, package_subject
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Subtask
from tests.support.agent_parts import Bench, ScriptedModel, block, case_for, model_for

TESTS = {"test_a.py": "from a import a\n\n\ndef test_a():\n    assert a(1) == 1\n"}
CLEAR = "Write the function `{0}(n)` in {0}.py, which returns n as an integer."


def part(name: str, *after: int, **more: Any) -> dict[str, Any]:
    return {
        "description": CLEAR.format(name), "files": [f"{name}.py"], "acceptance": [f"{name}(1) == 1"],
        "depends_on": list(after), **more,
    }  # fmt: skip


def case() -> AttemptContext:
    return replace(case_for(tests=TESTS), split=True)


def read_words(*parts: object) -> tuple[Subtask, ...] | str | None:
    return planning.read_split(json.dumps({"subtasks": parts}), case(), 0.5)


def test_parts_come_in_an_order_in_which_each_follows_what_it_needs() -> None:
    parts = read_words(part("c", 2, 3), part("b", 3), part("a", tests=["test_a.py"], acceptance=[]))
    assert isinstance(parts, tuple)
    assert [subtask.files for subtask in parts] == [("a.py",), ("b.py",), ("c.py",)]
    assert [subtask.after for subtask in parts] == [(), (0,), (0, 1)]
    assert parts[0].tests == ("test_a.py",)
    assert parts[2].acceptance == ("c(1) == 1",)


@pytest.mark.parametrize("text", ["1. Write a.py.\n2. Done.", "[x] write it", '{"plan": ["a"]}', "[" * 5000])
def test_what_splits_nothing_is_a_plan_in_words(text: str) -> None:
    assert planning.read_split(text, case(), 0.5) is None


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([part("a")], "2 to 8"), (["a", part("b")], "Subtask 1 is no object"),
        ([part("a"), part("b", subtasks=[part("c"), part("d")])], "Subtask 2 is split again"),
        ([part("a"), part("b", files=[])], "Subtask 2: files"),
        ([part("a"), part("b", files=["test_a.py"])], "never changed"),
        ([part("a"), part("b", tests=["test_b.py"])], r"'test_b.py' is none of the given tests \(test_a.py\)"),
        ([part("a"), part("b", acceptance=[])], "nothing by which it is judged"),
        ([part("a", 1), part("b")], "1 is no other subtask"), ([part("a", 2), part("b", 1)], "in a circle"),
        ([part("a"), part("b", files=["A.py"])], "cannot exist beside"),
        ([part("a"), part("b", description="Make it nice")], "Subtask 2 is too vague"),
        ([part("a"), {**part("a"), "files": ["b.py"]}], "say the same"),
    ],
)  # fmt: skip
def test_what_would_not_work_is_refused_with_a_sentence(parts: list[object], why: str) -> None:
    reading = read_words(*parts)
    assert isinstance(reading, str)
    assert reading.endswith(".")
    assert re.search(why, reading), reading


# The PLANNING phase.


async def plan(*replies: str, split: bool = True, **start: Any) -> tuple[Bench, AttemptState]:
    bench = Bench(ScriptedModel({Phase.PLANNING: list(replies)}))
    asked = replace(case(), split=split)
    step = await planning.run(asked, replace(bench.start(asked), phase=Phase.PLANNING, **start), bench.tools)
    bench.steps.append(step)
    return bench, step.state


GOOD = json.dumps({"subtasks": [part("a"), part("b", 1)]})


async def test_a_split_ends_planning_with_its_parts_as_the_plan() -> None:
    bench, work = await plan(GOOD)
    assert bench.steps[0].outcome is Outcome.SPLIT
    assert [part.files for part in work.parts] == [("a.py",), ("b.py",)]
    assert work.plan.splitlines() == [f"1. {CLEAR.format('a')}", f"2. {CLEAR.format('b')}"]
    assert "# Splitting the task" in bench.model.prompt(0)


async def test_a_bad_split_is_asked_for_again_with_what_is_wrong() -> None:
    bench, work = await plan(json.dumps({"subtasks": [part("a"), part("b", files=["a.py"])]}), GOOD)
    assert bench.steps[0].outcome is Outcome.SPLIT
    assert "both change 'a.py'" in bench.model.prompt(1)
    assert work.spent.model_calls == 2


async def test_after_a_few_bad_splits_the_plain_plan_holds() -> None:
    bench, work = await plan(*[json.dumps({"subtasks": [part("a")]})] * 3)
    assert (bench.steps[0].outcome, len(bench.model.requests), work.parts) == (Outcome.OK, 3, ())
    assert "Read the task" in work.plan


RIGHT = block("a.py", "def a(x):\n    return x\n")
PROSE = "Create a.py with a function a that gives its argument back."


async def test_a_refusal_is_asked_once_more_for_a_plan_and_never_becomes_one() -> None:
    bench = Bench(model_for(RIGHT, PLANNING=["I cannot do that. Which a do you mean?", "1. Write a.py, as assumed."]))
    await bench.run(case_for(tests=TESTS))
    assert [request.phase for request in bench.model.requests][:3] == [Phase.PLANNING, Phase.PLANNING, Phase.CODING]
    assert "That is no plan." in bench.model.prompt(1)
    assert bench.steps[0].state.plan == "1. Write a.py, as assumed."
    prose = Bench(model_for(RIGHT, PLANNING=[PROSE] * 2))
    await prose.run(case_for(tests=TESTS))
    assert prose.steps[0].state.plan == PROSE


REFUSES = "I cannot do that."


async def test_a_planner_that_refuses_twice_has_its_owner_asked_once() -> None:
    bench, context = Bench(model_for(RIGHT, PLANNING=[REFUSES] * 4)), case_for(tests=TESTS)
    held = await bench.run(context)
    assert (held.phase, held.held_in) == (Phase.AWAITING_APPROVAL, Phase.PLANNING)
    assert held.asks[0].question.endswith("cannot be done as described: I cannot do that.")
    assert bench.steps[0].data["declined"] == REFUSES
    work = await bench.go_on(context, held, answer="Write a.py all the same.")
    assert work.phase is Phase.COMMIT
    assert "Write a.py all the same." in bench.model.prompt(2)
    assert "cannot" not in bench.steps[1].state.plan
    assert bench.steps[1].note == f"the model sent no plan, so the standard plan is used: {REFUSES}"


# Packages that a plan requests.

NEEDS = "1. Write a.py with `toolz`.\n\nPackages: toolz, Flask-Login."


@dataclass
class PackageGate:
    """A check that asks the owner about a plan's packages, as the package check does, but examines no change."""

    seen: list[tuple[str, ...]] = field(default_factory=list)

    async def examine(self, job: ChangeCheckJob) -> ChangeCheckReport:
        self.seen.append(job.wanted)
        subjects = [package_subject(name) for name in job.wanted]
        open_ones = [each for each in subjects if each not in job.granted | job.denied]
        return ChangeCheckReport(asks=tuple(Ask(kind=AskKind.PACKAGE, subject=s, question=s) for s in open_ones))


@pytest.mark.parametrize(
    ("text", "names"),
    [(NEEDS, ("toolz", "Flask-Login")), ("1. a\nPackage: none", ()), ("1. Sort the packages: by name", ())],
)
def test_the_line_of_packages_is_read(text: str, names: tuple[str, ...]) -> None:
    assert list_planned_packages(text) == names


async def test_packages_of_a_plan_are_asked_for_together_before_code_is_written() -> None:
    gate, context = PackageGate(), case_for(tests=TESTS)
    bench = Bench(model_for(RIGHT, PLANNING=[NEEDS]), change_checks=(gate,))
    held = await bench.run(context)
    assert (held.phase, held.held_in) == (Phase.AWAITING_APPROVAL, Phase.PLANNING)
    assert [ask.subject for ask in held.asks] == ["package:toolz", "package:flask-login"]
    assert held.reason == "waits for your decision on toolz, flask-login"
    granted = replace(context, granted=frozenset(ask.subject for ask in held.asks))
    work = await bench.run(granted, replace(held, phase=Phase.PLANNING, held_in=None, asks=()))
    assert (work.phase, work.plan) == (Phase.COMMIT, NEEDS)
    assert bench.model.phases == [Phase.PLANNING, Phase.CODING]


async def test_a_plan_whose_package_is_denied_is_made_anew() -> None:
    bench = Bench(model_for(RIGHT, PLANNING=[NEEDS, "1. Write a.py without."]), change_checks=(PackageGate(),))
    context = case_for(tests=TESTS)
    held = await bench.run(context)
    denied = replace(context, granted=frozenset({"package:toolz"}), denied=frozenset({"package:flask-login"}))
    work = await bench.run(denied, replace(held, phase=Phase.PLANNING, held_in=None, asks=()))
    assert (work.phase, work.plan) == (Phase.COMMIT, "1. Write a.py without.")
    assert "do without them: flask-login" in bench.model.prompt(1)
