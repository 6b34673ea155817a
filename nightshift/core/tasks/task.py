"""Task: a person's specification, its limits, its row in the queue, and the subtasks that a plan may split it into.

A subtask is a normal task with a special idempotency key. The key names the task that was split (the whole), the
attempt that planned the part, and the part's position in the plan. So a plan that is carried out twice creates no task
twice, and no separate table can disagree with the tasks. These keys are reserved: `core.tasks.submission` rejects them
from people.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from nightshift.core.isolation import RUN_LIMITS, RunLimits
from nightshift.core.tasks.held_out import ValueCase
from nightshift.core.tasks.states import Ending, Status

Files = Mapping[str, str]
"""Maps paths to texts. Paths are relative to the repository's root, with `/`."""

Change = Mapping[str, str | None]
"""Maps paths to new texts; None removes the file."""


def digest(change: Change, own_tests: Files | None = None) -> str:
    """Return a SHA-256 digest of a change and the tests written for it; equal paths and texts give equal digests."""
    hasher = hashlib.sha256()
    for group in (change, own_tests or {}):
        for path, text in sorted(group.items()):
            for part in (path, "\0" if text is None else text):
                raw = part.encode("utf-8", "surrogatepass")
                hasher.update(len(raw).to_bytes(8, "big") + raw)
        hasher.update(b"\xff" * 8)
    return hasher.hexdigest()


class Explore(StrEnum):
    """Use of tools to explore in several steps. With `AUTO`, a model explores if a single prompt is not enough."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"

    @staticmethod
    def read_typed(value: object) -> object:
        """Turn booleans back into `on` and `off`, because YAML reads the unquoted words as booleans."""
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


class Kind(StrEnum):
    """Kind of the program to build; it selects the guidance in the prompts."""

    WEB_APP = "web_app"
    DATA_PIPELINE = "data_pipeline"
    CLI_TOOL = "cli_tool"
    LIBRARY = "library"


class Language(StrEnum):
    """The language of the task's code and tests.

    TypeScript counts as JavaScript; Node.js or other tools strip the types.
    """

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    GO = "go"
    AUTO = "auto"
    """Replaced by a real language when the task is stored (`core.tasks.language_choice`), so no stored task has it."""

    @classmethod
    def _missing_(cls, value: object) -> Language | None:
        return cls.JAVASCRIPT if value == "typescript" else None


class Lint(StrEnum):
    """The effect of a repository's linters before a commit: their findings are only noted, or must be fixed."""

    NOTED = "noted"
    REQUIRED = "required"


MAX_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one task; None leaves a limit to the settings.

    `wall_s` limits the seconds of one attempt, not counting the time that it waits for a model's reply, which has its
    own limits. `model_calls`, `tokens` (prompt and reply together) and `cost_usd` limit the total of all attempts since
    the owner last requested the task. The other fields limit each run in the sandbox, with all its processes together:
    `suite_s` (seconds of processor time of its tests), `memory_mb`, `cpus` (cores at once), `pids` (processes and
    threads) and `work_mb` (files that the run writes).
    """

    attempts: int | None = None
    iterations: int | None = None
    wall_s: float | None = None
    model_calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    suite_s: float | None = None
    memory_mb: int | None = None
    cpus: float | None = None
    pids: int | None = None
    work_mb: int | None = None

    def over(self, defaults: Limits) -> Limits:
        """Return these limits, with limits of None taken from `defaults`."""
        pairs = {f.name: getattr(self, f.name) for f in fields(self)}
        return Limits(**{k: getattr(defaults, k) if v is None else v for k, v in pairs.items()})

    def of_run(self) -> RunLimits:
        """Return the limits of each test run, with limits of None taken from the defaults of `RunLimits`."""
        given: dict[str, Any] = {
            "cpu_s": self.suite_s,
            "memory_mb": self.memory_mb,
            "cpus": self.cpus,
            "pids": self.pids,
            "work_mb": self.work_mb,
        }
        return replace(RUN_LIMITS, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Specification of a task. Only `core.tasks.submission.parse_spec` creates it, whatever the source of the input.

    `allow` are rules of the static checker that this task may break. `packages` are distributions that the task may
    use. `mcp` are tools of the owner's servers, as `server.tool`, that its model may call while it writes the change.
    `needs` are labels that a node must have to claim the task. `cases` are calls with their required results, which no
    prompt shows. `oracle` are files that compute these results. `project` is the folder of the workspace in which the
    task works (`core.tasks.projects`): empty for the root, None if the plan decides.
    """

    description: str
    priority: int = 1
    repo: str | None = None
    base: str | None = None
    project: str | None = None
    kind: Kind | None = None
    language: Language = Language.PYTHON
    tests: Files = field(default_factory=dict)
    test_command: tuple[str, ...] = ()
    files: Files = field(default_factory=dict)
    depends_on: tuple[int, ...] = ()
    key: str | None = None
    not_before: datetime | None = None
    limits: Limits = field(default_factory=Limits)
    explore: Explore | None = None
    review: bool | None = None
    audit: bool | None = None
    clarify: bool | None = None
    split: bool | None = None
    integrate: bool | None = None
    lint: Lint | None = None
    allow: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    cases: tuple[ValueCase, ...] = ()
    oracle: Files = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Use of models and of the sandbox so far; `+` adds two of these values.

    `cost_usd` is the known cost; `unpriced` counts the model calls whose price is unknown.
    """

    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    model_s: float = 0.0
    suite_s: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def __sub__(self, earlier: Spent) -> Spent:
        return Spent(**{f.name: getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)})

    @property
    def tokens(self) -> int:
        """Prompt and reply tokens together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task in the queue.

    `fence` is the fencing token: it grows with each claim, and a write with an older token is rejected. `spent` is the
    total use. `spent_before` is the use up to the time when the owner last requested the task; the limits count only
    what is used after that. `project` is the folder in which the task works, once the owner or the plan has decided it.
    `hub_id` is the task's number on the hub, and `hub_fence` is this node's fencing token there; None if the task is
    not shared, or does not belong to this node now. `draft_attempt` is the attempt whose draft the next attempts begin
    with; 0 if they begin from the base.
    """

    id: int
    spec: TaskSpec
    status: Status
    created_at: datetime
    project: str | None = None
    ending: Ending | None = None
    reason: str = ""
    attempt: int = 0
    crashes: int = 0
    worker: str | None = None
    fence: int = 0
    lease_until: datetime | None = None
    not_before: datetime | None = None
    cancel_requested: bool = False
    iterations: int = 0
    commit: str | None = None
    branch: str | None = None
    spent: Spent = field(default_factory=Spent)
    spent_before: Spent = field(default_factory=Spent)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    hub_id: int | None = None
    hub_fence: int | None = None
    draft_attempt: int = 0

    @property
    def mark(self) -> str:
        """Name of the task in its commits.

        This is its local number, or its number on the hub, which is the same on all nodes.
        """
        return str(self.id) if self.hub_id is None else f"hub-{self.hub_id}"


MAX_MESSAGE_CHARS = 4000
MOST_MESSAGES = 50
"""Maximum number of messages to one task, because each of its prompts contains all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerMessage:
    """One message; `id` gives the order. With `interrupts`, a model request in progress is interrupted.

    `attempt` is the attempt that the task was in when the message was sent; 0 before the first attempt.
    """

    id: int
    task_id: int
    attempt: int
    text: str
    interrupts: bool
    at: datetime


MOST_PARTS = 8
"""Maximum number of parts in a plan."""
FEWEST_PARTS = 2
RESERVED = "split:"
"""Prefix of each subtask's idempotency key."""

_KEY = re.compile(r"split:(\d{1,15}):(\d{1,9}):\d{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """One part of a plan.

    `files` are the paths that only this part changes. `tests` are those of the owner's test files that are enough to
    judge the part. `acceptance` are the conditions that must be true when the part is done. `after` are the positions,
    counted from 0, of earlier parts whose work this part needs.
    """

    description: str
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskSpec:
    """A subtask as a task to submit. `after` has positions as in `Subtask`, because task ids are not known yet."""

    spec: TaskSpec
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The relatives of a task: its parent, if it is a subtask, and its own subtasks from all attempts, oldest first."""

    parent_id: int | None = None
    subtasks: tuple[Task, ...] = ()


def part_key(parent_id: int, attempt: int, number: int) -> str:
    """Return the idempotency key of a part; `number` counts the parts of an attempt's plan from 1."""
    return f"{RESERVED}{parent_id}:{attempt}:{number}"


def key_range(parent_id: int, attempt: int | None = None) -> tuple[str, str]:
    """Return the range of the keys of a task's parts (start, exclusive end), for one attempt or for all attempts."""
    start = f"{RESERVED}{parent_id}" if attempt is None else f"{RESERVED}{parent_id}:{attempt}"
    return f"{start}:", f"{start};"  # `;` is the character after `:`


def whole_of(key: str | None) -> tuple[int, int] | None:
    """Return the id of the task that was split and the attempt that planned the part; None if this is no part's key."""
    match = _KEY.fullmatch(key or "")
    return (int(match[1]), int(match[2])) if match else None


def as_plan(parts: Sequence[Subtask]) -> str:
    """Return the parts as the text of a numbered plan."""
    return "\n".join(f"{number}. {' '.join(part.description.split())}" for number, part in enumerate(parts, 1))
