"""Starts, stops and kills in quick succession, by every kind of signal, while tasks are running."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import tiers
from tests.support.fork_server import ForkServer
from tests.support.scenarios import Scenario
from tests.support.supervised import SupervisedDaemon
from tests.support.wire_server import WireServer

TURNS = 30 if tiers.ENDURANCE else 12


@pytest.fixture
def fork_server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


def drain(supervised: SupervisedDaemon) -> None:
    assert supervised.stop() == 0


def hurry(supervised: SupervisedDaemon) -> None:
    """Send a second signal while the daemon drains."""
    process = supervised.daemon.process
    assert process
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, supervised.daemon.output()[-2000:]


def kill(supervised: SupervisedDaemon) -> None:
    supervised.daemon.kill()


def kill_while_it_stops(supervised: SupervisedDaemon) -> None:
    process = supervised.daemon.process
    assert process
    process.send_signal(signal.SIGTERM)
    time.sleep(random.Random(supervised.daemon.output()).uniform(0, 0.2))
    supervised.daemon.kill()


def kill_while_it_starts(supervised: SupervisedDaemon) -> None:
    supervised.daemon.kill()
    supervised.daemon.begin()
    time.sleep(random.Random(supervised.daemon.output()).uniform(0, 0.8))
    supervised.daemon.kill()


def stop_while_it_starts(supervised: SupervisedDaemon) -> None:
    supervised.daemon.kill()
    supervised.daemon.begin()
    time.sleep(random.Random(supervised.daemon.output()).uniform(0, 0.8))
    supervised.stop()


WAYS: tuple[Callable[[SupervisedDaemon], None], ...] = (
    drain, kill, hurry, kill_while_it_starts, kill_while_it_stops, stop_while_it_starts,
)  # fmt: skip


def test_starts_and_ends_of_all_kinds_lose_double_and_leak_nothing(tmp_path: Path, fork_server: ForkServer) -> None:
    scenario, dice, ids = Scenario(), random.Random(5), []
    with WireServer(scenario.reply, latency_s=0.05) as server:
        supervised = SupervisedDaemon(tmp_path, server, fork_server, WORKER_COUNT="3", DRAIN_S="0.2")
        with supervised:
            for turn in range(TURNS):
                ids += [supervised.submit(**scenario.task(10 * turn + n)) for n in range(2)]
                time.sleep(dice.uniform(0, 0.6))
                WAYS[turn % len(WAYS)](supervised)
                supervised.daemon.start()
            ended = supervised.ended(*ids)
        assert {task["ending"] for task in ended} == {"committed"}, ended
        assert supervised.orphans() == []
    faults = supervised.faults()
    assert not faults, faults
    assert supervised.rows("SELECT task_id FROM git_commits ORDER BY 1") == [(id_,) for id_ in sorted(ids)]
