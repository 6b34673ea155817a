"""The tool calls of one attempt, stored under its worker's fencing token."""

import json
from pathlib import Path

import pytest

from nightshift.attempt.tool_log import AttemptToolLog
from nightshift.core.errors import StaleFence
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tools import ToolPlace, ToolRecord
from tests.support.store import Store, open_store

RUN = ToolRecord(name="run", arguments=json.dumps({"command": "pytest -q"}), text="1 passed", took_s=1.5)


def log_of(store: Store) -> tuple[AttemptToolLog, ToolPlace, list[str]]:
    store.queue.submit(TaskSpec(description="x")).result()
    task = store.queue.claim("w").result()
    assert task is not None
    messages = list[str]()
    log = AttemptToolLog(store=store.tools, fence=task.fence, worker="w", say=messages.append)
    return log, ToolPlace(task_id=task.id, attempt=1, step_no=0, call_no=0, seq=0), messages


async def test_a_call_is_said_in_few_words_and_durable_when_it_was_saved(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        log, location, messages = log_of(store)
        assert log.stored(location) is None
        await log.save(location, RUN)
        result = log.stored(location)
        assert result is not None
        assert result.text == "1 passed"
        assert messages == ["run: pytest -q"]


async def test_nothing_is_saved_for_a_worker_that_lost_the_task(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as store:
        log, location, _ = log_of(store)
        store.queue.requeue(location.task_id, log.fence, "shutdown").result()
        with pytest.raises(StaleFence):
            await log.save(location, RUN)
        assert log.stored(location) is None
