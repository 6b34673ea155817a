"""The memory of a daemon does not grow with the number of its tasks.

A real daemon does 130 tasks in this process.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.app.daemon import Daemon
from nightshift.config.load import Settings, load_settings
from nightshift.core.tasks.states import DaemonState, Status
from nightshift.core.tasks.submission import parse_spec
from tests.support.answers import Answers, job
from tests.support.daemon import settings_for
from tests.support.growing import lengths
from tests.support.wire_server import WireServer

FIRST, MORE = 30, 100
SHARE = 0.5
"""Limit of growth in items per task. A container that grows faster counts as unbounded."""
BOUNDED = {
    "_objects": "trees and small files of a repository: 8 MB",
    "_facts": "what files refer to: 50,000 files at most",
    "_words": "one entry for each file of the workspace, of the four graphs at most",
    "entries": "as above",
    "_stale": "as above",
    "_entries": "as above",
    "_users": "as above, by word",
    "_files": "as above, by name",
    "_folders": "as above",
    "_within": "as above",
    "names": "as above",
    "records": "the files of a tree, of sixteen trees at most, and of the tree listed last",
    "regular": "as above",
    "_trees": "trees as bytes, 32 MB at most",
    "trees": "sixteen at most",
    "_longest": "what suites took: 2,000 of them at most",
    "_list_exceptions": "the checker's and the engine's last answers: 256 at most",
    "_starts": "as above",
    "_origins": "as above",
    "_describe": "32 shapes of jobs at most",
    "_before": "what tests gave last, 64 at most",
    "_findings": "Bandit's findings in 256 modules at most",
    "_commands": "the linters of trees, 256 of them at most",
    "_contents": "one entry for each file of the workspace, of 20,000 at most",
    "_tags": "as above",
    "_tags_by_content": "tags of files by content: 50,000 files at most",
    "_defining": "as above, by name",
}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Provide the settings of a new home whose model always answers correctly."""
    with WireServer(Answers()) as server:
        for name, value in settings_for(server, FLASK_PORT="0", GIT_AUTO_PUSH="false").items():
            monkeypatch.setenv(name, value)
        yield load_settings(home=tmp_path)


async def do(daemon: Daemon, first: int, count: int) -> None:
    """Submit `count` tasks to the daemon and wait until they are done."""
    queue = daemon._store.queue
    before = queue.counts()[Status.DONE]
    for number in range(first, first + count):
        await asyncio.wrap_future(queue.submit(parse_spec(job(number))))
    async with asyncio.timeout(900):
        while queue.counts()[Status.DONE] < before + count:
            assert not queue.counts()[Status.FAILED], queue.find(Status.FAILED)[0].reason
            await asyncio.sleep(0.1)


async def rest(daemon: Daemon) -> None:
    """Wait until the background work of the last task has ended."""
    async with asyncio.timeout(60):
        while daemon._busy():  # noqa: ASYNC110  a state, not an event
            await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)
    gc.collect()


def read_held(settings: Settings) -> dict[str, int]:
    """Count the process's descriptors, threads, asyncio tasks and child processes, and the files that it keeps."""
    state = [path for path in settings.state_dir.rglob("*") if path.is_file()]
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "tasks of the loop": len(asyncio.all_tasks()),
        "children": len(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()),
        "files of state": len(state),
        "temporary files": len(list(Path(tempfile.gettempdir()).glob(f"nightshift-*-{os.getpid()}-*"))),
    }


def growing(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return the growth of each container that grew with the tasks and is not listed in `BOUNDED`."""
    grown = {path: after[path] - count for path, count in before.items() if path in after}
    names = {path: path.replace("[]", "").rpartition(".")[2] for path in grown}
    return {path: more for path, more in grown.items() if more > SHARE * MORE and names[path] not in BOUNDED}


async def test_nothing_that_a_daemon_holds_grows_with_its_tasks(settings: Settings) -> None:
    daemon = Daemon(settings, show=lambda _: None)
    serving = asyncio.create_task(daemon.serve())
    try:
        async with asyncio.timeout(60):
            while daemon._life is not DaemonState.RUNNING and not serving.done():  # noqa: ASYNC110  a state, not an event
                await asyncio.sleep(0.05)
        await do(daemon, 1, FIRST)
        await rest(daemon)
        before, containers = read_held(settings), lengths(daemon)
        await do(daemon, 1 + FIRST, MORE)
        await rest(daemon)
        after, later = read_held(settings), lengths(daemon)
    finally:
        daemon.stop()
        await asyncio.wait_for(serving, 60)
        gc.unfreeze()
    assert len(containers) > 100, "the walk sees the services"
    assert growing(containers, later) == {}
    assert {name: count for name, count in after.items() if count > before[name] + 8} == {}, before
