"""What a prompt held and what was left out of it stands on the task's page, next to the call."""

from __future__ import annotations

from server.desk import Desk
from tests.support.desk import Client
from tests.support.worked_task import submit, work_on


def test_a_call_tells_what_its_prompt_held_and_what_not(client: Client, desk: Desk) -> None:
    number = submit(desk, "Write calc.py")
    work_on(desk)
    page = client.get(f"/task/{number}").text
    assert "about 1,234 of 24,000 tokens" in page
    for what, which in (
        ("parts, in tokens", "Instructions 900, The task 334"),
        ("files whole", "calc.py"),
        ("files by name", "long0.py, long1.py, long2.py and 42 more"),
        ("files left out", "4,952"),
        ("lessons", "#7"),
        ("shortened", "The task"),
        ("left out whole", "The plan"),
    ):
        assert f"<dt>{what}</dt><dd>{which}</dd>" in page, what


def test_the_log_is_not_filled_with_what_prompts_held(client: Client, desk: Desk) -> None:
    number = submit(desk, "Write calc.py")
    work_on(desk)
    assert desk.steps.timeline(number)[0].data["prompts"]
    assert "whole_count" not in client.get(f"/logs?task={number}").text
