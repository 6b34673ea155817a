"""The wiring of the built-in repair engine: its program in the sandbox, and its backend in the chain of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nightshift_engine import PROGRAM

if TYPE_CHECKING:
    from nightshift.models.base import BaseModelHandler
    from nightshift.verdict.suite_runs import SuiteRuns

PROGRAMS = (PROGRAM,)
"""What other packages run inside the sandbox, for `sandbox.runtime.prepare` and `open_runtime`."""

EngineRuns = Callable[[], "SuiteRuns | str"]
"""Gives what runs the engine's candidates, or says why nothing can be run yet: the chain is made before the sandbox."""


def nothing_runs() -> str:
    """The runs of a chain that is only looked at."""
    return "no sandbox is made here"


def built_in(runs: EngineRuns, *, budget_s: float) -> Callable[[], BaseModelHandler]:
    """What makes the engine; `budget_s` bounds a search where the request says nothing else."""

    def make() -> BaseModelHandler:
        from nightshift_engine.backend import RepairBackend  # noqa: PLC0415 (`app.runner` needs the program alone)

        return RepairBackend.over(runs, budget_s=budget_s)

    return make
