"""Builds the static checker and the command hooks from the settings."""

from __future__ import annotations

from dataclasses import dataclass

from checks.bandit import BanditReader
from checks.checker import StaticChecker
from checks.hooks.hooks import CommandHooks
from checks.policy import Policy
from config import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """The gate for changes, the hooks for commands that are about to run, and the policy that both follow."""

    gate: StaticChecker
    hooks: CommandHooks
    policy: Policy


def make_checker(settings: Settings) -> Checker:
    """Read the owner's rules.

    Raises:
        ConfigError: a rule does not exist, or a pattern cannot be read.
    """
    policy = Policy.read(settings.checker_rules, settings.checker_allow, settings.blocked_commands)
    return Checker(
        gate=StaticChecker(policy, CommandHooks(settings.blocked_commands), BanditReader()),
        hooks=CommandHooks(settings.blocked_commands, off=policy.harmless),
        policy=policy,
    )
