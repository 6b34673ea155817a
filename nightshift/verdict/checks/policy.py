"""Decides the severity of a finding.

The owner's setting for the rule decides. Without a setting, the rule's default applies, which is reduced for some
tasks.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightshift.core.code.repository_commands import Linter
from nightshift.core.errors import ConfigError
from nightshift.core.tasks.change_checks import Severity
from nightshift.core.tasks.task import TaskSpec
from nightshift.verdict.checks.catalogue import RULES, Finding
from nightshift.verdict.checks.hooks.hooks import CommandHooks, covers

OFF = "off"
_GROUPS = ("python", "js", "bandit", "command", "command.own")
_BANDIT = re.compile(r"bandit\.B\d{3}")
_LINTERS = re.compile(rf"({'|'.join(Linter)})(\.[\w.-]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The owner's settings for the checker. A rule is named in full, or by a dotted prefix.

    Attributes:
        rules: rule to severity; None switches the rule off. The longest matching name decides, and the task's kind and
            description do not reduce its severity.
        repos: the rules that are switched off for all tasks of a repository.
    """

    rules: Mapping[str, Severity | None] = field(default_factory=dict)
    repos: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(
        cls, rules: Mapping[str, str], repos: Mapping[str, Sequence[str]], blocked_commands: Sequence[str]
    ) -> Policy:
        """Read the settings `checker_rules`, `checker_allow` and `blocked_commands`.

        Raises:
            ConfigError: lists every rule that does not exist and every pattern that cannot be read.
        """
        try:
            rule_names = [*RULES, *CommandHooks(blocked_commands).rules]
        except ValueError as error:
            raise ConfigError([f"blocked_commands: {error}"]) from None
        faults = [f"checker_rules: {fault}" for name in rules if (fault := unknown(name, rule_names))]
        faults += [
            f"checker_allow: {repo}: {f}"
            for repo, names in repos.items()
            for n in names
            if (f := unknown(n, rule_names))
        ]
        if faults:
            raise ConfigError(faults)
        return cls(
            rules={name: None if level == OFF else Severity(level) for name, level in rules.items()},
            repos={Path(repo).expanduser().resolve(): tuple(names) for repo, names in repos.items()},
        )

    def severity(self, finding: Finding, spec: TaskSpec, *, is_test: bool) -> Severity | None:
        """Return the severity of a finding for a task; None if the rule does not apply."""
        if covers(spec.allow, finding.rule):
            return None
        if named := self.names(finding.rule):
            return self.rules[max(named, key=len)]
        return _default(finding, spec, is_test=is_test)

    def names(self, rule: str) -> list[str]:
        """List the names in the owner's settings that match a rule."""
        return [name for name in self.rules if covers((name,), rule)]

    def widened(self, spec: TaskSpec) -> TaskSpec:
        """Return the task, with its `allow` extended by the rules that the owner allows for its repository."""
        more = self.repos.get(Path(spec.repo).expanduser().resolve(), ()) if spec.repo and self.repos else ()
        return replace(spec, allow=tuple(dict.fromkeys((*spec.allow, *more)))) if more else spec

    @property
    def harmless(self) -> tuple[str, ...]:
        """The rules that the settings reduce to a note or switch off."""
        return tuple(name for name, severity in self.rules.items() if severity in {None, Severity.NOTE})


def unknown(name: str, rule_names: Collection[str]) -> str | None:
    """Return an error for a rule that does not exist, with the nearest names; None if the rule exists."""
    if name in rule_names or name in _GROUPS or _BANDIT.fullmatch(name) or _LINTERS.fullmatch(name):
        return None
    # The prefix is often left out: `subprocess` means `python.subprocess`.
    near = [each for each in rule_names if each.partition(".")[2] == name]
    near = near or difflib.get_close_matches(name, [*rule_names, *_GROUPS], n=1)
    return f"there is no rule {name}" + (f"; did you mean {' or '.join(near[:2])}?" if near else "")


def _default(finding: Finding, spec: TaskSpec, *, is_test: bool) -> Severity | None:
    rule = RULES.get(finding.rule)
    if rule is None:
        return finding.severity
    severity = rule.tests if is_test else rule.severity
    return Severity.NOTE if severity and rule.is_eased_for(spec) else severity
