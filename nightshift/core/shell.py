"""A command that a model asked for: its input files and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nightshift.core.code.tree import Tree
from nightshift.core.isolation import RUN_LIMITS, Ended, RunLimits
from nightshift.core.tasks.task import Change, Files


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellJob:
    """A command for `sh -c` in the root of a tree, which is `base` with `change` and `tests` applied.

    There is no `.git`, no network, and no held-out case. `packages` maps each distribution that the run may use, in
    addition to the test libraries, to its exact version. `environment` is the digest of the environment that the base
    declares (`core.code.environments`). `limits.cpu_s` limits the command's processor time, and also the time for which
    it may wait without using the processor.
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
    """The result of a command.

    `output` contains its standard output and error in their original order, with secrets masked. `files` maps each text
    file that the command wrote to its new text, or to None if it removed the file. `dropped` maps the other files that
    the command left to the reasons why they are ignored.
    """

    exit_code: int
    ended: Ended
    output: str
    files: Mapping[str, str | None] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
