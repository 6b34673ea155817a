"""TESTING: the suite judges; the agent's own tests are checked first."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from nightshift.agent.kinds import asks_for_documents, asks_to_keep_behaviour
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Ending, Phase
from nightshift.core.tasks.verdicts import (
    CaseResult,
    Evidence,
    Failure,
    Finding,
    FindingKind,
    Label,
    Result,
    SuiteJob,
    Verdict,
)
from nightshift.storage.db.codec import decode, encode
from tests.support.agent_parts import RIGHT, WRONG, Bench, PlainSuite, block, case_for, model_for

P = Phase
OWN = block(
    "tests/test_sum.py",
    "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(0, 0) == 0\n",
)
ASKED = "Write `add` in add.py: the sum of two numbers"


async def test_tests_are_written_when_none_were_given_and_decide() -> None:
    bench = Bench(model_for(WRONG, RIGHT, TESTING=[OWN]))
    work = await bench.run(case_for(ASKED))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert list(work.own_tests) == ["tests/test_sum.py"]
    assert bench.model.phases == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.CODING]
    assert "def add(a, b)" in bench.model.prompt(2)
    assert "return a - b" not in bench.model.prompt(2), "who writes the tests does not see the code"
    assert "assert add(2, 3) == 5" in bench.model.prompt(4), "who writes the code sees the tests"


async def test_tests_without_assertions_or_of_the_wrong_name_are_sent_back() -> None:
    idle = block("tests/test_sum.py", "from add import add\n\n\ndef test_add():\n    add(2, 3)\n")
    misnamed = block("sum_checks.py", "x = 1\n")
    bench = Bench(model_for(RIGHT, TESTING=[idle, misnamed, OWN]))
    work = await bench.run(case_for(ASKED))
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert "no test with an assertion" in bench.model.prompt(3)
    assert "No test file was sent" in bench.model.prompt(4)


async def test_a_test_that_passes_without_the_change_is_rewritten_and_the_code_is_left_alone() -> None:
    vacuous = block("tests/test_sum.py", "def test_add():\n    assert 1 + 1 == 2\n    assert 2 + 2 == 4\n")
    bench = Bench(model_for(RIGHT, TESTING=[vacuous, OWN]))
    work = await bench.run(case_for(ASKED))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert bench.model.phases == [P.PLANNING, P.CODING, P.TESTING, P.TESTING]
    assert bench.walk == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.CODING, P.TESTING]
    assert "prove nothing" in bench.model.prompt(3)
    assert "from add import add" in work.own_tests["tests/test_sum.py"]


async def test_a_wrong_test_of_its_own_is_corrected_when_the_reflection_blames_it() -> None:
    wrong_test = OWN.replace("== 5", "== 6")
    blame = json.dumps({"root_cause": "2 + 3 is 5, the test says 6", "tests_at_fault": True})
    bench = Bench(model_for(RIGHT, TESTING=[wrong_test, OWN], REFLECTING=[blame]))
    work = await bench.run(case_for(ASKED))
    assert (work.phase, work.iteration) == (P.COMMIT, 2)
    assert bench.model.phases == [P.PLANNING, P.CODING, P.TESTING, P.REFLECTING, P.TESTING]


async def test_blame_is_not_believed_for_ever_nor_for_given_tests() -> None:
    wrong_tests = [OWN.replace("== 5", f"== {n}") for n in range(6, 12)]
    blame = json.dumps({"root_cause": "the test is wrong", "tests_at_fault": True})
    bench = Bench(model_for(*[RIGHT] * 20, TESTING=wrong_tests, REFLECTING=[blame] * 20))
    work = await bench.run(case_for(ASKED))
    assert work.ending is Ending.STUCK
    given = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
    bench = Bench(model_for(WRONG, RIGHT, REFLECTING=[blame]))
    work = await bench.run(case_for(tests=given))
    assert bench.model.phases == [P.PLANNING, P.CODING, P.REFLECTING, P.CODING]


async def test_an_existing_test_of_the_repository_is_not_overwritten() -> None:
    base = {"tests/test_sum.py": "def test_old():\n    assert True\n"}
    other = OWN.replace("test_sum.py", "test_new_sum.py")
    bench = Bench(model_for(RIGHT, TESTING=[OWN, other]), base=base)
    work = await bench.run(case_for(ASKED))
    assert list(work.own_tests) == ["tests/test_new_sum.py"]
    assert "exists already" in bench.model.prompt(3)


class Reader(PlainSuite):
    """A suite that refuses documentation containing the word "wrong", as the documents' judge refuses a dead link."""

    async def judge(self, job: SuiteJob) -> Verdict:
        if not job.documents:
            return await super().judge(job)
        self.jobs.append(job)
        wrong = "wrong" in str(job.change.get("README.md"))
        failures = (Failure(id="README.md:1", kind="Documentation", message="the link leads nowhere"),) if wrong else ()
        evidence = Evidence(tree="t", sandbox="none", label=Label.DOCUMENTED)
        return Verdict(passed=not wrong, reason="1 page checked", evidence=evidence, failures=failures)


async def test_documentation_is_asked_for_no_tests_and_mended_by_the_line_that_is_named() -> None:
    replies = [f"```markdown path=README.md\nThe shop is {word}.\n```\n" for word in ("wrong", "open")]
    bench = Bench(model_for(*replies), suite=Reader(), base={"add.py": "def add(a, b):\n    return a + b\n"})
    work = await bench.run(case_for("Write a README.md for add.py: what it does and how to run it"))
    assert (work.phase, work.own_tests) == (P.COMMIT, {})
    assert bench.model.phases == [P.PLANNING, P.CODING, P.CODING], "no model reflects on a dead link"
    assert "This is documentation" in bench.model.prompt(1)
    assert "README.md:1: Documentation" in bench.model.prompt(2)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("Write a README for the shop: what it does, how to install it, how to run the tests.", True),
        ("Add docstrings to all functions in shop/cart.py", True),
        ("Add a function slugify to text.py and document it in the README", False),
        ("Fix the bug in README rendering", False), ("Rename total to sum_all and update the docs", False),
        ("Build a documentation generator", False), ("Explain in the README how to run the tests", True),
        ("The docstrings of a() in shop/a.py have no Args section. Add them. Change only the docstrings.", True),
        ("The docs for export() say that it returns None. Make it return the path.", False),
        ("Headings without a text break the table of contents", False), ("Add a docs endpoint", False),
        ("Convert Markdown to HTML", False), ("Write a tool that turns a folder of notes into docs", False),
    ],
)  # fmt: skip
def test_words_tell_whether_documentation_is_all_that_is_asked_for(words: str, answer: bool) -> None:
    assert asks_for_documents(case_for(words).task.spec) is answer


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("refactor Cart so that the discount table is data, without changing behaviour", True),
        ("Make total() faster", True), ("Refactor Cart. Add a method `size`.", False),
        ("Add total(prices) to shop.py", False), ("The upgrade page shows the wrong price", False),
    ],
)  # fmt: skip
def test_words_tell_whether_behaviour_is_to_stay_as_it_is(words: str, answer: bool) -> None:
    assert asks_to_keep_behaviour(case_for(words).task.spec) is answer


@dataclass
class Kept(PlainSuite):
    """A suite for refactorings in which the base's tests run the changed code.

    `is_strong` is True if these tests also detect the mutants of that code.
    """

    is_strong: bool = True

    async def judge(self, job: SuiteJob) -> Verdict:
        verdict = await super().judge(job)
        if not job.keeps_behaviour:
            return verdict
        finding = Finding(kind=FindingKind.MUTANTS, where="", says="0 of 2 mutants killed")
        cases = (CaseResult(id="tests/test_old.py::test_old", result=Result.PASSED), *verdict.results)
        evidence = replace(verdict.evidence, label=Label.BEHAVIOUR_KEPT)
        return replace(
            verdict, passed=True, reason="", weak=(), results=cases, evidence=evidence,
            findings=() if self.is_strong else (finding,),
        )  # fmt: skip


@pytest.mark.parametrize("is_strong", [True, False])
async def test_own_tests_of_a_refactoring_are_asked_for_only_where_those_of_the_base_are_weak(is_strong: bool) -> None:
    bench = Bench(model_for(RIGHT, TESTING=[OWN]), suite=Kept(is_strong=is_strong))
    work = await bench.run(case_for("Refactor `add` in add.py, without changing behaviour: the sum of two numbers"))
    assert work.phase is P.COMMIT
    assert bench.model.phases.count(P.TESTING) == (not is_strong)


class Unmoved(PlainSuite):
    """A suite that passes each change because the base's tests still pass."""

    async def judge(self, job: SuiteJob) -> Verdict:
        verdict = await super().judge(job)
        cases = (CaseResult(id="tests/test_old.py::test_old", result=Result.PASSED), *verdict.results)
        evidence = replace(verdict.evidence, label=Label.BEHAVIOUR_KEPT)
        return replace(verdict, passed=True, reason="", weak=(), results=cases, evidence=evidence)


async def test_own_tests_that_prove_nothing_are_no_part_of_the_commit() -> None:
    bench = Bench(model_for(RIGHT, TESTING=[OWN]), suite=Unmoved())
    work = await bench.run(case_for("Add `add` to add.py"))
    assert (work.phase, dict(work.own_tests)) == (P.COMMIT, {})


SAYS = "the words of the task say add(1, 2) == 3; the change gives -1"


class Literal(PlainSuite):
    """A suite that reports an unmet example from the task's description if a passing change subtracts."""

    async def judge(self, job: SuiteJob) -> Verdict:
        verdict = await super().judge(job)
        wrong = "a - b" in str(job.change.get("add.py"))
        return replace(verdict, unmet=(SAYS,)) if verdict.passed and wrong else verdict


BLIND = OWN.replace("add(2, 3) == 5", "add(2, 0) == 2")
"""Tests that pass for a sum as well as for a difference, and therefore miss the error."""


async def test_what_the_words_say_and_the_change_does_not_do_goes_back_once_with_that_sentence() -> None:
    bench = Bench(model_for(WRONG, RIGHT, TESTING=[BLIND, OWN]), suite=Literal())
    work = await bench.run(case_for(ASKED))
    assert (work.phase, work.iteration, work.unmet) == (P.COMMIT, 2, ())
    assert bench.model.phases == [P.PLANNING, P.CODING, P.TESTING, P.CODING, P.TESTING], "no model reflects on it"
    assert SAYS in bench.model.prompt(3)
    assert "add(2, 0)" not in bench.model.prompt(4), "the tests that saw nothing are not kept"
    assert bench.memory.remembered == []


async def test_a_change_that_does_not_do_it_again_is_given_up_with_that_sentence() -> None:
    bench = Bench(model_for(WRONG, WRONG, TESTING=[BLIND, BLIND]), suite=Literal())
    work = await bench.run(case_for(ASKED))
    assert (work.phase, work.iteration, work.ending, work.reason) == (P.ABANDON, 2, Ending.GAVE_UP, SAYS)


async def test_a_restart_does_not_forget_that_the_words_were_told() -> None:
    first = Bench(model_for(WRONG, TESTING=[BLIND]), suite=Literal())
    with pytest.raises(AssertionError, match="no reply is left"):
        await first.run(case_for(ASKED))
    stored = decode(AttemptState, encode(first.steps[-1].state))
    assert (stored.heard_unmet, stored.unmet) == (True, (SAYS,))
    work = await Bench(model_for(WRONG, TESTING=[BLIND]), suite=Literal()).run(case_for(ASKED), stored)
    assert (work.phase, work.reason) == (P.ABANDON, SAYS)
