"""Settings of the work itself: workers, reviews, git, the sandbox, checks and learning."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from nightshift.config.fields import ByHand, Heading, SettingsGroup, Takes
from nightshift.config.values import Distribution, Megabytes, Positive, Seconds, Sha256, off
from nightshift.core.isolation import RUN_LIMITS

Graveness = Literal["critical", "high", "medium", "low"]

HOLDS_CODE = ByHand("it decides what holds untrusted code")
LETS_THROUGH = ByHand("it decides which code is let through")


class WorkerSettings(SettingsGroup):
    """How many tasks run at once, and how many attempts each has."""

    heading: ClassVar[Heading | None] = Heading.WORKERS
    on_page: ClassVar[frozenset[str]] = frozenset({"worker_count", "max_retries"})

    worker_count: Annotated[int, Field(ge=1, le=64)] = 3
    """How many tasks run at once."""
    max_retries: Annotated[int, Field(ge=1, le=20)] = 3
    """How many attempts a task has."""
    retry_base_s: Seconds = 10
    """The wait before the second attempt. It doubles with each further attempt."""
    drain_s: Annotated[float, Field(ge=0, json_schema_extra={"unit": "s"})] = 20
    """How long running tasks may continue when the daemon is stopped. Then they go back to the queue."""
    lease_s: Annotated[float, Field(ge=5, json_schema_extra={"unit": "s"}), Takes.RESTART] = 60
    """How long a worker may give no sign of life before its task goes to another worker."""


class ReviewSettings(SettingsGroup):
    """Reviews of a change, questions about unclear tasks, and splitting of tasks. A task can override them."""

    heading: ClassVar[Heading | None] = Heading.REVIEWS
    on_page: ClassVar[frozenset[str]] = frozenset(
        {"enable_review", "enable_audit", "enable_clarify", "enable_split", "change_tests"}
    )

    enable_review: bool = False
    """Have a model review each change before its tests run."""
    review_blocks: list[Graveness] = Field(default=["critical", "high"])
    """The severities of reviewers' remarks that send a change back."""
    review_rounds: Annotated[int, Field(ge=0, le=20)] = 2
    """How often each reader may send the change back in one attempt. After that, a blocking audit waits for you."""
    critical_left: Literal["ask", "wait", "commit"] = "ask"
    """Critical remarks that are left after the last round: you are asked for clarify_wait_s (ask) or without a time \
limit (wait), or they are committed and named (commit)."""
    change_tests: Literal["ask", "allow", "keep"] = "ask"
    """Existing tests that contradict the task: you are asked and see both texts (ask), they may be changed (allow), \
or they stay (keep). Tests that Nightshift wrote need no answer."""
    enable_audit: bool = False
    """Have a model audit each change for security weaknesses before its tests run."""
    audit_blocks: list[Graveness] = Field(default=["critical", "high"])
    """The severities of auditors' remarks that send a change back."""
    enable_clarify: bool = False
    """Ask you about the gaps of an unclear task before it begins."""
    clear_enough: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Clarity of a task, from 0 to 1. A model first rewrites less clear tasks; 0 switches this off."""
    clarify_wait_s: Seconds = 14_400
    """How long a question waits for your answer before its default is used."""
    enable_split: bool = False
    """Let a plan split a large task into parts."""
    review_debt: Positive | None = None
    """How many commits may wait for you to read them before new work stops. Unset: no limit."""


class GitSettings(SettingsGroup):
    """How commits are made and published."""

    heading: ClassVar[Heading | None] = Heading.REVIEWS
    on_page: ClassVar[frozenset[str]] = frozenset({"git_auto_push", "git_integrate", "git_remove_branches"})

    git_auto_push: bool = True
    """Push commits if the repository has a remote."""
    git_integrate: bool = False
    """Let finished tasks move a branch of your own repositories. A task can override this."""
    integrate_self_tested: bool = False
    """Also let commits that only the agent's own tests have judged move a branch of your own repositories."""
    git_remove_branches: bool = False
    """Delete the branch of a task once its commit is on the target branch."""
    git_author_name: str | None = None
    """The name of the author of commits. Unset: git's own configuration."""
    git_author_email: str | None = None
    """The email address of the author. Unset: git's own configuration."""


class SandboxSettings(SettingsGroup):
    """The sandbox of untrusted code, and its limits."""

    heading: ClassVar[Heading | None] = Heading.CHECKS
    on_page: ClassVar[frozenset[str]] = frozenset(
        {"sandbox", "sandbox_memory_mb", "environments", "linters", "allowed_deps"}
    )

    sandbox: Annotated[Literal["auto", "bubblewrap", "docker", "process"], Takes.RESTART, HOLDS_CODE] = "auto"
    """The sandbox of untrusted code: the first that passes its test (auto), or a name. `process` isolates nothing."""
    docker_host: Annotated[str, Takes.RESTART, HOLDS_CODE] = ""
    """The socket of the container engine. Unset: the engine's default."""
    docker_image: Annotated[str, Takes.RESTART, HOLDS_CODE] = ""
    """Your own image for Docker's sandbox. Unset: an image that is packed from this machine."""
    sandbox_cpus: Annotated[float, Field(gt=0)] = RUN_LIMITS.cpus
    """How many processors a run may use."""
    sandbox_memory_mb: Annotated[Megabytes, Field(ge=64)] = RUN_LIMITS.memory_mb
    """How much memory a run may use."""
    sandbox_pids: Annotated[int, Field(ge=16)] = RUN_LIMITS.pids
    """How many processes and threads a run may have at once."""
    sandbox_work_mb: Annotated[Megabytes, Field(ge=1)] = RUN_LIMITS.work_mb
    """How many megabytes a run may write."""
    sandbox_nice: Annotated[int, Field(ge=0, le=19), Takes.RESTART] = 5
    """The niceness of sandboxed work, so that your own work has priority; 0 switches this off."""
    environments: Literal["trust", "ask"] = "trust"
    """Wheels that a repository's own commits declare (locks, requirements, pyproject.toml): installed for its runs \
(trust), or only after you agree, once for each declaration (ask)."""
    setup_scripts: Annotated[Literal["ask", "trust", "off"], LETS_THROUGH] = "ask"
    """Scripts with which a repository prepares itself, such as `.nightshift/setup.sh`: run after you agreed to their \
content (ask), run without asking (trust), or never (off)."""
    allowed_setups: Annotated[list[Sha256], LETS_THROUGH] = Field(default_factory=list)
    """Digests of setup scripts that run without asking. Each question and the task's history show them."""
    allowed_deps: list[Distribution] = Field(default_factory=list)
    """Packages that tasks may install without asking you, such as `requests` or `numpy==2.4.0`."""
    held_out_share: Annotated[float, Field(ge=0, le=0.5)] = 0.25
    """The share of the checks in your tests that models never see; 0 switches this off."""

    # Settings of the static checker follow: severities of rules, exceptions for repositories, and commands that never
    # run.
    checker_rules: Annotated[
        dict[str, Annotated[Literal["block", "ask", "note", "off"], BeforeValidator(off)]], LETS_THROUGH
    ] = Field(default_factory=dict)
    """The consequence of a finding, by the rule's name: block, ask, note or off. Other rules keep their defaults."""
    linters: Literal["install", "found", "off"] = "install"
    """The repository's linters (ruff, mypy or flake8) that may send changes back: installed if needed (install), only \
those of its environment (found), or none (off)."""
    checker_allow: Annotated[dict[str, list[str]], LETS_THROUGH] = Field(default_factory=dict)
    """Rules of the checker that do not apply to a repository, by the folder of the repository."""
    blocked_commands: Annotated[list[str], LETS_THROUGH] = Field(default_factory=list)
    """Additional commands that never run, as patterns such as `terraform apply *`."""


class LearningSettings(SettingsGroup):
    """Lessons from earlier tasks."""

    heading: ClassVar[Heading | None] = Heading.MODELS

    embedder: Annotated[Literal["auto", "hashed", "sentence-transformers", "ollama", "openai"], Takes.RESTART] = "auto"
    """The embedder that finds lessons: the best available (auto), or one by name. `hashed` needs no model."""
    embedder_model: Annotated[
        str | None, Takes.RESTART, ByHand("it may name files that are loaded into the daemon")
    ] = None
    """The model of the embedder. Unset: the embedder's default."""
    recall_limit: Annotated[int, Field(ge=0, le=10)] = 3
    """How many lessons from earlier tasks a prompt gets; 0 means none."""
    recall_control_share: Annotated[float, Field(ge=0, le=0.5), Takes.RESTART] = 0.1
    """The share of attempts that get no lessons, to measure whether lessons help."""
