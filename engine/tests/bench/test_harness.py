from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio

from engine.bench.harness import Harness, Outcome, harness_on
from engine.bench.task_files import Row
from engine.bench.tasks import describe, total
from nightshift.core.tasks.task import TaskSpec

FEE = "def fee(total):\n    if total > 50:\n        return 0\n    return 5\n"
TESTS = "from fee import fee\n\n\ndef test_fee():\n    assert fee(49) == 5\n    assert fee(51) == 0\n"
BOUND = "\n\ndef test_bound():\n    assert fee(50) == 0\n"


def task(tests: str, hidden: str = "") -> Row:
    spec = TaskSpec(description="Mend fee()", files={"fee.py": FEE}, tests={"test_fee.py": tests})
    return Row(name="fee", spec=spec, hidden={"test_hidden_fee.py": hidden} if hidden else {})


@pytest_asyncio.fixture
async def here() -> AsyncIterator[Harness]:
    async with harness_on(2) as opened:
        yield opened


async def test_a_mend_is_judged_and_held_against_the_hidden_tests(here: Harness) -> None:
    right = await here.repair(
        task(TESTS + BOUND, "from fee import fee\n\n\ndef test_more():\n    assert fee(99) == 0\n"), 30
    )
    assert (right.fixed, right.wrong, right.hidden_why) == (True, False, "")
    assert right.change == {"fee.py": FEE.replace(">", ">=")}
    wrong = await here.repair(
        task(TESTS + BOUND, "from fee import fee\n\n\ndef test_odd():\n    assert fee(7) == 8\n"), 30
    )
    assert (wrong.fixed, wrong.wrong) == (True, True)
    assert "test_odd" in wrong.hidden_why
    assert describe(wrong).startswith("WRONG")
    assert total([right, wrong]).startswith("fixed 2 of 2; wrongly accepted 1 of 2 with hidden tests; fixed in ")


async def test_what_cannot_be_mended_in_time_is_told_with_the_reason(here: Harness) -> None:
    fine = await here.repair(task(TESTS), 10)
    assert not fine.fixed
    assert "pass already" in fine.why_not
    endless = await here.repair(task(TESTS + "\n\ndef test_none():\n    assert fee(49) == 6\n"), 3.5)
    assert not endless.fixed
    assert describe(endless).startswith("not fixed")


async def test_a_file_that_cannot_be_imported_is_mended_although_no_test_can_be_named(here: Harness) -> None:
    broken = task(TESTS)
    spec = replace(broken.spec, files={"fee.py": FEE.replace("50:", "50")})
    done = await here.repair(replace(broken, spec=spec), 20)
    assert done.change == {"fee.py": FEE}


def test_nothing_is_divided_by_no_tasks() -> None:
    assert total([]) == "fixed 0 of 0; no hidden tests; fixed in no time; 0 candidates a minute"
    assert not Outcome(name="x").fixed
