"""What a prompt held and what was left out of it stands beside the call, and is no part of the log."""

from __future__ import annotations

from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import submit, work_on


def test_a_call_tells_what_its_prompt_held_and_what_not(client: Client, context: AppContext) -> None:
    number = submit(context, "Write calc.py")
    work_on(context)
    (call,) = client.get(f"/api/task/{number}/step/1/1").json["calls"]
    assert call["prompt"] == {
        "tokens": 1234, "limit": 24000, "again": False, "sections": [["Instructions", 900], ["The task", 334]],
        "whole": ["calc.py"], "outlined": [], "named": ["long0.py", "long1.py", "long2.py"],
        "counts": {"whole": 1, "outlined": 0, "named": 45}, "left_out": 4952, "shortened": ["The task"],
        "omitted": ["The plan"], "lessons": [7],
    }  # fmt: skip
    step = client.get(f"/api/task/{number}/timeline").json["tries"][1]["steps"][0]
    assert step["prompt"] == {"tokens": 1234, "limit": 24000, "left_out": 4952, "shortened": 1, "omitted": 1}


def test_the_log_is_not_filled_with_what_prompts_held(client: Client, context: AppContext) -> None:
    number = submit(context, "Write calc.py")
    work_on(context)
    assert context.steps.timeline(number)[0].data["prompts"]
    assert "whole_count" not in client.get(f"/api/logs?task={number}").text
