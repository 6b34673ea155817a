"""The fill level of a prompt is stored with its step, not in the log."""

from __future__ import annotations

from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import submit, work_on


def test_a_step_tells_how_full_its_prompt_was(client: Client, context: AppContext) -> None:
    number = submit(context, "Write calc.py")
    work_on(context)
    step = client.get(f"/api/task/{number}/timeline").json["tries"][1]["steps"][0]
    assert step["prompt"] == {"tokens": 1234, "limit": 24000, "left_out": 4952, "shortened": 1, "omitted": 1}


def test_the_log_is_not_filled_with_what_prompts_held(client: Client, context: AppContext) -> None:
    number = submit(context, "Write calc.py")
    work_on(context)
    assert context.steps.timeline(number)[0].data["prompts"]
    assert "whole_count" not in client.get(f"/api/logs?task={number}").text
