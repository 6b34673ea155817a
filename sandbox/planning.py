"""Plans the run of a job's tests by the language that they are written in."""

from __future__ import annotations

from collections.abc import Callable

from core.dependencies import ImportCache
from core.tasks import Language
from core.verdicts import SuiteJob
from sandbox import plan, redness
from sandbox.javascript import suite as node_suite
from sandbox.javascript.plan import make as make_node
from sandbox.plan import Plan
from sandbox.runtime import Runtime

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
    return node_suite.checks_something(text) if planned.node else redness.checks_something(text)
