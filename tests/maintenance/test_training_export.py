"""Export of committed work as training data for fine-tuning."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.core.tools import ToolCall, ToolProtocol, ToolSpec
from nightshift.maintenance.training_export import export
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store, open_store

WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


def reply(code: str) -> str:
    return f"```python path=add.py\n{code}```\n"


def solve(
    store: Store, *codes: str, backend: str = "openai", commit: bool = True, tools: tuple[ToolSpec, ...] = ()
) -> int:
    """Make a task with one try for each text; the last try passes.

    With `tools`, each try ends with a call of the first tool.
    """
    store.queue.submit(TaskSpec(description="Write add")).result()
    task = store.queue.claim("w").result()
    assert task is not None
    for number, code in enumerate(codes):
        request = ModelRequest(
            phase=Phase.CODING,
            messages=(Message(role="system", text="Phase: CODING"), Message(role="user", text=f"try {number}")),
            task_id=task.id,
            attempt=1,
            step_no=number,
            iteration=number + 1,
            tools=tools,
        )
        completion = Completion(text=reply(code), backend=backend, model="m-1")
        if tools:
            store.steps.save_reply(request, replace(completion, protocol=ToolProtocol.NATIVE)).result()
            done = ToolCall(name=tools[0].name, arguments={"summary": code})
            turns = (Message(role="assistant", text=reply(code)), Message(role="tool", text="written"))
            request = replace(request, call_no=1, messages=(*request.messages, *turns))
            completion = replace(completion, text="", tool_calls=(done,), protocol=ToolProtocol.NATIVE)
        store.steps.save_reply(request, completion).result()
        work = AttemptState(
            phase=Phase.TESTING, base="b", step_no=number + 1, iteration=number + 1, change={"add.py": code}
        )
        step = Step(phase=Phase.CODING, outcome=Outcome.OK, state=work)
        store.steps.save_step(task.id, 1, task.fence, step, started_at=store.clock(), duration_s=1).result()
    if commit:
        entry = Commit(
            task_id=task.id,
            attempt=1,
            repo="w",
            branch="b",
            commit=f"{task.id:040}",
            base="b",
            subject="add",
            label="verified",
        )
        store.state.record_commit(entry).result()
        store.queue.finish(task.id, task.fence, Ending.COMMITTED, commit=f"{task.id:040}").result()
    return task.id


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_try_that_passed_is_accepted_and_each_that_failed_is_paired_with_what_passed(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        task_id = solve(store, WRONG, RIGHT)
        done = export(store.db, tmp_path / "training.jsonl", Masker())
    (accepted,), (pair,) = read(done.accepted_file), read(done.preferences_file)
    assert (done.accepted, done.preferences) == (1, 1)
    assert done.preferences_file.name == "training.preferences.jsonl"
    assert accepted["messages"] == [
        {"role": "system", "content": "Phase: CODING"},
        {"role": "user", "content": "try 1"},
        {"role": "assistant", "content": reply(RIGHT)},
    ]
    assert pair["prompt"] == [{"role": "system", "content": "Phase: CODING"}, {"role": "user", "content": "try 0"}]
    assert pair["rejected"] == [{"role": "assistant", "content": reply(WRONG)}]
    assert pair["chosen"] == [{"role": "assistant", "content": reply(RIGHT).rstrip("\n")}]
    assert accepted["meta"] == {
        "task": task_id,
        "iteration": 2,
        "label": "verified",
        "backend": "openai",
        "model": "m-1",
    }


def test_nothing_is_learned_from_what_was_not_committed_or_not_written_by_a_model(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        solve(store, WRONG, commit=False)
        solve(store, RIGHT, backend=BUILT_IN)
        done = export(store.db, tmp_path / "training.jsonl", Masker())
    assert (done.accepted, done.preferences) == (0, 0)
    assert done.accepted_file.read_text() == ""


def test_secrets_are_masked(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        solve(store, "TOKEN = 'hunter22'\n")
        done = export(store.db, tmp_path / "training.jsonl", Masker(["hunter22"]))
    assert "hunter22" not in done.accepted_file.read_text()
    assert done.accepted == 1


def test_work_with_tools_is_accepted_whole_and_makes_no_pairs(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        solve(store, WRONG, RIGHT, tools=(ToolSpec(name="done", description="Ends the work."),))
        done = export(store.db, tmp_path / "training.jsonl", Masker())
    (accepted,) = read(done.accepted_file)
    assert read(done.preferences_file) == []
    assert accepted["messages"] == [
        {"role": "system", "content": "Phase: CODING"},
        {"role": "user", "content": "try 1"},
        {"role": "assistant", "content": reply(RIGHT)},
        {"role": "user", "content": "written"},
        {"role": "assistant", "content": f"```done\n{RIGHT}```"},
    ]
