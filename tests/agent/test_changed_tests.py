"""Existing tests may be changed only if the code change breaks them, and only with the owner's consent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nightshift.agent.services import AgentSettings, ChangeTests
from nightshift.attempt.regression import WithRegression
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.commit_message import message_for
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.verdict.languages.authoring import CodeReader
from tests.support.agent_parts import Bench, block, case_for, model_for
from tests.support.sandboxes import Judge

P = Phase
OLD = "def grade(points):\n    return 'pass' if points >= 50 else 'fail'\n\n\ndef best():\n    return 100\n"
NEW = OLD.replace("50", "60")
TESTS = """import pytest

from grades import best, grade


@pytest.mark.skip
def test_later():
    assert grade(None) == 'fail'


def test_grade():
    assert grade(50) == 'pass'
    assert grade(10) == 'fail'


def test_best():
    assert best() == 100
"""
CHANGED = TESTS.replace("assert grade(50) == 'pass'", "assert grade(50) == 'fail'\n    assert grade(60) == 'pass'")
BASE = {"grades.py": OLD, "tests/test_grades.py": TESTS}
CHECKS = "    assert grade(50) == 'pass'\n    assert grade(10) == 'fail'\n"
PATH = "tests/test_grades.py"
TASK = "Let grade() in grades.py pass from 60 points on"
BOTH = block("grades.py", NEW) + "\n" + block(PATH, CHANGED)


def bench_for(judge: Judge, *codings: str, change_tests: ChangeTests = "ask", **more: Any) -> Bench:
    suite_with_others = WithRegression(judge.runner, ImportCache())
    settings = AgentSettings(change_tests=change_tests, clear_enough=0)
    return Bench(model_for(*codings, **more), suite=suite_with_others, base=BASE, settings=settings)


async def ask_of(bench: Bench) -> AttemptState:
    work = await bench.run(case_for(TASK))
    assert (work.phase, work.held_in) == (P.AWAITING_APPROVAL, P.TESTING), work.feedback
    return work


async def test_the_owner_is_asked_with_both_texts_and_his_yes_lets_the_change_pass(judge: Judge) -> None:
    bench = bench_for(judge, BOTH)
    work = await ask_of(bench)
    (ask,) = work.asks
    assert "-    assert grade(50) == 'pass'" in ask.question
    assert "+    assert grade(60) == 'pass'" in ask.question
    going_on = replace(work, phase=P.TESTING, held_in=None, asks=())
    done = await bench.run(case_for(TASK, granted=frozenset({ask.subject})), going_on)
    assert (done.phase, done.iteration) == (P.COMMIT, 1), done.feedback
    assert dict(done.own_tests) == {PATH: CHANGED}
    assert bench.model.phases == [P.PLANNING, P.CODING], "no tests were asked for beside those that changed"
    case = case_for(TASK)
    text = message_for(case.task, done).text()
    assert "Existing tests that contradicted the task were changed:\ntests/test_grades.py" in text
    assert "Changed-Tests: tests/test_grades.py" in text


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        (f"{TASK}; correct {PATH}.", False), (f"{TASK}; {PATH} fails", True),
        (f"{TASK}, change the tests of {PATH} in no way", True),
    ],
)  # fmt: skip
async def test_a_task_that_says_to_change_the_test_needs_no_yes(judge: Judge, words: str, asks: bool) -> None:
    work = await bench_for(judge, BOTH).run(case_for(words))
    assert (work.phase is P.AWAITING_APPROVAL, work.phase is P.COMMIT) == (asks, not asks), work.feedback


async def test_a_task_adds_tests_to_the_file_that_it_names(judge: Judge) -> None:
    text = TESTS + "\n\ndef test_more():\n    assert best() == 100\n"
    work = await bench_for(judge, block(PATH, text)).run(case_for(f"Add a test of best to {PATH}"))
    assert (work.phase, dict(work.own_tests)) == (P.COMMIT, {PATH: text}), work.feedback


@pytest.mark.parametrize(
    ("more", "adds"),
    [
        ("import os\n\n\ndef test_b():\n    assert f(os)\n", True), ("def f(): pass\n", False), ("f = 1\n", False),
        ("@fixture(autouse=True)\ndef test_b():\n    assert f()\n", False), ("from b import *\n", False),
        ("from b import f\n", False), ("def test_a():\n    assert 1\n", False), ("def test_b():\n    f()\n", False),
    ],
)  # fmt: skip
def test_additions_cannot_alter_other_tests(more: str, adds: bool) -> None:
    text = "from a import f\n\n\ndef test_a():\n    assert f()\n"
    assert CodeReader().only_adds_tests("test_a.py", text, text + more) == adds


async def test_a_no_keeps_the_test_whatever_is_proposed_next(judge: Judge) -> None:
    bench = bench_for(judge, *[BOTH] * 9)
    work = await ask_of(bench)
    going_on = replace(work, phase=P.TESTING, held_in=None, asks=(), test_changes={PATH: CHANGED + "\n\nX = 1\n"})
    denied = case_for(TASK, denied=frozenset({work.asks[0].subject}), iterations=1)
    end = await bench.run(denied, going_on)
    assert end.phase is P.ABANDON
    assert not end.own_tests.get(PATH)
    step = next(step for step in reversed(bench.steps) if step.phase is P.TESTING)
    assert step.outcome is Outcome.REDO
    assert "Your change of tests/test_grades.py was not taken: it is a test that its owner keeps" in step.state.feedback


async def test_a_yes_is_for_that_very_text(judge: Judge) -> None:
    bench = bench_for(judge, BOTH)
    work = await ask_of(bench)
    other = CHANGED.replace("grade(60)", "grade(61)")
    going_on = replace(work, phase=P.TESTING, held_in=None, asks=(), test_changes={PATH: other})
    again = await bench.run(case_for(TASK, granted=frozenset({work.asks[0].subject})), going_on)
    assert again.phase is P.AWAITING_APPROVAL
    assert again.asks[0].subject != work.asks[0].subject


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CHANGED.replace("best() == 100", "best() > 0"), "changes test_best, which pass as they stand"),
        (CHANGED.replace("def test_grade", "@pytest.mark.skip\ndef test_grade"), "lets tests off"),
        (TESTS.replace(CHECKS, "    grade(1)\n"), "assert nothing"),
    ],
)
async def test_what_loses_more_than_the_contradiction_is_left_out_and_told(judge: Judge, text: str, why: str) -> None:
    text = "import pytest\n" + text if "pytest" in text else text
    sent = block("grades.py", NEW) + "\n" + block(PATH, text)
    bench = replace(bench_for(judge, *[sent] * 4), wrote={PATH})
    end = await bench.run(case_for(TASK, iterations=1))
    assert end.phase is P.ABANDON
    feedback = next(step.state.feedback for step in reversed(bench.steps) if step.outcome is Outcome.REDO)
    assert why in feedback


async def test_a_test_that_still_passes_stays_and_costs_nothing(judge: Judge) -> None:
    code = OLD + "\n\ndef worst():\n    return 0\n"
    own = "from grades import worst\n\n\ndef test_worst():\n    assert worst() == 0\n"
    more = TESTS + "\n\ndef test_more():\n    assert best() == 100\n"
    sent = block("grades.py", code) + "\n" + block(PATH, more)
    bench = bench_for(judge, sent, TESTING=[block("tests/test_worst.py", own)])
    done = await bench.run(case_for("Add worst() to grades.py: 0"))
    assert (done.phase, done.iteration) == (P.COMMIT, 1), done.feedback
    assert list(done.own_tests) == ["tests/test_worst.py"]


async def test_a_rename_takes_its_tests_along(judge: Judge) -> None:
    sent = block("grades.py", OLD.replace("best", "top")) + "\n" + block(PATH, TESTS.replace("best", "top"))
    bench = replace(bench_for(judge, sent), wrote={PATH})
    done = await bench.run(case_for("Rename best() in grades.py to top()"))
    assert (done.phase, done.iteration) == (P.COMMIT, 1), done.feedback


async def test_the_owner_decides_whether_a_test_may_run_with_fewer_cases(judge: Judge) -> None:
    codes = "CODES = ['EUR', 'DEM']\n"
    tests = (
        "import pytest\nfrom codes import CODES\n\n\n@pytest.mark.parametrize('code', CODES)\ndef test_code(code):\n"
    )
    base = {"codes.py": codes, "tests/test_codes.py": f"{tests}    assert len(code) == 3\n"}
    own = block("tests/test_dem.py", "from codes import CODES\n\n\ndef test_dem():\n    assert CODES == ['EUR']\n")
    sent = block("codes.py", codes.replace(", 'DEM'", ""))
    bench = replace(bench_for(judge, *[sent] * 3, TESTING=[own] * 3, change_tests="allow"), base=base)
    work = await bench.run(case_for("Remove DEM from CODES"))
    assert work.phase is P.AWAITING_APPROVAL, work.feedback
    subjects, going_on = frozenset(ask.subject for ask in work.asks), replace(work, phase=P.TESTING, held_in=None)
    done = await bench.run(case_for("Remove DEM from CODES", granted=subjects), going_on)
    assert done.phase is P.COMMIT, done.feedback
    end = await bench.run(case_for("Remove DEM from CODES", denied=subjects, iterations=1), going_on)
    assert end.phase is P.ABANDON


CART = "def total(prices):\n    return sum(prices)\n"
OF_CART = "tests/test_cart.py"
CART_TESTS = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
SHOP = {**BASE, "cart.py": CART, OF_CART: CART_TESTS}
GONE = f"```python path=cart.py delete\n```\n\n```python path={OF_CART} delete\n```\n"
REMOVE = "Remove cart.py"


def removing(judge: Judge, reply: str = GONE, base: dict[str, str] = SHOP, **more: Any) -> Bench:
    return replace(bench_for(judge, *[reply] * 4, **more), base=base)


async def test_an_owner_is_asked_once_whether_tests_go_with_what_they_test(judge: Judge) -> None:
    bench = removing(judge)
    work = await bench.run(case_for(REMOVE))
    assert (work.phase, work.held_in) == (P.AWAITING_APPROVAL, P.TESTING), work.feedback
    (ask,) = work.asks
    assert "May the agent remove this test file?" in ask.question
    assert "-    assert total([1, 2]) == 3" in ask.question
    going_on = replace(work, phase=P.TESTING, held_in=None, asks=())
    done = await bench.run(case_for(REMOVE, granted=frozenset({ask.subject})), going_on)
    assert (done.phase, done.iteration, done.removed_tests) == (P.COMMIT, 1, (OF_CART,)), done.feedback
    assert done.verdict is not None
    assert {result.id.partition("::")[0] for result in done.verdict.results} == {PATH}, (
        "the tests that are left judge it"
    )
    assert bench.model.phases == [P.PLANNING, P.CODING]
    text = message_for(case_for(REMOVE).task, done).text()
    assert f"Existing tests were removed with what they tested: {OF_CART}" in " ".join(text.split())
    assert f"Removed-Tests: {OF_CART}" in text
    ended = await bench.run(case_for(REMOVE, denied=frozenset({ask.subject}), iterations=1), going_on)
    assert (ended.phase, ended.removed_tests) == (P.ABANDON, ())


async def test_tests_of_the_agent_alone_go_unasked_and_a_task_or_the_settings_may_let_others_go(judge: Judge) -> None:
    own, free = replace(removing(judge), wrote={OF_CART}), removing(judge, change_tests="allow")
    for bench, allow in ((own, []), (removing(judge), ["tests/*"]), (free, [])):
        done = await bench.run(case_for(REMOVE, allow=allow))
        assert (done.phase, done.removed_tests) == (P.COMMIT, (OF_CART,)), done.feedback
    bound = await removing(judge, change_tests="keep").run(case_for(REMOVE, iterations=1))
    assert (bound.phase, bound.removed_tests) == (P.ABANDON, ())


MIXED = "from cart import total\nfrom grades import best\n\n\ndef test_total():\n    assert total([1]) == 1\n\n\n"
TRUE = block("tests/test_more.py", "from grades import best\n\n\ndef test_more():\n    assert best() == 100\n")
STAYING = "def test_best():\n    assert best() == 100\n"


@pytest.mark.parametrize(
    ("words", "reply", "tests", "why"),
    [
        (REMOVE, GONE, MIXED + STAYING, "also tests what stays (test_best)"),
        (REMOVE, GONE + block("basket.py", CART), CART_TESTS, "stays while the change adds files (basket.py)"),
        ("Rename cart.py to basket.py", GONE + block("basket.py", CART), CART_TESTS, "does not ask to remove"),
    ],
)
async def test_tests_of_what_stays_are_not_removed(judge: Judge, words: str, reply: str, tests: str, why: str) -> None:
    bench = replace(removing(judge, reply, {**SHOP, OF_CART: tests}, TESTING=[TRUE] * 9), wrote={OF_CART})
    end = await bench.run(case_for(words, iterations=1))
    assert not end.removed_tests
    feedbacks = [step.state.feedback for step in bench.steps if step.outcome is Outcome.REDO]
    assert any(why in feedback for feedback in feedbacks), (feedbacks, end.phase)


async def test_tests_do_not_go_while_what_they_test_is_there(judge: Judge) -> None:
    bench = removing(judge, GONE.partition("\n\n")[2], TESTING=[TRUE] * 9)
    end = await replace(bench, wrote={OF_CART}).run(case_for(REMOVE, iterations=1))
    assert (end.removed_tests, dict(end.change)) == ((), {})
