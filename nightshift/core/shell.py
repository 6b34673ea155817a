"""A command that a model asked for: its input files and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree
from nightshift.core.isolation import RUN_LIMITS, Ended, RunLimits
from nightshift.core.tasks.task import Change, Files


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJob:
    """A command for `sh -c` in the root of a tree: `base` with `change` and `tests` on top.

    There is no `.git`, no network, and no held-out case. `packages` are the distributions that the run may see in
    addition to the test libraries, name to exact version. `environment` is the digest of the environment that the base
    declares (`core.code.environments`). `limits.cpu_s` limits the processor time of the command, and also the time that
    it may wait without using any.
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
    """The result of a command. `output` is its standard output and error in their order, with secrets masked.

    `files` are the text files that it wrote or, with None, removed, relative to the tree it began with. `dropped` names
    the other files that it left and says why they are ignored.
    """

    exit_code: int
    ended: Ended
    output: str
    files: Mapping[str, str | None] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
