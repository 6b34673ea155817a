"""Refuses a task that could only fail on this machine, because its repository, rules or command do not exist here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightshift.app.labels import machine_labels
from nightshift.config.load import Settings
from nightshift.core.errors import GitError, InvalidTask
from nightshift.core.tasks.language_choice import choose_language
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.git.usable import list_paths, refuse_unusable_place
from nightshift.remote.mcp_client.servers import faults_of
from nightshift.verdict.checks.catalogue import RULES
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.policy import Policy, unknown
from nightshift.verdict.languages.python import commands
from nightshift.verdict.languages.repository_commands.lines import without_maker

_PROGRAMS = ("/usr/bin", "/bin")
"""Folders in which commands look for programs in every sandbox."""


_OURS = frozenset({
    "python", "python3", "node", "nodejs", "npm", "go", "coverage", "inv", "invoke", "nose2", "nox", "poe", "tox",
})  # fmt: skip
"""Programs that the sandbox or an environment provides under another name, or whose absence is reported elsewhere."""


def unknown_rules(allow: Sequence[str], hooks: CommandHooks) -> dict[str, str]:
    """Map the position of each rule that does not exist, such as `allow.0`, to why. Names with `/` are no rules."""
    rule_names = (*RULES, *hooks.rules)
    faults = {f"allow.{n}": unknown(name, rule_names) for n, name in enumerate(allow) if "/" not in name}
    return {field: why for field, why in faults.items() if why}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCheck:
    """Checks a new task; may be called from any thread.

    Attributes:
        refuse_place: called with a repository and a base; raises GitError if one of them is unusable. The message of
            the error begins with the name of the field.
        policy: the owner's settings for the checker.
        hooks: decide which commands are forbidden.
        programs: returns the programs of the sandbox; None if the programs are not known.
        servers: the names of the configured MCP servers.
        labels: the labels of this machine. None if the machine belongs to a hub, because the hub may find another
            machine with the required labels.
    """

    refuse_place: Callable[[str, str | None], None]
    policy: Policy
    hooks: CommandHooks
    programs: Callable[[], Collection[str]] | None = None
    servers: Sequence[str] = ()
    labels: Collection[str] | None = None

    def __call__(self, spec: TaskSpec) -> None:
        """Raise an error if the task may not begin.

        Raises:
            InvalidTask: names each fault, and the most similar valid name.
        """
        faults = unknown_rules(spec.allow, self.hooks) | self._command(spec) | self._repository(spec)
        faults |= self._needs(spec) | faults_of(spec.mcp, self.servers)
        if faults:
            raise InvalidTask(faults)

    def _needs(self, spec: TaskSpec) -> dict[str, str]:
        if self.labels is None:
            return {}
        has = ", ".join(sorted(self.labels))
        return {
            f"needs.{n}": f"this machine has no {name} and belongs to no hub; it has {has} (NODE_LABELS adds to them)"
            for n, name in enumerate(spec.needs)
            if name not in self.labels
        }

    def _command(self, spec: TaskSpec) -> dict[str, str]:
        if not spec.test_command:
            return {}
        if blocked := self.hooks.first(spec.test_command, self.policy.widened(spec).allow):
            why = f"never runs: {blocked.rule}: {blocked.why} To allow it, give `allow: [{blocked.rule}]`."
            return {"test_command": why}
        missing = self._missing(spec.test_command)
        return {"test_command": missing} if missing else {}

    def _missing(self, command: tuple[str, ...]) -> str | None:
        """Return why the program of a command cannot be found; None if it can be found or may be a file of the task.

        A program that is given with a folder may be a file of the task.
        """
        program = without_maker(command)[0]
        if self.programs is None or "/" in program or program in _OURS or commands.parse(command):
            return None
        programs = self.programs()
        if program in programs:
            return None
        near = difflib.get_close_matches(program, programs, n=1)
        hint = f"did you mean {near[0]}?" if near else 'a line for the shell is `sh -c "…"`'
        return (
            f"{program}: the sandbox has no such program, only those of /usr/bin, Python with pytest, and Node; {hint}"
        )

    def _repository(self, spec: TaskSpec) -> dict[str, str]:
        if spec.repo is None:
            return {}
        # The missing base may be a branch that an earlier task, which this task depends on, will make.
        base = None if spec.depends_on and (spec.base or "").startswith("agent/") else spec.base
        try:
            self.refuse_place(spec.repo, base)
        except GitError as error:
            field, separator, why = str(error).partition(": ")
            if separator and field in {"repo", "base"}:
                return {field: why}
        return {}  # other git errors, such as a sleeping disk, are reported when the task begins


def machine_check(settings: Settings) -> MachineCheck:
    """Return the check of new tasks, with the checker rules of the settings.

    Raises:
        ConfigError: a rule does not exist, or a pattern cannot be parsed.
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
    """Choose the language of a task that names no language, from the files of its repository or project."""

    def list_files() -> Collection[str]:
        folder = spec.repo or (str(settings.workspace) if spec.project else None)
        if folder is None:
            return ()
        try:
            paths = list_paths(folder, spec.base, settings.process_environment)
        except GitError:  # `MachineCheck` reports this error
            return ()
        prefix = f"{spec.project}/" if spec.project else ""
        return [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]

    return choose_language(spec, list_files)


def _programs(settings: Settings) -> Callable[[], Collection[str]] | None:
    """Return a function that lists this machine's programs, which all sandboxes share.

    Returns None if the sandbox uses the owner's own image.
    """
    if settings.docker_image:
        return None
    folders = [folder for folder in map(Path, _PROGRAMS) if folder.is_dir()]
    return lambda: frozenset(path.name for folder in folders for path in folder.iterdir())
