"""Started, stopped and killed in quick succession, in every way that a signal can come, with tasks in flight."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import tiers
from tests.support.house import Forked, House
from tests.support.lives import Life
from tests.support.nursery import Nursery
from tests.support.wire_server import WireServer

TURNS = 30 if tiers.ENDURANCE else 12


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with Nursery() as running:
        yield running


def drained(house: House) -> None:
    assert house.stop() == 0


def hurried(house: House) -> None:
    """A second signal while it drains."""
    process = house.daemon.process
    assert process
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, house.daemon.output()[-2000:]


def killed(house: House) -> None:
    house.daemon.kill()


def killed_while_it_stops(house: House) -> None:
    process = house.daemon.process
    assert process
    process.send_signal(signal.SIGTERM)
    time.sleep(random.Random(house.daemon.output()).uniform(0, 0.2))
    house.daemon.kill()


def killed_while_it_starts(house: House) -> None:
    house.daemon.kill()
    house.daemon.begin()
    time.sleep(random.Random(house.daemon.output()).uniform(0, 0.8))
    house.daemon.kill()


def stopped_while_it_starts(house: House) -> None:
    house.daemon.kill()
    house.daemon.begin()
    time.sleep(random.Random(house.daemon.output()).uniform(0, 0.8))
    house.stop()


WAYS: tuple[Callable[[House], None], ...] = (
    drained, killed, hurried, killed_while_it_starts, killed_while_it_stops, stopped_while_it_starts,
)  # fmt: skip


def test_starts_and_ends_of_all_kinds_lose_double_and_leak_nothing(tmp_path: Path, nursery: Nursery) -> None:
    life, dice, ids = Life(), random.Random(5), []
    with WireServer(life.reply, latency_s=0.05) as server:
        house = House(tmp_path, server, nursery, WORKER_COUNT="3", DRAIN_S="0.2")
        with house:
            for turn in range(TURNS):
                ids += [house.submit(**life.task(10 * turn + n)) for n in range(2)]
                time.sleep(dice.uniform(0, 0.6))
                WAYS[turn % len(WAYS)](house)
                house.daemon.start()
            ended = house.ended(*ids)
        assert {task["ending"] for task in ended} == {"committed"}, ended
        assert house.orphans() == []
    faults = house.faults()
    assert not faults, faults
    assert house.rows("SELECT task_id FROM git_commits ORDER BY 1") == [(id_,) for id_ in sorted(ids)]


def test_a_second_daemon_is_refused_by_a_word_that_names_the_first(tmp_path: Path, nursery: Nursery) -> None:
    life = Life()
    with WireServer(life.reply) as server, House(tmp_path, server, nursery) as house:
        id_ = house.submit(**life.task(1))
        for _ in range(3):
            second = Forked(house.home, house.daemon.settings, nursery)
            second.begin()
            assert second.process
            assert house.daemon.process
            assert second.process.wait(30) not in {0, 70}
            assert f"{house.daemon.process.pid}" in second.output()
        assert house.until(id_, "done")["ending"] == "committed"
