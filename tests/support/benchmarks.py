"""Benchmark items from an invented history, and arms (model set-ups to compare) that solve the items a test chooses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nightshift.core.tasks.benchmark_results import Arm, Item, Result
from nightshift.storage.db.benchmark_store import BenchmarkStore

REPO = "/home/me/shop"
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def items(count: int, *, lines: Sequence[int] = (10,), repo: str = REPO) -> list[Item]:
    """Return `count` items, committed a day apart, oldest first. Their sizes in lines cycle through `lines`."""
    return [
        Item(
            key=f"{repo}@{number:040x}",
            repo=repo,
            commit=f"{number:040x}",
            parent=f"{number + 1:040x}",
            subject=f"Change {number}",
            statement=f"Make change {number}",
            lines=lines[number % len(lines)],
            files=1,
            committed_at=NEWEST - (count - 1 - number) * DAY,
            fail_to_pass=(f"test_{number}",),
            pass_to_pass_count=3,
        )
        for number in range(count)
    ]


def arm(name: str, backend: str = "cloud", model: str = "coder", **settings: Any) -> Arm:
    """Return an arm (a model set-up to compare) with default settings, which `settings` override."""
    usual = {"protocol": "auto", "tools": False, "readers": False, "memory": False}
    return Arm(name=name, backend=backend, model=model, **{**usual, **settings})


def results(arm: Arm, items: Iterable[Item], solved: Collection[int], **used: Any) -> list[Result]:
    """Return the arm's results for these items. `solved` has the positions of the items that the arm solved."""
    usual = {"cost_usd": 0.1, "tokens_in": 9000, "tokens_out": 1000, "seconds": 60.0, "iterations": 2,
             "format_errors": 0, "finished_at": NEWEST}  # fmt: skip
    return [
        Result(
            item=item.key,
            arm=arm.name,
            solved=number in solved,
            outcome="committed" if number in solved else "gave_up",
            **{**usual, **used},
        )
        for number, item in enumerate(items)
    ]


def read_stored(
    path: Path,
    repo: str,
    arms: Mapping[Arm, Collection[int]],
    count: int = 20,
    *,
    lines: Sequence[int] = (10,),
    **used: Any,
) -> None:
    """Store items of a repository, and the results of each arm.

    `arms` gives the numbers of the items that each arm solved.
    """
    own = items(count, lines=lines, repo=repo)
    with BenchmarkStore(path) as store:
        for item in own:
            store.add_item(item)
        for arm, solved in arms.items():
            store.add_arm(arm)
            for result in results(arm, own, solved, **used):
                store.add_result(result)
