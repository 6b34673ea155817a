"""A task that removes a whole project of the workspace: all of its files go, tests included, and no model writes that.

Only the words of the task make it possible: they ask to remove something, for nothing else, and name the project.
Projects cannot use each other, so no test is left that could judge the removal; what is asked of the owner instead is
his yes, unless the agent alone wrote the tests that go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from nightshift.agent.kinds import asks_to_take_away
from nightshift.agent.services import AgentServices
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.tasks import projects
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.projects import ROOT
from nightshift.core.tasks.states import Ending, Outcome, Phase

_LINE = re.compile(r"^\W*removes\W*?[:=][\s*`'\"]*(?P<name>[\w-]+)", re.MULTILINE | re.IGNORECASE)
_REMOVES = re.compile(r"\b(?:remove|delete|drop|retire|purge|get rid of|throw|take)\b", re.IGNORECASE)
_SHOWN = 10


def may_remove(context: AttemptContext, state: AttemptState) -> bool:
    """Tell whether the plan may say that the task removes a whole project."""
    spec = context.task.spec
    if context.whole_tree or state.iteration or spec.tests or spec.test_command or spec.cases or spec.files:
        return False
    is_open = state.project is None and projects.beginning(spec) is None
    return (bool(state.project) or is_open) and _asks(spec.description) and asks_to_take_away(spec)


def _asks(description: str) -> bool:
    return _REMOVES.search(description) is not None


def removed(context: AttemptContext, state: AttemptState, tree: Tree) -> AttemptState:
    """The state of a task whose plan removes the project it works in; any other is given back as it is.

    Args:
        context: of the task.
        state: with a plan, and with the project that it chose.
        tree: of the workspace, or the part of it that the task sees.
    """
    found = _LINE.search(state.plan) if may_remove(context, state) else None
    name = state.project or ROOT
    named = (
        found is not None and found["name"].lower() == name and name in projects.projects_of(projects.whole_of(tree))
    )
    goes = named and projects.is_named(name, context.task.spec.description)
    return replace(state, removes_project=True) if goes else state


def removal(state: AttemptState, tree: Tree) -> Step:
    """The try whose change removes every file of the tree; tests are proposed, as any change of them is."""
    tests = dict.fromkeys(path for path in tree.entries() if is_test_path(path))
    others = dict.fromkeys(path for path in tree.entries() if path not in tests)
    summary = f"Remove the project {state.project}"
    after = replace(state, iteration=state.iteration + 1, change=others, test_changes=tests, summary=summary)
    return Step(phase=Phase.CODING, outcome=Outcome.OK, state=after, note=f"removed all of {state.project}")


def allowed(context: AttemptContext, state: AttemptState, services: AgentServices) -> AttemptState:
    """The state whose tests may go, or which asks the owner, or which ends because he keeps the project."""
    if f"project:{state.project}:gone" in context.denied:
        return replace(state, ending=Ending.REFUSED, reason=f"its owner keeps the project {state.project}")
    if ask := _question(context, state, services):
        return replace(state, asks=(ask,))
    return replace(state, own_tests={}, removed_tests=tuple(sorted(state.test_changes)))


def _question(context: AttemptContext, state: AttemptState, services: AgentServices) -> Ask | None:
    """What its owner is asked before tests go that the agent alone did not write; None where nothing is left to ask."""
    subject = f"project:{state.project}:gone"
    theirs = [path for path in state.test_changes if not services.wrote(state.scope.full(path))]
    keeps = services.settings.change_tests == "keep" and state.test_changes
    if services.settings.change_tests == "allow" or subject in context.granted or not (theirs or keeps):
        return None
    text = (
        f"May the whole project {state.project} be removed, with these tests: {_listed(theirs or state.test_changes)}?"
    )
    return Ask(kind=AskKind.FINDING, subject=subject, question=text)


def _listed(paths: Iterable[str]) -> str:
    names = sorted(paths)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
