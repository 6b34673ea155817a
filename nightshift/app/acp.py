"""Creates the external agent that works as an author: its settings and its sandbox."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from nightshift.app.environments import strong_sandbox
from nightshift.config.load import Settings
from nightshift.core.errors import ConfigError, SandboxError
from nightshift.sandbox import bubblewrap, job_folders
from nightshift.sandbox.runtime import Runtime

if TYPE_CHECKING:
    from nightshift.models.acp.agent import AgentPlace
    from nightshift.models.base import BaseModelHandler
    from nightshift.verdict.environments.registries import Registries

AgentPlaces = Callable[[], "AgentPlace | str"]
"""Functions that return the place where an agent works, or a text that says why no agent can work yet. A function and
not a value, because the chain of models is created before the sandbox.
"""
_ANSWER_S = 30.0
"""Seconds of the model timeout that are reserved for ending the agent and reading its change."""


def nowhere() -> str:
    """Stand in for `AgentPlaces` and `SandboxRuns` in models that are only inspected and never asked."""
    return "no sandbox is made here"


def agent(settings: Settings, places: AgentPlaces) -> Callable[[str | None], BaseModelHandler] | None:
    """Return a function that creates the configured agent; None if the settings name no agent.

    Raises:
        ConfigError: `acp_command` cannot be parsed.
    """
    if not settings.acp_command:
        return None
    try:
        words = shlex.split(settings.acp_command)
    except ValueError as error:
        raise ConfigError([f"acp_command (ACP_COMMAND): {error}; fix its quotes"]) from None

    def make(model: str | None) -> BaseModelHandler:
        from nightshift.models.acp.agent import AgentSettings  # noqa: PLC0415 (most owners have no agent)
        from nightshift.models.acp.backend import AcpBackend  # noqa: PLC0415 (likewise)
        from nightshift.verdict.environments.outbound import Endpoint  # noqa: PLC0415 (likewise)

        pairs = [host.lower().partition(":") for host in settings.acp_hosts]
        return AcpBackend(
            AgentSettings(
                command=tuple(words),
                hosts=tuple(Endpoint(host, int(port or 443)) for host, _, port in pairs),
                variables=settings.acp_environment,
                folders=tuple(settings.acp_folders),
                auth_method=settings.acp_auth or "",
                turn_s=max(settings.model_timeout_s / 2, settings.model_timeout_s - _ANSWER_S),
            ),
            places,
            model,
        )

    return make


def prepare_agents(settings: Settings, runtime: Runtime, sandbox: str) -> AgentPlace | str:
    """Prepare the folder and the sandbox for agents, or return a text that says why agents cannot work.

    Leftovers of an earlier daemon are removed.

    Args:
        settings: the settings in force; agents work below `state_dir`.
        runtime: the interpreter and the programs inside the sandbox.
        sandbox: the short name of the sandbox in use.
    """
    if sandbox != bubblewrap.NAME:
        return "agents work only in the bubblewrap sandbox, and this daemon uses another one"
    from nightshift.models.acp.agent import AgentPlace  # noqa: PLC0415 (most owners have no agent)

    try:
        folder = job_folders.private(settings.state_dir / "agents")
        isolation = strong_sandbox(settings)
    except SandboxError as error:
        return str(error)
    for left in folder.iterdir():
        shutil.rmtree(left, ignore_errors=True)

    @cache
    def network() -> Registries:
        from nightshift.verdict.environments import registries  # noqa: PLC0415 (likewise)

        return registries.find(settings.process_environment)

    return AgentPlace(sandbox=isolation, runtime=runtime, folder=folder, network=network)
