"""A command that a model asked for: what it runs on, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree
from nightshift.core.isolation import RUN_LIMITS, Ended, RunLimits
from nightshift.core.tasks.task import Change, Files


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJob:
    """A command for `sh -c` in the root of a tree: `base` with `change` and `tests` on top.

    There is no `.git`, no network, and nothing that is held out of the tests. `packages` are distributions besides the
    test libraries that the run may see, name to exact version; `environment` is the digest of what the base declares
    (`core.code.environments`). `limits.cpu_s` is how much processor time the command
    may use, and how long it may wait without using any.
    """

    command: str
    base: Tree
    change: Change = field(default_factory=dict)
    tests: Files = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    limits: RunLimits = RUN_LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult:
    """How a command ended. `output` is its standard output and error in the order they came, secrets masked.

    `files` are the text files that it wrote or, with None, removed, relative to the tree it began with; `dropped` names
    others that it left behind and says why they do not count.
    """

    exit_code: int
    ended: Ended
    output: str
    files: Mapping[str, str | None] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
