"""Tool calls over the API: their arguments and results, beside the model calls that requested them."""

from __future__ import annotations

from nightshift.core.text.masking import MASK
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.explored_task import ACTS, LONG, TRACE, Act, explore_it

SECRET = "hunter2hunter2"


def test_a_step_lists_its_tool_calls_in_order_with_what_became_of_them(client: Client, context: AppContext) -> None:
    number = explore_it(context)
    tools = client.get(f"/api/task/{number}/step/1/1").json["tools"]
    assert [(row["name"], row["ok"], row["changed"]) for row in tools] == [
        (act.name, act.ok, act.change is not None) for act in ACTS
    ]
    assert [(row["call_no"], row["seq"]) for row in tools[:4]] == [(0, 0), (1, 0), (1, 1), (2, 0)]
    read, run = tools[3], tools[5]
    assert (read["brief"], read["took_s"]) == ("read_file sqlparse/keywords.py 201-400", 0.003)
    assert (run["said"], run["result"]["text"]) == ("Before I change anything I want to see it fail.", TRACE)
    assert run["arguments"]["timeout"]["text"] == "60"
    assert tools[1]["said"] == tools[2]["said"] == ""


def test_an_edit_is_a_difference_and_not_two_texts(client: Client, context: AppContext) -> None:
    tools = client.get(f"/api/task/{explore_it(context)}/step/1/1").json["tools"]
    edit, written, removed = tools[6], tools[7], tools[8]
    assert list(edit["arguments"]) == ["path"]
    assert [line["kind"] for line in edit["hunks"][0]["lines"]] == ["gone", "gone", "added", "added"]
    assert {line["kind"] for line in written["hunks"][0]["lines"]} == {"added"}
    assert (removed["hunks"], removed["arguments"]["content"]["text"]) == ([], "null")


def test_a_long_result_comes_in_full_with_its_model_call_alone(client: Client, context: AppContext) -> None:
    number = explore_it(context)
    short = client.get(f"/api/task/{number}/step/1/1").json["tools"][3]["result"]
    assert (short["text"], short["chars"], short["cut"]) == (LONG[:4000], len(LONG), True)
    alone = client.get(f"/api/task/{number}/step/1/1?call=2").json
    assert [row["call_no"] for row in (*alone["calls"], *alone["tools"])] == [2, 2]
    assert alone["tools"][0]["result"] == {"text": LONG, "chars": len(LONG), "cut": False}


def test_very_many_results_are_bounded_together(client: Client, context: AppContext) -> None:
    acts = [Act(name="read_file", arguments={"path": f"{n}.py", "more": LONG}, text=LONG) for n in range(120)]
    tools = client.get(f"/api/task/{explore_it(context, acts=acts)}/step/1/1").json["tools"]
    assert len(tools) == 120
    assert sum(len(row["result"]["text"]) for row in tools) < 300_000
    assert (tools[-1]["result"]["text"], tools[-1]["result"]["cut"]) == ("", True)


def test_the_timeline_counts_them_also_while_the_step_runs(client: Client, context: AppContext) -> None:
    done, running = explore_it(context), explore_it(context, finished=False)
    steps = client.get(f"/api/task/{done}/timeline").json["tries"][1]["steps"]
    assert [(step["tools"], step["tools_failed"]) for step in steps] == [(9, 2)]
    running_step = client.get(f"/api/task/{running}/timeline").json["running"]
    assert (running_step["step_no"], running_step["calls"], running_step["tools"]) == (1, 7, 9)
    step = client.get(f"/api/task/{running}/step/1/1").json
    assert (step["step"], len(step["tools"])) == (None, 9)


def test_secrets_and_control_characters_do_not_come_through(client: Client, context: AppContext) -> None:
    context.mask.learn([SECRET])
    act = Act(
        name="edit", arguments={"path": f"{SECRET}.py", "old": "x\x1b[31m", "new": SECRET, SECRET: SECRET},
        text=f"\u202e{SECRET}", preface=SECRET,
    )  # fmt: skip
    answer = client.get(f"/api/task/{explore_it(context, acts=[act])}/step/1/1")
    assert SECRET not in answer.text
    (tool,) = answer.json["tools"]
    assert (tool["said"], tool["result"]["text"]) == (MASK, f"\\u{{202e}}{MASK}")
    assert "\x1b" not in str(tool)
