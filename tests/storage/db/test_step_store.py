"""Durable steps and replies, from which a new daemon continues after the death of the previous one."""

import json
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from nightshift.core.dialogue import Completion, Finish, Message, ModelRequest
from nightshift.core.errors import StaleFence
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Label, Result, Verdict
from nightshift.core.tools import FormCounts, ToolCall, ToolParameter, ToolProtocol, ToolSpec
from nightshift.storage.db import artifacts
from nightshift.storage.db.step_store import PhaseTime
from nightshift.storage.db.tool_forms import ToolForms
from tests.support.store import Store, open_store


def claim(store: Store) -> Task:
    store.queue.submit(TaskSpec(description="x")).result()
    task = store.queue.claim("w").result()
    assert task is not None
    return task


def judge_change(*results: Result) -> Verdict:
    cases = tuple(CaseResult(id=str(number), result=result) for number, result in enumerate(results))
    evidence = Evidence(tree="t", sandbox="s", label=Label.TESTS_PASSED)
    return Verdict(passed=all(r is Result.PASSED for r in results), reason="", evidence=evidence, results=cases)


def step(number: int, phase: Phase, outcome: Outcome = Outcome.OK, **work: object) -> Step:
    """Return step `number` of an attempt, counted from 0."""
    return Step(
        phase=phase,
        outcome=outcome,
        state=replace(AttemptState(phase=Phase.CODING, base="b", step_no=number + 1), **work),  # type: ignore[arg-type]
        note=f"step {number}",
        data={"number": number},
    )


def save(store: Store, task: Task, done: Step, fence: int | None = None) -> Future[None]:
    began = store.clock()
    store.clock.advance(2)
    return store.steps.save_step(task.id, task.attempt, fence or task.fence, done, started_at=began, duration_s=2)


def request(task: Task, step_no: int = 0, call_no: int = 0, iteration: int = 0, text: str = "do it") -> ModelRequest:
    return ModelRequest(
        phase=Phase.CODING,
        messages=(Message(role="system", text="Phase: CODING"), Message(role="user", text=text)),
        task_id=task.id,
        attempt=task.attempt,
        step_no=step_no,
        call_no=call_no,
        iteration=iteration,
    )


def answer(text: str = "here", cost_usd: float | None = 0.25) -> Completion:
    return Completion(
        text=text, backend="openai", model="gpt", tokens_in=100, tokens_out=10, cost_usd=cost_usd, latency_s=1.5
    )


def test_the_last_case_file_is_found_after_a_restart(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        task = claim(store)
        assert store.steps.last_work(task.id, 1) is None
        save(store, task, step(0, Phase.PLANNING)).result()
        last = step(
            1,
            Phase.CODING,
            iteration=1,
            change={"a.py": "x = '\ud800'", "b.py": None},
            verdict=judge_change(Result.PASSED),
        )
        save(store, task, last).result()
    with open_store(tmp_path / "a.sqlite") as store:
        assert store.steps.last_work(task.id, 1) == last.state
        assert store.steps.last_work(task.id, 2) is None


def test_a_stale_fence_is_refused_and_leaves_nothing(store: Store) -> None:
    task = claim(store)
    with pytest.raises(StaleFence):
        save(store, task, step(0, Phase.PLANNING), fence=task.fence + 1).result()
    store.queue.requeue(task.id, task.fence, "shutdown").result()
    with pytest.raises(StaleFence):
        save(store, task, step(0, Phase.PLANNING)).result()
    assert store.steps.timeline(task.id) == []
    assert store.steps.iterations(task.id) == []


def test_an_iteration_is_the_sum_of_its_steps_and_calls(store: Store) -> None:
    task = claim(store)
    save(store, task, step(0, Phase.PLANNING)).result()
    for number, cost in enumerate((0.25, None)):
        store.steps.save_reply(request(task, 1, number, iteration=1), answer(cost_usd=cost)).result()
    bad, good = judge_change(Result.FAILED), judge_change(Result.PASSED)
    save(store, task, step(1, Phase.CODING, iteration=1)).result()
    save(store, task, step(2, Phase.TESTING, Outcome.REDO, iteration=1, verdict=bad)).result()
    save(store, task, step(3, Phase.REFLECTING, Outcome.REDO, iteration=1, verdict=bad)).result()
    lesson = Lesson(id=7, text="t", score=0.5)
    save(store, task, step(4, Phase.CODING, iteration=2, verdict=bad, lessons=(lesson,))).result()
    save(store, task, step(5, Phase.TESTING, iteration=2, verdict=good, lessons=(lesson,))).result()
    none, first, second = store.steps.iterations(task.id)
    assert (none.iteration, none.total) == (0, None)
    assert first.phases == (
        PhaseTime(phase=Phase.CODING, outcome=Outcome.OK, duration_s=2),
        PhaseTime(phase=Phase.TESTING, outcome=Outcome.REDO, duration_s=2),
        PhaseTime(phase=Phase.REFLECTING, outcome=Outcome.REDO, duration_s=2),
    )
    assert (first.passed, first.failed, first.total) == (0, 1, 1)
    assert (first.tokens_in, first.tokens_out, first.cost_usd, first.duration_s) == (200, 20, 0.25, 6)
    assert (second.passed, second.failed, second.total, second.tokens_in) == (1, 0, 1, 0)
    assert second.ended_at - second.started_at == timedelta(seconds=4)
    assert (none.lessons, first.lessons, second.lessons) == (0, 0, 1)


def test_storing_a_step_twice_changes_nothing(store: Store) -> None:
    task = claim(store)
    done = step(0, Phase.CODING, iteration=1)
    store.steps.save_step(task.id, 1, task.fence, done, started_at=store.clock(), duration_s=2).result()
    before = store.steps.timeline(task.id), store.steps.iterations(task.id)
    store.steps.save_step(task.id, 1, task.fence, done, started_at=store.clock(), duration_s=2).result()
    assert (store.steps.timeline(task.id), store.steps.iterations(task.id)) == before


def test_a_reply_is_found_at_its_place_and_marked(tmp_path: Path) -> None:
    full = replace(
        answer("text \ud800"),
        finish=Finish.TOOL,
        tool_calls=(ToolCall(name="f", arguments={"a": 1}),),
        extra={"id": "x"},
    )
    with open_store(tmp_path / "a.sqlite") as store:
        task = claim(store)
        store.steps.save_reply(request(task, 3, 1), full).result()
    with open_store(tmp_path / "a.sqlite") as store:
        assert store.steps.reply((task.id, 1, 3, 1)) == replace(full, replayed=True)
        for other in ((task.id, 1, 3, 0), (task.id, 2, 3, 1), (task.id + 1, 1, 3, 1)):
            assert store.steps.reply(other) is None


def test_the_first_reply_of_a_place_stays_and_both_are_counted(store: Store) -> None:
    task = claim(store)
    store.steps.save_reply(request(task), answer("first")).result()
    store.steps.save_reply(request(task), answer("second")).result()
    reply = store.steps.reply((task.id, 1, 0, 0))
    assert reply is not None
    assert reply.text == "first"
    assert store.state.sum_spent().model_calls == 2


def test_the_calls_of_a_task_lead_to_their_texts_without_secrets(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite", secrets=("hunter2hunter2",)) as store:
        task = claim(store)
        store.steps.save_reply(request(task, 1, 0, 1, "use hunter2hunter2"), answer("reply", cost_usd=None)).result()
        (call,) = store.steps.calls(task.id)
        assert (call.step_no, call.call_no, call.model, call.tokens_in, call.cost_usd) == (1, 0, "gpt", 100, None)
        prompt = json.loads(store.steps.artifact(call.prompt) or "")
        assert prompt == [["system", "Phase: CODING"], ["user", "use ***"]]
        assert store.steps.artifact(call.reply) == "reply"


def test_a_case_file_that_cannot_be_read_any_more_starts_the_attempt_anew(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    task = claim(store)
    save(store, task, step(0, Phase.PLANNING)).result()
    odd = store.db.write(lambda conn: artifacts.put(conn, '{"phase": "DREAMING"}')).result()
    store.db.write(lambda conn: conn.execute("UPDATE steps SET work = ?", (odd,))).result()
    assert store.steps.last_work(task.id, 1) is None
    assert "starts again" in caplog.text


# Steps that call tools.

READ = ToolSpec(name="read_file", description="Shows a file.", parameters=(ToolParameter(name="path", description=""),))


def work(task: Task, call_no: int, *turns: Message, step_no: int = 0) -> ModelRequest:
    asked = request(task, step_no=step_no, call_no=call_no, text="hunter2hunter2")
    return replace(asked, messages=(*asked.messages, *turns), tools=(READ,))


def call(number: int) -> tuple[Message, Message]:
    call = ToolCall(name="read_file", arguments={"path": f"{number}.py", "content": "two\nlines"}, id=f"c{number}")
    return (
        Message(role="assistant", text="Let me look.", tool_calls=(call,)),
        Message(role="tool", text=f"result {number} hunter2hunter2", call_id=f"c{number}"),
    )


def test_calls_and_results_stand_in_the_prompts_of_a_loop_and_each_of_them_is_stored_once(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite", secrets=("hunter2hunter2",)) as store:
        task = claim(store)
        turns: list[Message] = []
        for number in range(12):
            asked = work(task, number, *turns)
            store.steps.save_reply(asked, replace(answer(), protocol=ToolProtocol.NATIVE)).result()
            turns += call(number)
        calls = store.steps.calls(task.id)
        assert [len(store.steps.prompt(call.prompt)) for call in calls] == [2 + 2 * number for number in range(12)]
        first = [("system", "Phase: CODING"), ("user", "***")]
        assert store.steps.prompt(calls[2].prompt) == [
            *first,
            *(
                turn
                for number in range(2)
                for turn in (
                    ("assistant", f"Let me look.\n\n```read_file path={number}.py\ntwo\nlines\n```"),
                    ("tool", f"result {number} ***"),
                )
            ),
        ]
        stored = [store.steps.artifact(call.prompt) or "" for call in calls]
        assert max(map(len, stored)) < 2 * max(map(len, stored[:2]))
        assert sum(text.count("result 3 ") for text in stored) == 1


def reporting(number: int, *forms: list[object]) -> Step:
    done = step(number, Phase.CODING)
    return replace(done, data={**done.data, "forms": [*forms]})


def test_how_tools_were_called_is_added_up_and_a_step_counts_once(store: Store) -> None:
    task, forms = claim(store), ToolForms(store.db)
    assert forms.read_counts("openai", "gpt-5") == {}
    done = reporting(0, ["openai", "gpt-5", "native", 3, 1], ["openai", "gpt-5-2026-08-07", "native", 2, 0])
    for _ in range(2):
        save(store, task, done).result()
    more = reporting(1, ["openai", "gpt-5", "text", 0, 4], ["openai", "gpt-5-mini", "native", 0, 9])
    save(store, task, more).result()
    assert forms.read_counts("openai", "gpt-5") == {
        ToolProtocol.NATIVE: FormCounts(well=5, malformed=1),
        ToolProtocol.TEXT: FormCounts(well=0, malformed=4),
    }
    assert forms.read_counts("openai", "gpt-5-mini") == {ToolProtocol.NATIVE: FormCounts(malformed=9)}
    assert forms.read_counts("ollama", "gpt-5") == {}
