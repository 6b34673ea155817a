"""Plans the run of a job's tests by the language that they are written in."""

from __future__ import annotations

from collections.abc import Callable

from core.dependencies import ImportCache
from core.tasks import Language
from core.verdicts import SuiteJob
from languages.javascript import suite as node_suite
from languages.javascript.plan import make as make_node
from sandbox.runtime import Runtime
from verdict import fails_before, plan
from verdict.plan import Plan

_PLANNERS: dict[Language, Callable[[SuiteJob, ImportCache, Runtime], Plan]] = {
    Language.PYTHON: lambda job, imports, _runtime: plan.make(job, imports),
    Language.JAVASCRIPT: lambda job, imports, runtime: make_node(job, imports, runtime.node),
}


def make(job: SuiteJob, imports: ImportCache, runtime: Runtime) -> Plan:
    """Plan the run of a job's tests on its changed tree.

    Args:
        job: what to judge.
        imports: remembers what files import.
        runtime: what runs inside.

    Raises:
        SandboxError: what runs tests of this language is not there.
    """
    return _PLANNERS[job.language](job, imports, runtime)


def checks_something(planned: Plan, text: str) -> bool:
    """Tell whether a file of tests holds an assertion that can fail."""
    return node_suite.checks_something(text) if planned.node else fails_before.checks_something(text)
