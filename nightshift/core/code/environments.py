"""Environments: the packages, tools and interpreter that a repository's base commit declares for its code.

An environment is identified by a digest of its interpreter and of the files that declare it. It is made once, and its
files are read-only afterwards. An attempt, its runs and its commit's evidence contain the digest; an empty digest means
that a run has only the packages that every run gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nightshift.core.clock import Moment
from nightshift.core.code.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupScript:
    """A script of a commit that prepares the environment; it runs only after the owner has agreed.

    Attributes:
        path: The file that contains the script, relative to the repository.
        text: The text to run.
        digest: Hexadecimal SHA-256 of the text and of the files that the script names.
        named: The files of the repository that the script names and that the digest covers.
        remarks: Sentences for the owner. They name package settings of this machine that do not apply to the script.
    """

    path: str
    text: str
    digest: str
    named: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An environment that a commit declares.

    `sources` are the paths of the declaring files, relative to the repository. `unasked` is a setup script that is
    excluded, because the owner has not agreed to it.
    """

    digest: str = ""
    sources: tuple[str, ...] = ()
    unasked: SetupScript | None = None


NO_ENVIRONMENT = Environment()


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeEnvironment:
    """An environment on the disk, or a part of an environment, as shown to the owner.

    `kind` says how it was made. `remarks` say what was left out and why. `sources` are the paths of the files that
    first declared it.
    """

    name: str
    kind: str
    sources: tuple[str, ...] = ()
    interpreter: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    used_at: Moment
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Result of making an environment.

    `environment` contains the parts that exist. `new` lists the parts that this call made. `failed` gives the reason
    for each part that cannot be made.
    """

    environment: Environment
    new: tuple[MadeEnvironment, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A program that tests need at run time, such as a database. Each run starts it again, with no stored data.

    Exactly one of `port`, `command` and `output` says when the service is ready; the other two are empty.

    Attributes:
        name: A unique name.
        start: The shell command that starts the service and runs as long as the service.
        prepare: A shell command that must finish before `start`, such as `initdb`; empty for none.
        port: The service is ready when this port on the loopback interface answers.
        command: The service is ready when this command exits with 0.
        output: The service is ready when it has printed this text.
        environment: Additional environment variables for the service.
        exports: Environment variables that tests get so that they can use the service.
        prepare_s: Seconds of wall-clock time that the preparation may take.
        start_s: Seconds within which the service must be ready.
        memory_mb: Memory that the service may use in addition to the tests, including its files.
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
    """Finds the environments that commits declare, and makes them."""

    async def of(self, tree: Tree) -> Environment:
        """Read the environment that the tree of a commit declares, without making it."""
        ...

    async def make(self, tree: Tree, environment: Environment) -> Making:
        """Make the missing parts of an environment, or as many of them as possible.

        Raises:
            SandboxError: No part can be made, or the tree declares another environment.
        """
        ...

    async def declares(self, tree: Tree, digest: str) -> bool:
        """Return True if a digest identifies the environment that a commit's tree declares, or a part of it."""
        ...
