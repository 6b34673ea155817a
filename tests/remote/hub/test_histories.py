"""Workflows that earlier versions started continue under today's code: recorded histories are replayed.

A history is recorded with `temporal workflow show --output json` after the workflow has run through all its operations.
An old history is kept as long as workflows of its version may run.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from nightshift.remote.hub.workflows import ALL

HISTORIES = Path(__file__).with_name("histories")


@pytest.mark.parametrize("file", sorted(HISTORIES.glob("*.json")), ids=lambda file: file.stem)
def test_a_recorded_history_is_replayed(file: Path) -> None:
    history = WorkflowHistory.from_json(file.stem, file.read_text())
    asyncio.run(Replayer(workflows=ALL).replay_workflow(history))
