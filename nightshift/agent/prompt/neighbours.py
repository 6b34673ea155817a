"""Describes the workspace around a task's project for prompts.

The description has the project's location, and other projects that the task is about. The other projects are read-only:
everything that a task changes or imports is in its own project.
"""

from __future__ import annotations

import re

from nightshift.agent.prompt.context import show_files
from nightshift.agent.view import View
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.gauge import Gauge
from nightshift.core.tasks import projects
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState

_OTHERS = "Files of other projects that the task is about, to read alone; nothing of them can be changed or imported:"
_MOST_PROJECTS, _MOST_FILES = 3, 20


def where(state: AttemptState, tree: Tree) -> str:
    """Return a line about the project that a task works in; empty if it works in none."""
    if not state.project:
        return ""
    new = "" if tree.entries() else " It is new: README.md and the dependency file are a beginning, to be gone on with."
    return f"This is the project {state.project} of a workspace. Its folder is the root of all paths and imports.{new}"


def neighbours(context: AttemptContext, state: AttemptState, tree: Tree, space: int, gauge: Gauge) -> str:
    """Show the files of other projects that a task names or is built on, as many as fit."""
    full_tree = projects.whole_of(tree)
    if state.project is None or full_tree is tree or space <= 0:
        return ""
    words = {word.rstrip("-_") for word in re.findall(r"[a-z][a-z0-9_-]*", context.task.spec.description.lower())}
    other_projects = [name for name in projects.projects_of(full_tree) if name != state.project]
    used = {path.partition("/")[0] for path in context.built_on}
    about = [
        *(name for name in other_projects if name in used),
        *(name for name in other_projects if name in words - used),
    ]
    paths = [path for name in about[:_MOST_PROJECTS] for path in _files(full_tree, name)]
    if not paths:
        return ""
    shown = show_files(View(full_tree, {}), paths, space - gauge.tokens(_OTHERS), gauge)
    return f"{_OTHERS}\n\n{shown.text}" if shown.text else ""


def _files(full_tree: Tree, name: str) -> list[str]:
    below = [path for path in full_tree.entries() if path.startswith(f"{name}/") and not is_test_path(path)]
    return sorted(below, key=lambda path: (path != f"{name}/README.md", path))[:_MOST_FILES]
