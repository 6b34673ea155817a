"""`nightshift bench`: compares models on tasks from a repository's own history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from nightshift.app.benchmark import Opened, mine_commits, open_results, validate_candidates
from nightshift.app.benchmark_run import BY_HAND, run_arms
from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Table, cell
from nightshift.client.session import Session, Values
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmark_results import Item
from nightshift.report.benchmark.arms import from_file, of_models
from nightshift.report.benchmark.markdown import render
from nightshift.report.benchmark.mining import Filter, Passed, account
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.stored import report_of, results_of
from nightshift.server.schemas import as_json
from nightshift.storage.db.benchmark_store import Dropped, Mode


def mine(session: Session, repo: str, *, commits: int, items: int) -> int:
    """Find commits that may become items, run their tests, and print what each filter dropped.

    Args:
        session: the session whose home stores the items.
        repo: a checkout, or a folder in a checkout.
        commits: the number of newest commits that are examined.
        items: the number of new items after which validation stops; the next call continues with the remaining
            candidates.

    Raises:
        GitError: `repo` is not a usable repository.
        SandboxError: nothing can be run here.
    """
    with open_repository(session, repo) as here:
        new = mine_commits(here, commits)
        if here.store.candidates(here.repo):
            tell = session.out.note
            asyncio.run(validate_candidates(here, session.settings, items, lambda outcome: tell(_describe(outcome))))
        lines, stored_items = account(here.store, here.repo), here.store.items(here.repo)
        left = len(here.store.candidates(here.repo))
    wait = f"; {left} wait to be validated" if left else ""
    words = f"{here.repo}: {new} new commits, {len(stored_items)} items{wait}"
    answer = {
        "repo": here.repo, "new": new, "candidates": left, "items": [item.commit for item in stored_items],
        "filters": [_fields_of(line) for line in lines],
    }  # fmt: skip
    session.print(answer, [*_account(lines), Lines(lines=[Cell(words)])])
    return Exit.OK


def open_repository(session: Session, repo: str) -> AbstractContextManager[Opened]:
    """Return a context manager that opens a repository and its benchmark data; see `app.benchmark.open_results`."""
    return open_results(session.settings, str(Path(repo).expanduser().resolve()))


def run(session: Session, values: Values) -> int:
    """Let arms solve a repository's items, or continue an equal run that was stopped.

    Raises:
        BenchmarkError: the request cannot be run.
        GitError: the path is not a usable repository.
        SandboxError: nothing can be run here.
    """
    file, models = values["arms"], values["models"]
    asked = Asked(mode=Mode(values["mode"]), items=values["items"], budget_usd=values["budget"])
    arms = (*(from_file(Path(file)) if file else ()), *(of_models(models.split(",")) if models else ()))
    if not arms:
        raise BenchmarkError("say what to compare: --models openai=gpt-5-mini,built-in or --arms FILE")
    with open_repository(session, values["repo"]) as here:
        ended = asyncio.run(run_arms(session.settings, here, arms, asked, tell=session.out.note))
    why = f": {ended.reason}; the same command continues it" if ended.reason else ""
    words = f"{ended.state}{why}. The figures: nightshift bench report {here.repo}"
    session.print({"run": ended.key, "state": str(ended.state), "reason": ended.reason}, [Lines(lines=[Cell(words)])])
    return Exit.INTERRUPTED if ended.reason == BY_HAND else Exit.OK


def _describe(outcome: Item | Dropped) -> str:
    head = f"{outcome.commit[:10]} {outcome.subject[:60]}"
    if isinstance(outcome, Item):
        return f"{head}: an item, {len(outcome.fail_to_pass)} tests fail before it and pass after it"
    return f"{head}: {Filter[outcome.filter].value}: {outcome.reason}"


def _fields_of(line: Passed) -> dict[str, str | int]:
    return {"filter": line.filter.name.lower(), "before": line.before, "dropped": line.dropped, "after": line.after}


def _account(lines: Sequence[Passed]) -> list[Block]:
    rows = [[cell(line.before), cell(line.dropped), cell(line.after), cell(line.filter.value)] for line in lines]
    return [Table(head=("before", "dropped", "after", "filter"), rows=rows)] if lines and lines[0].before else []


def report(session: Session, repo: str, mode: str | None) -> int:
    """Print the benchmark's figures for a repository.

    Raises:
        BenchmarkError: the benchmark has no data about the repository.
        StoreError: the database cannot be read.
    """
    settings = session.settings
    with results_of(settings.benchmark_db_path, repo) as (store, root):
        figures = report_of(store, root, Mode(mode) if mode else None)
    if session.out.as_json:
        session.out.text(as_json(figures))
    else:
        session.out.blocks([Lines(lines=[Cell(line) for line in render(figures).rstrip("\n").split("\n")])])
    return Exit.OK
