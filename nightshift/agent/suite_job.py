"""Builds a suite's job: the tree of an attempt, and everything that the suite needs to judge or try it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from nightshift.agent.kinds import asks_for_documents, asks_to_keep_behaviour
from nightshift.agent.services import AgentServices
from nightshift.agent.taking_away import only_takes_away
from nightshift.core.code.documents import is_documentation
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.language_choice import language_of
from nightshift.core.tasks.projects import LAID_OUT, start_of
from nightshift.core.tasks.verdicts import SuiteJob

_MOST_SOURCES = 5000
"""Maximum number of code files that are searched for code that reads a web page or a docstring."""


def job_for(context: AttemptContext, state: AttemptState, services: AgentServices) -> SuiteJob:
    """Return the job that judges the state's change: the tree, the tests, the limits and the owner's decisions."""
    spec = context.task.spec
    return SuiteJob(
        base=services.tree,
        change=state.change,
        given={**spec.tests, **state.merged_tests},
        held=state.still_held(context.held),
        own=state.own_tests,
        start=start_of(spec.files, state.project, state.change),
        command=spec.test_command,
        allow=spec.allow,
        language=spec.language,
        packages=state.packages,
        environment=state.environment,
        limits=context.run_limits,
        whole_tree=context.whole_tree,
        documents=writes_documents(context, state, services),
        takes_away=not spec.tests and only_takes_away(context, state, services),
        keeps_behaviour=asks_to_keep_behaviour(spec),
        gone=state.removed_tests,
        asked=spec.description,
        told_weak=bool(state.verdict and state.verdict.weak),
        held_tries=state.held_tries,
        granted=frozenset(context.granted),
        denied=frozenset(context.denied),
    )


def writes_documents(context: AttemptContext, state: AttemptState, services: AgentServices) -> bool:
    """Check whether the task asks only for documentation, and its change is only documentation.

    The suite judges such a change as documentation. The standard files of a new project do not count as code, because
    the model did not write them.
    """
    given = context.task.spec.files

    def before(path: str) -> str | None:
        return given[path] if path in given else text_of(services.tree, path)

    def sources() -> Iterator[tuple[str, str]]:
        paths = (path for path in services.tree.entries() if language_of(path) and path not in state.change)
        return ((path, text) for path in islice(paths, _MOST_SOURCES) if (text := before(path)))

    laid_out = {path for path in LAID_OUT if state.project and before(path) is None}
    written = {path: text for path, text in state.change.items() if path not in laid_out}
    return asks_for_documents(context.task.spec) and is_documentation(written, before, sources)
