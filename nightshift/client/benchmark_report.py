"""`nightshift bench report`: what the stored results say."""

from __future__ import annotations

from nightshift.client.errors import Exit
from nightshift.client.output import Cell, Lines
from nightshift.client.session import Session
from nightshift.report.benchmark.markdown import render
from nightshift.report.benchmark.store import Mode
from nightshift.report.benchmark.stored import report_of, results_of


def report(session: Session, repo: str, mode: str | None) -> int:
    """Print the figures of a repository.

    Raises:
        BenchmarkError: nothing is known of it.
        StoreError: the database cannot be read.
    """
    settings = session.settings
    with results_of(settings.benchmark_db_path, repo) as (store, root):
        found = report_of(store, root, Mode(mode) if mode else None, settings.model_cutoffs)
    if session.out.as_json:
        from nightshift.server.schemas import as_json  # noqa: PLC0415  # the other forms need none of it

        session.out.document(as_json(found))
    else:
        session.out.blocks([Lines(lines=[Cell(line) for line in render(found).rstrip("\n").split("\n")])])
    return Exit.OK
