"""Makes the tools that judge changes: the configured sandbox, a suite runner that uses it, and the static checker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nightshift.app.extras import ExtrasInstaller
from nightshift.config.load import Settings
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.errors import ExtraMissing, SandboxError
from nightshift.core.events import Event
from nightshift.core.isolation import SandboxLimits
from nightshift.core.ports import Sandbox
from nightshift.sandbox import Choice, choose
from nightshift.sandbox.cleaning import Mask
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.checks.checker import StaticChecker
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.policy import Policy
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.making import Environments
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.suite_runs import OUTPUT_BYTES

BASELINES = "suite_baselines.json"


async def find_sandbox(
    settings: Settings, runtime: Runtime, scratch: Path, extras: ExtrasInstaller | None = None
) -> Choice:
    """Check the sandboxes that the settings allow; missing packages are installed if `extras` is given.

    Args:
        settings: name the sandboxes to check.
        runtime: the files that are visible inside the sandbox.
        scratch: a folder for jobs that have no file system of their own.
        extras: installs the Docker client before Docker is checked.
    """

    def ensure_docker() -> None:
        try:
            if extras is not None:
                extras.ensure("docker")
        except ExtraMissing as error:
            raise SandboxError(str(error)) from None

    return await choose(
        settings.sandbox,
        runtime=runtime,
        scratch=scratch,
        docker_host=settings.docker_host,
        docker_image=settings.docker_image,
        nice=settings.sandbox_nice,
        ensure_docker=ensure_docker,
    )


def make_suite(  # noqa: PLR0913 (two parts and what two callers have each of their own)
    settings: Settings,
    sandbox: Sandbox,
    runtime: Runtime,
    *,
    staging_dir: Path,
    layers: LayerStore,
    environments: Environments,
    hooks: CommandHooks,
    mask: Mask | None = None,
    imports: ImportCache | None = None,
) -> SuiteRunner:
    """Make a suite runner with the settings' limits."""
    return SuiteRunner(
        sandbox,
        runtime,
        emit=drop_event,
        limits=SandboxLimits(
            cpu_s=settings.suite_timeout_s,
            cpus=settings.sandbox_cpus,
            memory_mb=settings.sandbox_memory_mb,
            pids=settings.sandbox_pids,
            work_mb=settings.sandbox_work_mb,
            output_bytes=OUTPUT_BYTES,
        ),
        staging_dir=staging_dir,
        baselines=settings.state_dir / BASELINES,
        imports=imports,
        layers=layers,
        environments=environments,
        mask=mask,
        hooks=hooks,
    )


def drop_event(_event: Event) -> None:
    """Ignore an event that belongs to no task.

    The caller that requested the verdict reports the result itself.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """The static check of changes, the hooks that judge commands before they run, and the policy that both follow."""

    change_check: StaticChecker
    hooks: CommandHooks
    policy: Policy


def make_checker(settings: Settings) -> Checker:
    """Make the checker from the owner's rules.

    Raises:
        ConfigError: a rule does not exist, or a pattern cannot be parsed.
    """
    policy = Policy.read(settings.checker_rules, settings.checker_allow, settings.blocked_commands)
    return Checker(
        change_check=StaticChecker(policy, CommandHooks(settings.blocked_commands)),
        hooks=CommandHooks(settings.blocked_commands, off=policy.harmless),
        policy=policy,
    )
