"""Environments: the packages, tools and interpreter that a repository's base commit declares for its code.

An environment is a value, known by its digest: of what declares it, and of the interpreter. It is made once, and what
stays of it is read-only. An attempt, its runs and its commit's evidence carry the digest; an empty one is what every
run has anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from nightshift.core.code.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupScript:
    """A script of a commit that prepares the environment; it runs only after its owner has agreed.

    Attributes:
        path: the file that it stands in, as the repository has it.
        text: what is run.
        digest: SHA-256 of the text and of the files that it names, in hexadecimal digits.
        named: the files of the repository that it names and that the digest covers.
        remarks: what of this machine's settings for packages does not hold for it.
    """

    path: str
    text: str
    digest: str
    named: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Environment that a commit declares. `sources` are the paths of the declaring files, as the repository has them.

    `unasked` is a setup script that is no part of it, because its owner has not agreed to it.
    """

    digest: str = ""
    sources: tuple[str, ...] = ()
    unasked: SetupScript | None = None


NO_ENVIRONMENT = Environment()


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeEnvironment:
    """An environment on the disk, or a part of one, as its owner wants to know it.

    `kind` is what made it, `remarks` say what was left out and why. `sources` are the paths of what declared it first.
    """

    name: str
    kind: str
    sources: tuple[str, ...] = ()
    interpreter: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    used_at: datetime
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Result of making an environment.

    `environment` has the parts that are there, `new` are those that were made now, and `failed` says of each of the
    others why it cannot be made.
    """

    environment: Environment
    new: tuple[MadeEnvironment, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A program that tests need beside them, such as a database. It is started anew for each run, with nothing kept.

    Attributes:
        name: of its own.
        start: the command of a shell that starts it and stays with it.
        prepare: one that comes before and ends, such as `initdb`; empty for none.
        port: it is ready when this port of the loopback answers,
        command: or when this command ends with 0,
        output: or when it has printed this; the two others are empty.
        environment: variables of its own.
        exports: variables that tests have because of it.
        prepare_s: how long its preparation may take, on the clock.
        start_s: how long it may take to be ready.
        memory_mb: what it may use beside the tests, its files included.
    """

    name: str
    start: str
    prepare: str = ""
    port: int = 0
    command: str = ""
    output: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    prepare_s: float = 120
    start_s: float = 60
    memory_mb: int = 256


class EnvironmentStore(Protocol):
    """Finds and makes environments."""

    async def of(self, tree: Tree) -> Environment:
        """Read the environment that the tree of a commit declares; nothing is made."""
        ...

    async def make(self, tree: Tree, environment: Environment) -> Making:
        """Make what is not there yet, as far as it can be made.

        Raises:
            SandboxError: nothing of it can be made, or the tree declares another one.
        """
        ...

    async def declares(self, tree: Tree, digest: str) -> bool:
        """Tell whether a digest is of what the tree of a commit declares, or of some of its parts."""
        ...
