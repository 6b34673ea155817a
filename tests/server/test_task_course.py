"""The course of a task over the API: the steps that it contains, its limits, and refused requests."""

from __future__ import annotations

import pytest

from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Task
from nightshift.core.tools import ToolCall, ToolProtocol, ToolSpec
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import WRONG, claim, save, submit, work_on

EVIL = "<script>alert(1)</script>\u202e\x1b[31m"


def say(context: AppContext, task: Task, step_no: int, prompt: str, reply: str, call_no: int = 0) -> None:
    """Store a model call with this prompt and reply."""
    request = ModelRequest(
        phase=Phase.CODING, messages=(Message(role="user", text=prompt),), task_id=task.id, attempt=task.attempt,
        step_no=step_no, call_no=call_no, iteration=1,
    )  # fmt: skip
    completion = Completion(text=reply, backend="openai", model="m", tokens_in=10, tokens_out=5, cost_usd=0.25)
    context.steps.save_reply(request, completion).result()


def test_a_call_of_a_loop_is_shown_with_all_that_was_said_and_what_it_called(
    client: Client, context: AppContext
) -> None:
    submit(context, "Write calc.py")
    task, tools = claim(context), (ToolSpec(name="read_file", description="Shows a file."),)
    turns = [Message(role="user", text="Mend it.")]
    for number in range(3):
        call = ToolCall(name="read_file", arguments={"path": f"{number}.py"}, id=f"c{number}")
        request = ModelRequest(
            phase=Phase.CODING, messages=tuple(turns), task_id=task.id, step_no=0, call_no=number, tools=tools
        )
        native = ToolProtocol.NATIVE
        completion = Completion(text="", backend="openai", model="m", tool_calls=(call,), protocol=native)
        context.steps.save_reply(request, completion).result()
        turns.append(Message(role="assistant", text="", tool_calls=(call,)))
        turns.append(Message(role="tool", text=f"{EVIL} {number}", call_id=call.id))
    calls = client.get(f"/api/task/{task.id}/step/1/0").json["calls"]
    assert [[part["role"] for part in call["parts"]] for call in calls] == [
        ["user", "reply"],
        ["user", "assistant", "tool", "reply"],
        ["user", "assistant", "tool", "assistant", "tool", "reply"],
    ]
    assert calls[2]["parts"][1]["said"]["text"] == "```read_file path=0.py\n```"
    page = client.get(f"/task/{task.id}/call/1/0/2").text
    assert page.count("```read_file") == 3
    assert "\u202e" not in page


@pytest.fixture
def worked(context: AppContext) -> int:
    """Create a task that was submitted with a file and has two tries."""
    number = submit(context, "Write calc.py", files={"calc.py": WRONG}, tests={"test_calc.py": "..."})
    work_on(context)
    return number


def test_the_timeline_has_tries_and_steps_with_what_they_used(client: Client, worked: int) -> None:
    timeline = client.get(f"/api/task/{worked}/timeline").json
    assert [each["iteration"] for each in timeline["tries"]] == [0, 1, 2]
    steps = [step for each in timeline["tries"] for step in each["steps"]]
    assert [step["step_no"] for step in steps] == [0, 1, 2, 3, 4, 5]
    assert (steps[1]["phase"], steps[1]["tokens_in"], steps[1]["models"]) == (
        "CODING",
        1200,
        ["ollama=qwen2.5-coder:7b"],
    )
    assert (steps[1]["cost_usd"], steps[1]["unpriced"]) == (0.0, 1)
    assert (steps[2]["passed"], steps[2]["total"], steps[2]["outcome"]) == (1, 2, "redo")
    assert timeline["attempts"][0]["iterations"] == 2
    assert [file["path"] for file in timeline["words"]["files"]] == ["test_calc.py", "calc.py"]
    assert "prompts" not in client.get(f"/api/task/{worked}/timeline").text


def test_one_attempt_is_told_in_full_the_newest_or_the_one_asked_for(client: Client, context: AppContext) -> None:
    submit(context, "Write calc.py")
    work_on(context, passes=False)
    context.queue.retry(1).result()
    assert client.get("/api/task/1/timeline").json["attempt"] == 1
    task = claim(context)
    assert client.get("/api/task/1/timeline").json["tries"] == []
    save(context, task, AttemptState(phase=Phase.CODING, base="b", attempt=2, step_no=1))
    timeline = client.get("/api/task/1/timeline").json
    assert (timeline["attempt"], len(timeline["tries"]), [each["attempt"] for each in timeline["attempts"]]) == (
        2,
        1,
        [1, 2],
    )
    assert len(client.get("/api/task/1/timeline?attempt=1").json["tries"]) == 3


def test_what_runs_is_told_with_the_replies_of_the_step_that_has_not_finished(
    client: Client, context: AppContext
) -> None:
    submit(context, "Write calc.py")
    assert client.get("/api/task/1/timeline").json["running"] is None
    task = claim(context)
    save(context, task, AttemptState(phase=Phase.CODING, base="b", step_no=1))
    say(context, task, 1, "Write it.", "x = 1")
    running = client.get("/api/task/1/timeline").json["running"]
    assert (running["step_no"], running["calls"], running["worker"], running["phase"]) == (1, 1, "worker-1", "CODING")
    step = client.get("/api/task/1/step/1/1").json
    assert (step["step"], step["files"], len(step["calls"])) == (None, [], 1)
    assert [part["said"]["text"] for part in step["calls"][0]["parts"]] == ["Write it.", "x = 1"]


def test_a_step_has_its_verdict_with_each_test_and_only_where_tests_ran(client: Client, worked: int) -> None:
    verdict = client.get(f"/api/task/{worked}/step/1/2").json["verdict"]
    assert [(test["id"], test["result"]) for test in verdict["tests"]] == [
        ("test_calc.py::test_add", "failed"),
        ("b", "passed"),
    ]
    assert verdict["failures"][0]["frame"] == "test_calc.py:5 in test_add"
    assert (verdict["evidence"]["label"], verdict["evidence"]["twins"]) == ("tests_passed", 2)
    assert client.get(f"/api/task/{worked}/step/1/3").json["verdict"] is None
    assert client.get(f"/api/task/{worked}/step/1/4").json["verdict"] is None


def test_long_texts_are_cut_and_come_in_full_when_a_call_is_asked_for_alone(
    client: Client, context: AppContext
) -> None:
    submit(context, "Write calc.py")
    task, long = claim(context), "word " * 40_000
    for call_no in range(8):
        say(context, task, 0, f"{call_no}: {long}", long, call_no)
    save(context, task, AttemptState(phase=Phase.TESTING, base="b", step_no=1))
    calls = client.get("/api/task/1/step/1/0").json["calls"]
    assert len(calls) == 8
    assert [bool(call["parts"]) for call in calls] == [True, True, *[False] * 6]
    assert (calls[0]["parts"][1]["said"]["cut"], calls[0]["parts"][1]["said"]["chars"]) == (True, 200_000)
    (alone,) = client.get("/api/task/1/step/1/0?call=7").json["calls"]
    assert alone["parts"][0]["said"] == {"text": f"7: {long}", "chars": 200_003, "cut": False}
    response = client.get(alone["text"])
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert long in response.text


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("diff?of=step&attempt=1", 400, "step"),
        ("diff?of=step&attempt=1&step=77", 404, "no finished step 77 in attempt 1"),
        ("file?path=nothing.py", 404, "no file of that name"),
        ("step/1/77", 404, "no step 77"),
        ("step/1/1?call=5", 404, "no call 5"),
    ],
)
def test_what_is_not_there_is_named(client: Client, worked: int, path: str, status: int, message: str) -> None:
    got = client.get(f"/api/task/{worked}/{path}")
    assert got.status == status
    assert message in got.json["error"]


def test_hostile_texts_are_printable_in_every_answer(client: Client, context: AppContext) -> None:
    submit(context, EVIL, files={"calc.py": f"# {EVIL}"}, metadata={"a": EVIL})
    work_on(context, passes=False, reply=EVIL, suffix=EVIL)
    paths = ["timeline", "diff", "file?path=calc.py", "file?path=calc.py&attempt=1&step=4"]
    for path in [*paths, *(f"step/1/{number}" for number in range(6))]:
        got = client.get(f"/api/task/1/{path}")
        assert got.status == 200, path
        assert got.headers["content-type"] == "application/json"
        assert not [each for each in ("\\u202e", "\\u001b", "\u202e") if each in got.text], path
