"""CODING: the replies that are accepted, the replies that are requested again, and the code that never runs."""

from __future__ import annotations

import pytest

from nightshift.core.events import Kind
from nightshift.core.tasks.states import Ending, Phase
from tests.support.agent_parts import RIGHT, TESTS, WRONG, Bench, block, case_for, cut, model_for

P = Phase
CODING_TWICE = [P.PLANNING, P.CODING, P.CODING]


@pytest.mark.parametrize("useless", ["", "lorem ipsum, therefore; cheese?", "```python path=../add.py\nx = 1\n```"])
async def test_a_reply_without_files_is_asked_for_again_within_the_try(useless: str) -> None:
    bench = Bench(model_for(useless, RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert bench.model.phases == CODING_TWICE
    assert [request.reply_key for request in bench.model.requests][1:] == [(7, 1, 1, 0), (7, 1, 1, 1)]
    assert "begin complaints" in bench.model.requests[2].messages[-1].text


async def test_a_cut_reply_goes_on_with_what_is_missing() -> None:
    tests = {"test_two.py": "import one\nimport two\n\n\ndef test_both():\n    assert one.x + two.x == 3\n"}
    first = cut(block("one.py", "x = 1\n") + "```python path=two.py\nx =")
    bench = Bench(model_for(first, block("two.py", "x = 2\n")))
    work = await bench.run(case_for(tests=tests))
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert dict(work.change) == {"one.py": "x = 1\n", "two.py": "x = 2\n"}
    again = bench.model.requests[2].messages[-1].text
    assert "cut off" in again
    assert "one.py" in again


async def test_an_edit_that_does_not_fit_is_sent_again_and_the_fitting_one_is_kept() -> None:
    base = {"add.py": "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return a\n"}
    tests = {"test_add.py": "from add import add, twice\n\n\ndef test_both():\n    assert add(2, 3) + twice(2) == 9\n"}
    fits = "```python path=add.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n"
    misses = "<<<<<<< SEARCH\n    return a * 1\n=======\n    return a * 2\n>>>>>>> REPLACE\n```\n"
    right = "```python path=add.py\n<<<<<<< SEARCH\n    return a\n=======\n    return a * 2\n>>>>>>> REPLACE\n```\n"
    bench = Bench(model_for(fits + misses, right), base=base)
    work = await bench.run(case_for(tests=tests))
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    again = bench.model.requests[2].messages[-1].text
    assert "nearest real lines" in again
    assert "need not come again: add.py" in again
    assert "return a + b" in str(work.change["add.py"])


async def test_given_tests_and_steering_files_are_dropped_and_told() -> None:
    sneaky = RIGHT + block("test_add.py", "def test_add():\n    pass\n") + block("conftest.py", "import os\n")
    sneaky += (
        block("string.py", "x = 1\n")
        + "```toml path=pyproject.toml\n[tool.pytest.ini_options]\naddopts = '--co'\n```\n"
    )
    bench = Bench(model_for(sneaky))
    work = await bench.run(case_for(tests=TESTS))
    assert dict(work.change) == {"add.py": "def add(a, b):\n    return a + b\n"}
    (dropped,) = [event for event in bench.events if event.kind is Kind.FILES_DROPPED]
    assert set(dropped.data["dropped"]) == {"test_add.py", "conftest.py", "string.py", "pyproject.toml"}


async def test_a_reply_that_changes_nothing_is_not_judged_again() -> None:
    bench = Bench(model_for(WRONG, WRONG, RIGHT))
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 3)
    assert len(bench.suite.jobs) == 2
    assert "left every file as it was" in bench.model.prompt(4)


# Replies that contain no file.


DONE_ALREADY = "Done already: add.py adds since the last release"


async def test_what_is_done_already_is_judged_as_it_stands() -> None:
    bench = Bench(model_for(DONE_ALREADY), base={"add.py": "def add(a, b):\n    return a + b\n"})
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration, dict(work.change)) == (P.COMMIT, 1, {})
    assert work.summary == "add.py adds since the last release"
    assert bench.model.phases == [P.PLANNING, P.CODING]
    assert len(bench.suite.jobs) == 2, "the claim, and the verdict"


@pytest.mark.parametrize("base", [{}, {"add.py": "def add(a, b):\n    return a - b\n"}])
async def test_a_claim_that_a_given_test_contradicts_is_not_believed_and_costs_no_try(base: dict[str, str]) -> None:
    bench = Bench(model_for(DONE_ALREADY, DONE_ALREADY, RIGHT), base=base)
    work = await bench.run(case_for(tests=TESTS))
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert bench.model.phases == [P.PLANNING, *[P.CODING] * 3]
    assert ("test_add.py" if base else "add.py") in bench.model.requests[-1].messages[-1].text


CANNOT = "Cannot: the tests ask for two results of one call."


async def test_a_refusal_is_one_question_to_the_owner_and_ends_the_task_if_he_agrees() -> None:
    bench, case = Bench(model_for(CANNOT)), case_for(tests=TESTS)
    held = await bench.run(case)
    assert (held.phase, held.held_in, held.iteration) == (P.AWAITING_APPROVAL, P.CODING, 0)
    assert held.asks[0].question.endswith("the tests ask for two results of one call.")
    end = await bench.go_on(case, held)
    assert (end.phase, end.ending, len(bench.model.requests)) == (P.ABANDON, Ending.REFUSED, 2)


async def test_a_question_comes_with_what_is_assumed_and_the_next_prompt_has_its_answer() -> None:
    bench = Bench(model_for("Ask: Which alphabet?\nDefault: Latin letters", RIGHT))
    case = case_for(tests=TESTS)
    held = await bench.run(case)
    assert (held.asks[0].question, held.asks[0].default) == ("Which alphabet?", "Latin letters")
    work = await bench.go_on(case, held, "Greek")
    assert (work.phase, work.iteration) == (P.COMMIT, 1)
    assert "Which alphabet? Greek" in bench.model.prompt(2)


@pytest.mark.parametrize(
    ("prose", "ends"),
    [
        ("The function `add` is already implemented in add.py, so no change is needed.", "done"),
        ("I do not know what you mean by the adder. Which one do you mean?", "question"),
    ],
)
async def test_sentences_that_end_the_work_count_when_they_are_said_twice(prose: str, ends: str) -> None:
    bench = Bench(model_for(prose, prose), base={"add.py": "def add(a, b):\n    return a + b\n"})
    work = await bench.run(case_for(tests=TESTS))
    assert bench.model.phases == CODING_TWICE
    assert "`Cannot: <why" in bench.model.requests[2].messages[-1].text
    if ends == "done":
        assert work.phase is P.COMMIT
    else:
        assert work.phase is P.AWAITING_APPROVAL
        assert work.asks[0].subject.startswith(f"{ends}:")
