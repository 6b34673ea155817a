"""Nodes take turns to land commits on a branch.

One node lands at a time, in order. Only commits that their node has signed land together with others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.errors import LeaseLost
from nightshift.core.hub import Turn
from nightshift.remote.hub import control
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.landing import Landing
from nightshift.remote.hub.signing import NodeKey, make_offered_text
from nightshift.remote.hub.worker import workflows_served
from nightshift.remote.hub.workflows import Entry
from tests.support.hub_node import hub_node, workspace_of_all

LINE = "line"


async def until_entered(way: Landing, fits: Callable[[list[Entry]], bool]) -> None:
    while not fits(await way.entries(LINE)):  # noqa: ASYNC110  another process tells no event of this loop
        await asyncio.sleep(0.05)


def test_the_second_waits_offers_its_commit_and_learns_where_it_landed(
    hub: HubConnection, url: str, tmp_path: Path
) -> None:
    with workflows_served(hub):
        control.prepare(hub)
        control.follow(hub, workspace_of_all(tmp_path))
    with hub_node(url, tmp_path, "a") as first, hub_node(url, tmp_path, "b") as second:
        first.submit("one")
        first.submit("two")
        tasks, messages = [first.take(), second.take()], list[str]()
        keys = {name: NodeKey(tmp_path / name / "key") for name in "ab"}
        ways = [Landing(hub, name, key, lambda _: LINE, 60, messages.append) for name, key in keys.items()]
        offered, workspace = asyncio.Event(), first.dispatcher._repositories.git.open(None, None, 1, "x")

        async def offer() -> tuple[str, str]:
            offered.set()
            return "c0ffee", "agent/x"

        async def land_second() -> Turn:
            async with ways[1].turn(tasks[1], workspace, offer, "python") as turn:
                return turn

        async def land() -> tuple[Turn, Turn]:
            async with ways[0].turn(tasks[0], workspace, offer, "python") as turn:
                assert not offered.is_set()
                waits = asyncio.create_task(land_second())
                await offered.wait()
                await until_entered(ways[0], lambda entries: any(entry.commit for entry in entries))
                text = make_offered_text("b", 7, LINE, "beef", "agent/y")
                forged = Entry(task_id=7, fence=1, node="b", commit="beef", branch="agent/y", kind="python",
                               signature=ways[0]._key.sign(text))  # fmt: skip
                await ways[0]._signal(LINE, "enter", forged)
                await until_entered(ways[0], lambda entries: len(entries) == 3)
                others = await ways[0]._sound(LINE, (await ways[0].entries(LINE))[1:], "python")
                assert [other.commit for other in others] == ["c0ffee"]
                await ways[0].end(LINE, {tasks[1].hub_id or 0: "feed"})
            return turn, await waits

        mine, theirs = asyncio.run(land())
        assert (mine.landed, mine.others, theirs.landed) == (None, (), "feed")
        assert messages == ["this node does not land task 7 of the hub: the task's node has not signed the offer"]
        late = replace(tasks[0], hub_fence=99)
        with pytest.raises(LeaseLost):
            asyncio.run(ways[0].turn(late, workspace).__aenter__())
