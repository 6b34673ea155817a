from __future__ import annotations

import pytest

from repair.evaluation import Candidate, How, Patience
from tests.support import trying
from tests.support.sandboxes import ISOLATIONS, open_folder
from tests.support.trying import MENDED, MODULE, ORDER, of_total

PATIENCE = Patience(wall_s=2.0, steps=20_000)


@pytest.mark.parametrize("name", ISOLATIONS)
async def test_trials_take_place_in_every_isolation(name: str) -> None:
    job = trying.job()
    candidates = [
        MENDED,
        of_total("result + 1", "result + 2"),
        of_total("count += 1", "while True:\n            pass"),
        of_total("count = 0", "__import__('os').abort()"),
        Candidate(path="small.py", scope="", text=MODULE.replace("result + 1", "result")),
    ]
    with open_folder() as folder:
        async with trying.trials(name, folder) as runner:
            sight = await runner.observe(job)
            assert {test.id for test in sight.failing} >= {ORDER[0], ORDER[2]}
            assert all(test.lines for test in sight.tests)
            found = await runner.attempt(job, candidates, ORDER, PATIENCE)
            assert [each.how for each in found] == [How.PASSED, How.FAILED, How.STEPS, How.CRASHED, How.PASSED]
            answers = await runner.probe(job, candidates[:3], sight.calls, PATIENCE)
    assert {answer.how for answer in answers[0]} == {How.PASSED}
    assert list(answers[0]) != list(answers[1]) != list(answers[2])
