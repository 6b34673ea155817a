"""Chooses a task's project in the workspace: the plan chooses a project, begins a new one, or stays at the root.

The plan's choice is not trusted: a name that is invalid, or whose path is in use, chooses nothing. If the plan chooses
nothing, the task goes to the project of the tasks that it depends on, else to the project of the files that its
description names, else to the root.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from nightshift.agent.prompt.budget import Section, Shown
from nightshift.agent.prompt.context import list_mentioned
from nightshift.agent.prompt.sections import PromptContext
from nightshift.agent.prompt.text import quote
from nightshift.agent.services import AgentServices
from nightshift.agent.view import View
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.tasks import projects
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.commit_message import slug
from nightshift.core.tasks.projects import ROOT
from nightshift.core.tasks.task import RESERVED
from nightshift.core.text.masking import printable

_LINE = re.compile(
    r"^\W*project\W*?[:=][\s*`'\"]*(?P<name>[\w./-]+)[\s*`'\"]*(?:\(new\))?[\s.:,;–—-]*(?P<about>.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_NO_PROJECT = frozenset({"", "none", "root", "workspace", "no", "n-a"})
_MOST = 60
_MAX_ABOUT_CHARS = 200
_USED = "The tasks that this one depends on worked in: "


def is_open(context: AttemptContext, state: AttemptState) -> bool:
    """Check whether the plan decides which project the task works in."""
    return not context.whole_tree and state.project is None and projects.beginning(context.task.spec) is None


def choose(context: AttemptContext, state: AttemptState, tree: Tree) -> AttemptState:
    """Return the state with its project chosen, and with the paths in the plan made relative to that project."""
    project_names = projects.projects_of(tree)
    match = _LINE.search(state.plan)
    name = _find_project(match["name"], tree, project_names) if match else None
    if name is None:
        name = (
            _only(_projects(context.built_on, project_names))
            or _only(_projects(list_mentioned(context.task.spec.description, View(tree, {})), project_names))
            or ROOT
        )
    inside = (path.removeprefix(f"{name}/") for path in tree.entries() if path.startswith(f"{name}/"))
    plan = projects.without_folder(state.plan, name, inside) if name in project_names else state.plan
    return replace(state, project=name, plan=plan)


def about(plan: str) -> str:
    """Return the words with which a plan describes its project; empty if there are none."""
    match = _LINE.search(plan)
    return " ".join(printable(match["about"]).strip("*_` ").split())[:_MAX_ABOUT_CHARS] if match else ""


def begin_project(context: AttemptContext, state: AttemptState, services: AgentServices) -> AttemptState:
    """Add the standard files of a project to the change, except files that the task's project already has."""
    if not state.project:
        return state
    spec, present = context.task.spec, View(services.tree, state.change).paths()
    # Subtasks may begin the same project concurrently, so the files that they add must be equal.
    is_part = bool(spec.key and spec.key.startswith(RESERVED))
    description = about(state.plan) or (
        "" if is_part else printable(spec.description.partition("\n")[0])[:_MAX_ABOUT_CHARS]
    )
    files = projects.beginnings(state.project, description, spec.language, present)
    return replace(state, change={**state.change, **files}) if files else state


def _find_project(word: str, tree: Tree, project_names: Collection[str]) -> str | None:
    """Return the project that a word names, or None if the word is unusable as a name.

    The root is returned for a word such as "none", and for the name of a folder that is not a project.
    """
    name = word.strip("./").lower()
    if name in project_names:
        return name
    name = slug(name) if name else ""
    if name in project_names or name in _NO_PROJECT:
        return name if name in project_names else ROOT
    if projects.place_fault(name, tree):
        return None
    # Code in a folder that is not a project is changed from the root.
    return ROOT if any(path.startswith(f"{name}/") for path in tree.entries()) else name


def _projects(paths: Iterable[str], project_names: Collection[str]) -> set[str]:
    """Return the projects that contain these files; files outside all projects belong to the root."""
    return {first if (first := path.partition("/")[0]) in project_names else ROOT for path in paths}


def _only(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ROOT


def the_projects(about: PromptContext) -> Section:
    """Return the prompt section with the workspace's projects and the first words of their READMEs, as many as fit."""
    return Section(
        title="The projects of the workspace", fill=lambda space: _list_projects(about, space), share=0.15, rank=3
    )


def _list_projects(about: PromptContext, space: int) -> Shown:
    tree = projects.whole_of(about.services.tree)
    project_names = projects.projects_of(tree)
    if not project_names:
        return Shown(text="There is none yet.")
    used = sorted(_projects(about.context.built_on, project_names) - {ROOT})
    more = f"\n\n{_USED}{', '.join(used)}" if used else ""
    space -= about.gauge.tokens(more) + 60
    names, lines = [*used, *(name for name in project_names if name not in used)], list[str]()
    for name in names[:_MOST]:
        description = printable(projects.first_words(text_of(tree, f"{name}/README.md") or ""))
        line = f"{name}: {description}" if description else name
        space -= about.gauge.tokens(line + "\n")
        if space < 0:
            break
        lines.append(line)
    away = len(names) - len(lines)
    lines += [f"and {away} more"] if away else []
    return Shown(text=quote("projects", "\n".join(lines)) + more, cut=bool(away))
