"""`nightshift bench report`: what the stored results say."""

from __future__ import annotations

from benchmark.markdown import render
from benchmark.store import Mode
from benchmark.stored import report_of, results_of
from client.errors import Exit
from client.output import Cell, Lines
from client.session import Session


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
        from server.schemas import as_json  # noqa: PLC0415  # the other forms need none of it

        session.out.document(as_json(found))
    else:
        session.out.blocks([Lines(lines=[Cell(line) for line in render(found).rstrip("\n").split("\n")])])
    return Exit.OK
