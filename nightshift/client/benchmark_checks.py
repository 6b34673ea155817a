"""`nightshift bench smoke` and `bench gate`: whether a new model is fit for work, and a change of the agent for use."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nightshift.client.benchmark import open_repository
from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Table, cell
from nightshift.client.session import Session
from nightshift.core.errors import BenchmarkError
from nightshift.core.text.formats import duration, money, percent
from nightshift.report.benchmark.arms import of_models
from nightshift.report.benchmark.gate import Gated, gated
from nightshift.report.benchmark.report import fold
from nightshift.report.benchmark.results import Arm
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import Mode, Run, RunState
from nightshift.report.benchmark.version import version

if TYPE_CHECKING:
    from nightshift.app.benchmark import Opened

MOST_UNREADABLE = 0.2
"""The share of items with a reply that could not be read, above which a model is not fit for work."""


def smoke(session: Session, repo: str, model: str, *, items: int, budget_usd: float | None) -> int:
    """Let a model try a few items of a repository, and say whether it is fit for work there.

    Args:
        session: whose home keeps the results.
        repo: a checkout, or a folder in one.
        model: as `backend=model`.
        items: how many.
        budget_usd: what it may cost; None for any amount.

    Returns:
        `Exit.FAILED` where it solved nothing, or its replies could often not be read.

    Raises:
        BenchmarkError: what is asked for cannot be run.
    """
    (arm,) = of_models([model])
    with open_repository(session, repo) as here:
        ended = _run(session, here, [arm], Asked(items=items, budget_usd=budget_usd))
        results = [one for one in here.store.results(here.repo, ended.mode) if one.item in ended.items]
        figures = fold(here.repo, here.store.items(here.repo), [arm], results).arms
    if ended.state is not RunState.DONE or not figures:
        raise BenchmarkError(f"{ended.reason or 'nothing was tried'}; the same command goes on")
    (found,) = figures
    unreadable, solved = found.format_errors, found.solved
    fit = bool(solved.part) and unreadable.guess <= MOST_UNREADABLE
    why = (
        "it solved nothing" if not solved.part
        else f"replies could not be read with {unreadable.part} of {unreadable.whole} items"
    )  # fmt: skip
    words = f"{model} is fit for work" if fit else f"{model} is not fit for work here: {why}"
    row = [f"{solved.part} of {solved.whole}", f"{unreadable.part} of {unreadable.whole}", money(found.item_usd),
           duration(found.seconds)]  # fmt: skip
    table = Table(head=("solved", "unreadable replies", "an item", "time"), rows=[[cell(each) for each in row]])
    answer = {"model": model, "fit": fit, "solved": solved.part, "items": solved.whole, "unreadable": unreadable.part,
              "item_usd": found.item_usd, "seconds": found.seconds}  # fmt: skip
    session.print(answer, [table, Lines(lines=[Cell(words)])])
    return Exit.OK if fit else Exit.FAILED


def gate(
    session: Session, repo: str, *, before: str | None, mode: str, margin: int | None, budget_usd: float | None
) -> int:
    """Let the arms of an earlier version of the agent try their items with today's, and compare.

    Args:
        session: whose home has the results.
        repo: a checkout, or a folder in one.
        before: the earlier version; None for the newest that is not today's.
        mode: of the results.
        margin: a loss that must be excluded, in points; None asks only that none is shown.
        budget_usd: what it may cost; None for any amount.

    Returns:
        `Exit.FAILED` where an arm is worse, or a loss of `margin` points cannot be excluded.

    Raises:
        BenchmarkError: there is nothing to compare with.
    """
    now = version()
    with open_repository(session, repo) as here:
        every = here.store.versions(here.repo, Mode(mode))
        known = [name for name in every if name not in {now, ""}]
        if before is not None and before not in known:
            raise BenchmarkError(f"--before: there are no results of {before}; of: {', '.join(known) or 'none'}")
        if not known:
            why = f"all results are of today's version {now}" if every else f"there are no results in mode {mode}"
            raise BenchmarkError(f"{here.repo}: {why}; run the benchmark before you change the agent")
        old = before or known[0]
        earlier = here.store.results(here.repo, Mode(mode), old)
        arms = [one for one in here.store.arms() if one.name in {result.arm for result in earlier}]
        keys = tuple(dict.fromkeys(result.item for result in earlier))
        ended = _run(session, here, arms, Asked(mode=Mode(mode), budget_usd=budget_usd, keys=keys, version=now))
        later = here.store.results(here.repo, Mode(mode), now)
    found = gated(earlier, later, None if margin is None else margin / 100)
    if ended.state is not RunState.DONE or not found:
        raise BenchmarkError(f"{ended.reason or 'nothing could be compared'}; the same command goes on")
    passes = all(one.passes for one in found)
    words = "The change may stay." if passes else "The change made it worse, or a loss could not be excluded."
    answer = {"before": old, "after": now, "passes": passes, "arms": [
        {"arm": one.arm, "items": one.pairs.count, "before": one.pairs.first.part, "after": one.pairs.second.part,
         "p_value": one.p_value, "most_lost": one.most_lost, "passes": one.passes} for one in found]}  # fmt: skip
    session.print(answer, [*_tabulate(found), Lines(lines=[Cell(f"Version {old}, then {now}. {words}")])])
    return Exit.OK if passes else Exit.FAILED


def _run(session: Session, here: Opened, arms: Sequence[Arm], asked: Asked) -> Run:
    from nightshift.app.benchmark_run import run_arms  # noqa: PLC0415  # the other actions need none of it

    return asyncio.run(run_arms(session.settings, here, arms, asked, tell=session.out.note))


def _tabulate(found: Sequence[Gated]) -> list[Block]:
    rows = [
        [cell(one.arm), cell(f"{one.pairs.first.part} of {one.pairs.count}"), cell(f"{one.pairs.second.part}"),
         cell(f"{one.p_value:.2g}"), cell(percent(one.most_lost)), cell("passes" if one.passes else "fails")]
        for one in found
    ]  # fmt: skip
    return [Table(head=("arm", "solved before", "now", "p", "loss not excluded", "verdict"), rows=rows)]
