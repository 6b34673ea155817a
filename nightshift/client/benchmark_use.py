"""`nightshift bench use`: what a benchmark has shown counts when models are chosen, and shapes how they work."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from nightshift.client.errors import Exit
from nightshift.client.output import Block, Cell, Lines, Table, cell
from nightshift.client.session import Session
from nightshift.core.clock import utc_now
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmarked import Benchmarked
from nightshift.core.text.formats import money, percent
from nightshift.models.routing import prior_of
from nightshift.report.benchmark.choice import LEAST_ITEMS, Choice, chosen
from nightshift.report.benchmark.store import Mode
from nightshift.report.benchmark.stored import report_of, results_of
from nightshift.storage.db.codec import plain


def use(session: Session, repo: str, *, mode: str | None, yes: bool, off: bool) -> int:
    """Show which arm of each model did best, and take that over for the repository's tasks, or take it back.

    Args:
        session: whose home has the results, and keeps what is taken over.
        repo: a checkout, or a folder in one.
        mode: of the results; None for that of the newest run.
        yes: take it over; else nothing is changed.
        off: take back what was taken over before.

    Raises:
        BenchmarkError: there is nothing to take over.
        GitError: it is no repository.
        StoreError: a database cannot be read.
    """
    from nightshift.app.repository_settings import opened  # noqa: PLC0415  # the other actions need none of it

    settings = session.settings
    if yes and off:
        raise BenchmarkError("--yes takes the benchmark over and --off takes it back; give one of them")
    if off:
        with opened(settings, to_change=True) as service:
            had = service.used(repo)
            service.use(repo, ())
        words = f"{repo}: the benchmark says nothing of its tasks any more" if had else f"{repo}: nothing was in use"
        session.print({"used": []}, Cell(words))
        return Exit.OK
    with results_of(settings.benchmark_db_path, repo) as (store, root):
        found = chosen(report_of(store, root, Mode(mode) if mode else None, settings.model_cutoffs).arms)
    if not found:
        raise BenchmarkError(
            f"{root}: no model has {LEAST_ITEMS} results without memory; `nightshift bench run {shlex.quote(root)}` "
            "makes some"
        )
    with opened(settings, to_change=yes) as service:
        if yes:
            service.use(root, [one.measured for one in found])
        used = service.used(root)
    answer = {"repo": root, "found": plain([one.measured for one in found]), "used": plain(used)}
    session.print(answer, [*_tabulate(found), Lines(lines=[Cell(_state(root, found, used))])])
    return Exit.OK


def _tabulate(found: Sequence[Choice]) -> list[Block]:
    rows = [
        [cell(one.measured.model), cell(one.figures.arm.name), cell(_format_solved(one)), cell(_weight(one.measured)),
         cell(money(one.figures.item_usd)), cell(one.measured.told or "as in the settings"), cell(_reason(one))]
        for one in found
    ]  # fmt: skip
    head = ("model", "arm", "solved", "counts as attempts", "an item", "works with", "because")
    return [Table(head=head, rows=rows)]


def _format_solved(one: Choice) -> str:
    solved, interval = one.figures.solved, one.figures.interval
    return f"{solved.part} of {solved.whole} ({percent(interval.low)} to {percent(interval.high)})"


def _weight(measured: Benchmarked) -> str:
    return f"{prior_of(measured, utc_now()).count:.2g}"


def _reason(one: Choice) -> str:
    if not one.others:
        return "its only arm"
    other = one.others[0]
    if one.figures.interval.low > other.interval.low:
        return f"surely solves {percent(one.figures.interval.low)}, {other.arm.name} {percent(other.interval.low)}"
    return f"as good as {other.arm.name}, and cheaper or quicker"


def _state(root: str, found: Sequence[Choice], used: Sequence[Benchmarked]) -> str:
    if not used:
        return f"Nothing was changed; --yes takes this over for the tasks of {root}."
    if {one.measured for one in found} == set(used):
        return f"In use for the tasks of {root}; --off takes it back."
    arms = ", ".join(one.arm for one in used)
    return f"In use are earlier results ({arms}); --yes takes these over instead, --off takes them back."
