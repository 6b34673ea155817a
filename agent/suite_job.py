"""What the suite is asked: the tree of an attempt, and by what it is judged or tried."""

from __future__ import annotations

from agent.services import AgentServices
from core.attempt_state import AttemptContext, AttemptState
from core.projects import steering
from core.verdicts import SuiteJob


def job_for(context: AttemptContext, state: AttemptState, services: AgentServices) -> SuiteJob:
    """The tree to judge, and by what."""
    spec = context.task.spec
    return SuiteJob(
        base=services.tree,
        change=state.change,
        given=spec.tests,
        held=state.still_held(context.held),
        own=state.own_tests,
        former=state.former_tests,
        start={**spec.files, **steering(state.project, state.change)},
        command=spec.test_command,
        allow=spec.allow,
        language=spec.language,
        packages=state.packages,
        limits=context.run_limits,
        whole_tree=context.whole_tree,
    )
