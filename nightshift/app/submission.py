"""Checks of new tasks on this machine, made of the settings; without the parts that work on tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from nightshift.app.labels import machine_labels
from nightshift.app.machine_check import MachineCheck
from nightshift.config.load import Settings
from nightshift.core.errors import GitError
from nightshift.core.tasks.language_choice import choose_language
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.git.usable import list_paths, refuse_unusable_place
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.policy import Policy

_PROGRAMS = ("/usr/bin", "/bin")
"""Folders where commands look for programs in every sandbox."""


def machine_check(settings: Settings) -> MachineCheck:
    """The check.

    Raises:
        ConfigError: a rule does not exist, or a pattern cannot be read.
    """
    policy = Policy.read(settings.checker_rules, settings.checker_allow, settings.blocked_commands)
    environ = settings.process_environment
    return MachineCheck(
        refuse_place=lambda repo, base: refuse_unusable_place(repo, base, environ),
        policy=policy,
        hooks=CommandHooks(settings.blocked_commands, off=policy.harmless),
        programs=_programs(settings),
        servers=tuple(settings.mcp_servers),
        labels=None if settings.hub_url else frozenset(machine_labels(settings)),
    )


def choose_language_here(spec: TaskSpec, settings: Settings) -> Language:
    """Choose the language of a task that says none by the files of its repository, or of its project."""

    def list_files() -> Collection[str]:
        folder = spec.repo or (str(settings.workspace) if spec.project else None)
        if folder is None:
            return ()
        try:
            paths = list_paths(folder, spec.base, settings.process_environment)
        except GitError:  # the check of the machine tells it
            return ()
        prefix = f"{spec.project}/" if spec.project else ""
        return [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]

    return choose_language(spec, list_files)


def _programs(settings: Settings) -> Callable[[], Collection[str]] | None:
    """The programs of this machine, which all sandboxes show but those with an image of the owner's."""
    if settings.docker_image:
        return None
    folders = [folder for folder in map(Path, _PROGRAMS) if folder.is_dir()]
    return lambda: frozenset(path.name for folder in folders for path in folder.iterdir())
