"""The daemon with recorded replies of a real model: each task ends as it did in the recording.

`bench/real_model.py --record tests/data/real_model_replies.json` records the replies again if the model is available.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.real_items import read_humaneval
from tests.support.daemon import Daemon, settings_for
from tests.support.recorded_model import RecordedModel
from tests.support.wire_server import WireServer

SMALL = "qwen2.5-coder-1.5b-instruct"
ITEMS = {item.id: item for item in read_humaneval()}


@pytest.mark.parametrize("name", RecordedModel().results)
def test_a_task_ends_as_it_did_with_the_real_model(name: str, tmp_path: Path) -> None:
    recorded, item = RecordedModel(), ITEMS[name]
    with WireServer(recorded.reply, models=(SMALL,)) as server:
        settings = settings_for(server, WORKER_COUNT="1", REPAIR_FIRST_S="0", MAX_RETRIES="1")
        with Daemon(tmp_path / "home", settings) as daemon:
            limits = {"iterations": recorded.results[name]["limit"]}
            task_id = daemon.submit(description=item.description, tests=dict(item.tests), limits=limits)
            (task,) = daemon.wait(task_id)
    if recorded.unknown:
        pytest.skip(f"RECORD AGAIN: a prompt of {name} changed: …{recorded.unknown[0]!r}")
    assert {field: task[field] for field in ("status", "iteration_count")} == {
        field: recorded.results[name][field] for field in ("status", "iteration_count")
    }
