"""Settings of the work itself: workers, sandbox, checker, git, memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings

from settings.values import Distribution, Seconds, off

Graveness = Literal["critical", "high", "medium", "low"]


class WorkSettings(BaseSettings):
    """How tasks are worked on."""

    # Workers and the queue.
    worker_count: Annotated[int, Field(ge=1, le=64)] = 3
    max_retries: Annotated[int, Field(ge=1, le=20)] = 3
    retry_base_s: Seconds = 10
    task_timeout: Seconds = 300
    max_iterations: Annotated[int, Field(ge=1, le=100)] = 15
    warn_iterations: Annotated[int, Field(ge=1, le=100)] = 12
    drain_s: Annotated[float, Field(ge=0)] = 20
    lease_s: Annotated[float, Field(ge=5)] = 60

    # Sandbox.
    sandbox: Literal["auto", "bubblewrap", "docker", "process"] = "auto"
    docker_host: str = ""
    docker_image: str = ""
    sandbox_cpus: Annotated[float, Field(gt=0)] = 2
    sandbox_memory_mb: Annotated[int, Field(ge=64)] = 512
    sandbox_pids: Annotated[int, Field(ge=16)] = 128
    sandbox_work_mb: Annotated[int, Field(ge=1)] = 64
    sandbox_nice: Annotated[int, Field(ge=0, le=19)] = 5
    suite_timeout_s: Seconds = 60
    allowed_deps: list[Distribution] = Field(default_factory=list)
    held_out_share: Annotated[float, Field(ge=0, le=0.5)] = 0.25
    oracle_inputs: Annotated[int, Field(ge=0, le=500)] = 20

    # The static checker: rules to severities, repositories to rules that do not hold there, commands that never run.
    checker_rules: dict[str, Annotated[Literal["block", "ask", "note", "off"], BeforeValidator(off)]] = Field(
        default_factory=dict
    )
    checker_allow: dict[str, list[str]] = Field(default_factory=dict)
    blocked_commands: list[str] = Field(default_factory=list)

    # Git.
    git_auto_push: bool = True
    git_integrate: bool = False
    git_author_name: str | None = None
    git_author_email: str | None = None

    # The readers of a change and of vague words, and plans that split a task: where a task does not say otherwise.
    enable_review: bool = False
    enable_audit: bool = False
    enable_clarify: bool = False
    enable_split: bool = False
    review_blocks: list[Graveness] = Field(default=["critical", "high"])
    audit_blocks: list[Graveness] = Field(default=["critical", "high"])
    review_rounds: Annotated[int, Field(ge=0, le=20)] = 2
    clear_enough: Annotated[float, Field(ge=0, le=1)] = 0.5
    clarify_wait_s: Seconds = 14_400

    # Memory.
    embedder: Literal["auto", "hashed", "sentence-transformers", "ollama", "openai"] = "auto"
    embedder_model: str | None = None
    recall_limit: Annotated[int, Field(ge=0, le=10)] = 3
    recall_control_share: Annotated[float, Field(ge=0, le=0.5)] = 0.1
