"""Builds the rooms that do the work, once, and finds out which sandbox and which models there are."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, field

from agent.tools import AgentSettings, EditFormat
from assembly.brain import make_memory, make_models
from assembly.store import Store
from config import Settings
from core.clock import Clock
from core.isolation import SandboxLimits
from core.ports import Memory
from core.revisions import Author
from core.tasks import Limits
from execution.parts import Defaults, Parts
from git_manager import GitManager
from model_handler import ModelHandler
from test_runner import SuiteRunner


def defaults(settings: Settings) -> Defaults:
    """What holds for a task that says nothing else."""
    return Defaults(
        limits=Limits(
            attempts=settings.max_retries,
            iterations=settings.max_iterations,
            wall_s=settings.task_timeout,
            model_calls=settings.task_model_calls,
            tokens=settings.task_tokens,
            cost_usd=settings.task_cost_usd,
            suite_s=settings.suite_timeout_s,
            memory_mb=settings.sandbox_memory_mb,
        ),
        warn_at=settings.warn_iterations,
        integrate=settings.git_integrate,
        agent=AgentSettings(
            prompt_tokens=min(24_000, settings.model_num_ctx - settings.model_max_tokens),
            edit_format=EditFormat(settings.edit_format),
            recall_limit=settings.recall_limit,
        ),
    )
