"""`nightshift bench`: compares models on tasks from a repository's own history."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from nightshift.app.benchmark import Opened, mine_commits, open_results, validate_candidates
from nightshift.app.benchmark_run import BY_HAND, go_on, run_arms
from nightshift.app.repository_settings import open_service
from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Table, cell
from nightshift.client.session import Session, Values
from nightshift.core.clock import utc_now
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmarked import Benchmarked
from nightshift.core.text.formats import money, percent
from nightshift.models.routing import prior_of
from nightshift.report.benchmark.arms import from_file, of_models
from nightshift.report.benchmark.choice import LEAST_ITEMS, Choice, choose
from nightshift.report.benchmark.markdown import render
from nightshift.report.benchmark.mining import Filter, Passed, account
from nightshift.report.benchmark.results import Item
from nightshift.report.benchmark.running import Asked
from nightshift.report.benchmark.store import Dropped, Mode
from nightshift.report.benchmark.stored import report_of, results_of
from nightshift.server.schemas import as_json
from nightshift.storage.db.codec import to_json_value


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
    """Let arms solve a repository's items, or continue the run with the given key.

    A continued run keeps its own arms, mode and items.

    Raises:
        BenchmarkError: the request cannot be run.
        GitError: the path is not a usable repository.
        SandboxError: nothing can be run here.
    """
    file, models, key = values["arms"], values["models"], values["run"]
    mode, budget_usd = Mode(values["mode"]), values["budget"]
    asked = Asked(mode=mode, items=values["items"], budget_usd=budget_usd)
    arms = (*(from_file(Path(file)) if file else ()), *(of_models(models.split(",")) if models else ()))
    if not arms and not key:
        raise BenchmarkError("say what to compare: --models openai=gpt-5-mini,built-in or --arms FILE")
    with open_repository(session, values["repo"]) as here:
        settings, tell = session.settings, session.out.note
        if key:
            ended = asyncio.run(go_on(settings, here, key, budget_usd=asked.budget_usd, tell=tell))
        else:
            ended = asyncio.run(run_arms(settings, here, arms, asked, tell=tell))
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
        figures = report_of(store, root, Mode(mode) if mode else None, settings.model_cutoffs)
    if session.out.as_json:
        session.out.text(as_json(figures))
    else:
        session.out.blocks([Lines(lines=[Cell(line) for line in render(figures).rstrip("\n").split("\n")])])
    return Exit.OK


def use(session: Session, repo: str, *, mode: str | None, yes: bool, off: bool) -> int:
    """Show which arm of each model did best, and apply these results to the repository's tasks, or stop applying them.

    Args:
        session: the session whose home has the results and stores which of them are applied.
        repo: a checkout, or a folder in a checkout.
        mode: the mode of the results; None means the mode of the newest run.
        yes: apply the results; without this flag nothing is changed.
        off: stop applying earlier results.

    Raises:
        BenchmarkError: there are no results to apply.
        GitError: `repo` is not a repository.
        StoreError: a database cannot be read.
    """
    settings = session.settings
    if yes and off:
        raise BenchmarkError("--yes applies the benchmark and --off stops using it; give one of them")
    if off:
        with open_service(settings, to_change=True) as service:
            had = service.used(repo)
            service.use(repo, ())
        words = f"{repo}: the benchmark no longer affects its tasks" if had else f"{repo}: nothing was in use"
        session.print({"used": []}, Cell(words))
        return Exit.OK
    with results_of(settings.benchmark_db_path, repo) as (store, root):
        choices = choose(report_of(store, root, Mode(mode) if mode else None, settings.model_cutoffs).arms)
    if not choices:
        raise BenchmarkError(
            f"{root}: no model has {LEAST_ITEMS} results without memory; `nightshift bench run {shlex.quote(root)}` "
            "makes some"
        )
    with open_service(settings, to_change=yes) as service:
        if yes:
            service.use(root, [choice.measured for choice in choices])
        used = service.used(root)
    answer = {
        "repo": root,
        "found": to_json_value([choice.measured for choice in choices]),
        "used": to_json_value(used),
    }
    session.print(answer, [*_tabulate_choice(choices), Lines(lines=[Cell(_state(root, choices, used))])])
    return Exit.OK


def _tabulate_choice(choices: Sequence[Choice]) -> list[Block]:
    rows = [
        [cell(choice.measured.model), cell(choice.figures.arm.name), cell(_format_solved(choice)),
         cell(_weight(choice.measured)), cell(money(choice.figures.item_usd)),
         cell(choice.measured.summary or "as in the settings"), cell(_reason(choice))]
        for choice in choices
    ]  # fmt: skip
    head = ("model", "arm", "solved", "counts as attempts", "an item", "works with", "because")
    return [Table(head=head, rows=rows)]


def _format_solved(choice: Choice) -> str:
    solved, interval = choice.figures.solved, choice.figures.interval
    return f"{solved.part} of {solved.whole} ({percent(interval.low)} to {percent(interval.high)})"


def _weight(measured: Benchmarked) -> str:
    return f"{prior_of(measured, utc_now()).count:.2g}"


def _reason(choice: Choice) -> str:
    if not choice.others:
        return "its only arm"
    other = choice.others[0]
    if choice.figures.interval.low > other.interval.low:
        return f"surely solves {percent(choice.figures.interval.low)}, {other.arm.name} {percent(other.interval.low)}"
    return f"as good as {other.arm.name}, and cheaper or quicker"


def _state(root: str, choices: Sequence[Choice], used: Sequence[Benchmarked]) -> str:
    if not used:
        return f"Nothing was changed; --yes applies this to the tasks of {root}."
    if {choice.measured for choice in choices} == set(used):
        return f"In use for the tasks of {root}; --off stops that."
    arms = ", ".join(result.arm for result in used)
    return f"Earlier results are in use ({arms}); --yes applies these instead, --off uses none."
