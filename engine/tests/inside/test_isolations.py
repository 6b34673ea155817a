from __future__ import annotations

import pytest

from engine.tests.support import trying
from engine.tests.support.trying import MENDED, MODULE, ORDER, of_total
from nightshift_engine.evaluation import Candidate, EvaluationLimits, RunStatus
from tests.support.sandboxes import ISOLATIONS, open_folder

PATIENCE = EvaluationLimits(wall_s=2.0, steps=20_000)


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
        async with trying.evaluator(name, folder) as runner:
            observation = await runner.observe(job)
            assert {test.id for test in observation.failing} >= {ORDER[0], ORDER[2]}
            assert all(test.lines for test in observation.tests)
            outcomes = await runner.evaluate(job, candidates, ORDER, PATIENCE)
            assert [each.how for each in outcomes] == [
                RunStatus.PASSED,
                RunStatus.FAILED,
                RunStatus.STEPS,
                RunStatus.CRASHED,
                RunStatus.PASSED,
            ]
            answers = await runner.probe(job, candidates[:3], observation.calls, PATIENCE)
    assert {answer.how for answer in answers[0]} == {RunStatus.PASSED}
    assert list(answers[0]) != list(answers[1]) != list(answers[2])
