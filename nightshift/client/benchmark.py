"""`nightshift bench`: what models are worth on tasks from a repository's own history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Table, cell
from nightshift.client.session import Session
from nightshift.core.errors import BenchmarkError
from nightshift.report.benchmark.mining import Filter, Passed, account
from nightshift.report.benchmark.results import Item
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import Dropped

if TYPE_CHECKING:
    from nightshift.app.benchmark import Opened
    from nightshift.app.benchmark_words import ModelWriter


def mine(session: Session, repo: str, *, commits: int, items: int, model: str | None = None) -> int:
    """Find commits that may be items, run their tests, and say what each filter dropped.

    Args:
        session: whose home keeps what is found.
        repo: a checkout, or a folder in one.
        commits: of the history so many are looked at, the newest.
        items: validation stops after so many new ones; what is left waits for the next call.
        model: writes poor words of commits anew, as `backend=model`; None leaves them as they are.

    Raises:
        BenchmarkError: there is no such model, or the owner's budget is spent.
        GitError: it is no repository that can be used.
        SandboxError: nothing can be run here.
    """
    from nightshift.app.benchmark import mine_commits  # noqa: PLC0415  # only this needs it
    from nightshift.app.benchmark_words import ModelWriter  # noqa: PLC0415  # as above

    with open_repository(session, repo) as here:
        writer = ModelWriter(session.settings, here.store, here.repo, model, tell=session.out.note) if model else None
        new = mine_commits(here, commits)
        if here.store.candidates(here.repo):
            asyncio.run(_validate(session, here, items, writer))
        lines, made = account(here.store, here.repo), here.store.items(here.repo)
        left = len(here.store.candidates(here.repo))
    wait = f"; {left} wait to be validated" if left else ""
    words = f"{here.repo}: {new} new commits, {len(made)} items{wait}"
    answer = {
        "repo": here.repo, "new": new, "candidates": left, "items": [one.commit for one in made],
        "filters": [_plain(line) for line in lines],
    }  # fmt: skip
    session.print(answer, [*_account(lines), Lines(lines=[Cell(words)])])
    return Exit.OK


def open_repository(session: Session, repo: str) -> AbstractContextManager[Opened]:
    """A repository with what the benchmark of the session's home knows of it; see `app.benchmark.opened`."""
    from nightshift.app.benchmark import opened as opened_for  # noqa: PLC0415  # as above

    return opened_for(session.settings, str(Path(repo).expanduser().resolve()))


async def _validate(session: Session, here: Opened, items: int, writer: ModelWriter | None) -> None:
    from nightshift.app.benchmark import validate_candidates  # noqa: PLC0415  # as above

    try:
        await validate_candidates(here, session.settings, items, lambda one: session.out.note(_describe(one)), writer)
    finally:
        if writer:
            await writer.aclose()


def run(session: Session, repo: str, asked: Asked, *, models: str | None, file: str | None, key: str | None) -> int:
    """Let arms solve a repository's items, or go on with it.

    Args:
        session: whose home keeps the results.
        repo: a checkout, or a folder in one.
        asked: over which items, how often, and at what price.
        models: names of models, separated by commas; an arm for each.
        file: a file of arms.
        key: of a run that is gone on with, whose arms, mode, items and rounds hold.

    Raises:
        BenchmarkError: what is asked for cannot be run.
        GitError: it is no repository that can be used.
        SandboxError: nothing can be run here.
    """
    from nightshift.app.benchmark_run import BY_HAND, go_on, run_arms  # noqa: PLC0415  as above
    from nightshift.report.benchmark.arms import from_file, of_models  # noqa: PLC0415  only this needs it

    arms = (*(from_file(Path(file)) if file else ()), *(of_models(models.split(",")) if models else ()))
    if not arms and not key:
        raise BenchmarkError("name what is compared: --models openai=gpt-5-mini,built-in or --arms FILE")
    with open_repository(session, repo) as here:
        settings, tell = session.settings, session.out.note
        if key:
            ended = asyncio.run(go_on(settings, here, key, budget_usd=asked.budget_usd, tell=tell))
        else:
            ended = asyncio.run(run_arms(settings, here, arms, asked, tell=tell))
    why = f": {ended.reason}; the same command goes on" if ended.reason else ""
    words = f"{ended.state}{why}. The figures: nightshift bench report {here.repo}"
    session.print({"run": ended.key, "state": str(ended.state), "reason": ended.reason}, [Lines(lines=[Cell(words)])])
    return Exit.INTERRUPTED if ended.reason == BY_HAND else Exit.OK


def _describe(found: Item | Dropped) -> str:
    head = f"{found.commit[:10]} {found.subject[:60]}"
    if isinstance(found, Item):
        words = f", in the words of {found.worded_by}" if found.worded_by else ""
        return f"{head}: an item, {len(found.fail_to_pass)} tests fail before it and pass after it{words}"
    return f"{head}: {Filter[found.filter].value}: {found.reason}"


def _plain(line: Passed) -> dict[str, str | int]:
    return {"filter": line.filter.name.lower(), "before": line.before, "dropped": line.dropped, "after": line.after}


def _account(lines: Sequence[Passed]) -> list[Block]:
    rows = [[cell(line.before), cell(line.dropped), cell(line.after), cell(line.filter.value)] for line in lines]
    return [Table(head=("before", "dropped", "after", "filter"), rows=rows)] if lines and lines[0].before else []
