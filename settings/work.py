"""Settings of the work itself: workers, sandbox, checker, git, memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from core.isolation import RUN_LIMITS
from settings.values import Distribution, Megabytes, Seconds, SettingsGroup, off

Graveness = Literal["critical", "high", "medium", "low"]


class WorkSettings(SettingsGroup):
    """How tasks are worked on."""

    # Workers and the queue.
    worker_count: Annotated[int, Field(ge=1, le=64)] = 3
    """How many tasks are worked on at once."""
    max_retries: Annotated[int, Field(ge=1, le=20)] = 3
    """How many attempts a task has."""
    retry_base_s: Seconds = 10
    """The rest before a second attempt; it doubles with each further one."""
    task_timeout: Seconds = 300
    """How long an attempt may work; waiting for models does not count."""
    max_iterations: Annotated[int, Field(ge=1, le=100)] = 15
    """How many tries an attempt has to make its tests pass."""
    warn_iterations: Annotated[int, Field(ge=1, le=100)] = 12
    """After how many tries the model is told that few are left."""
    drain_s: Annotated[float, Field(ge=0, json_schema_extra={"unit": "s"})] = 20
    """How long running tasks may go on when the daemon is told to stop; then they go back to the queue."""
    lease_s: Annotated[float, Field(ge=5, json_schema_extra={"unit": "s"})] = 60
    """How long a task counts as taken without a sign of life from its worker."""

    # Sandbox.
    sandbox: Literal["auto", "bubblewrap", "docker", "process"] = "auto"
    """What holds untrusted code: the first that passes its test (auto), or one by name. `process` isolates nothing."""
    docker_host: str = ""
    """The socket of the container engine. Unset: the usual one."""
    docker_image: str = ""
    """An image of yours for Docker's sandbox. Unset: one that is packed from this machine."""
    sandbox_cpus: Annotated[float, Field(gt=0)] = RUN_LIMITS.cpus
    """How many processors a run may use."""
    sandbox_memory_mb: Annotated[Megabytes, Field(ge=64)] = RUN_LIMITS.memory_mb
    """How much memory a run may use."""
    sandbox_pids: Annotated[int, Field(ge=16)] = RUN_LIMITS.pids
    """How many processes and threads a run may have at once."""
    sandbox_work_mb: Annotated[Megabytes, Field(ge=1)] = RUN_LIMITS.work_mb
    """How much a run may write."""
    sandbox_nice: Annotated[int, Field(ge=0, le=19)] = 5
    """How many levels of priority sandboxed work stands back for yours; 0 switches that off."""
    suite_timeout_s: Seconds = RUN_LIMITS.wall_s
    """How long a run of the tests may take, on the clock."""
    allowed_deps: list[Distribution] = Field(default_factory=list)
    """Packages that tasks may install without asking you, such as `requests` or `numpy==2.4.0`."""
    held_out_share: Annotated[float, Field(ge=0, le=0.5)] = 0.25
    """The share of the checks in given tests that no model is shown; 0 switches this off."""
    oracle_inputs: Annotated[int, Field(ge=0, le=500)] = 20
    """How many inputs of ours a task's oracle is asked for, beside those that are given."""

    # The static checker: rules to severities, repositories to rules that do not hold there, commands that never run.
    checker_rules: dict[str, Annotated[Literal["block", "ask", "note", "off"], BeforeValidator(off)]] = Field(
        default_factory=dict
    )
    """What follows from a finding, by the rule's name: block, ask, note or off. Rules not named keep their own."""
    checker_allow: dict[str, list[str]] = Field(default_factory=dict)
    """Rules that do not hold in a repository, by its folder."""
    blocked_commands: list[str] = Field(default_factory=list)
    """Further commands that never run, as patterns such as `terraform apply *`."""

    # Git.
    git_auto_push: bool = True
    """Whether commits are pushed where the repository has a remote."""
    git_integrate: bool = False
    """Whether finished tasks move a branch of your own repositories, where a task does not say."""
    git_author_name: str | None = None
    """Who is named as the author of commits. Unset: git's own setting."""
    git_author_email: str | None = None
    """The author's address. Unset: git's own setting."""

    # The readers of a change and of vague words, and plans that split a task: where a task does not say otherwise.
    enable_review: bool = False
    """Whether a model reads each change before its tests run."""
    enable_audit: bool = False
    """Whether a model looks at each change for weaknesses of security before its tests run."""
    enable_clarify: bool = False
    """Whether you are asked what an unclear task leaves open, before it begins."""
    enable_split: bool = False
    """Whether a plan may split a large task into parts."""
    review_blocks: list[Graveness] = Field(default=["critical", "high"])
    """How grave a reviewer's remark must be to send the change back."""
    audit_blocks: list[Graveness] = Field(default=["critical", "high"])
    """How grave an auditor's remark must be to send the change back."""
    review_rounds: Annotated[int, Field(ge=0, le=20)] = 2
    """How often in one attempt a review may send the change back; then it only tells."""
    clear_enough: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Tasks whose words are less clear than this, from 0 to 1, are put in order by a model first; 0: none."""
    clarify_wait_s: Seconds = 14_400
    """How long a question waits for you before its default is assumed."""

    # Memory.
    embedder: Literal["auto", "hashed", "sentence-transformers", "ollama", "openai"] = "auto"
    """What lessons are found by: the best that is there (auto), or one by name; `hashed` needs nothing."""
    embedder_model: str | None = None
    """The model of the embedder. Unset: its usual one."""
    recall_limit: Annotated[int, Field(ge=0, le=10)] = 3
    """How many lessons of earlier tasks a prompt gets; 0: none."""
    recall_control_share: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    """The share of attempts that get no lessons, so that it can be measured whether lessons help."""
