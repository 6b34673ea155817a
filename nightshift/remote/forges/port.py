"""The interface to every forge, in three methods, and the values that they exchange.

A forge's state is always compared with Nightshift's: `look` returns the current state, and every action that follows
from a difference can be repeated safely. So nothing depends on seeing each single change.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from nightshift.core.errors import NightshiftError


class ForgeRefused(NightshiftError):
    """The forge understood a request and refuses it; asking again will not help until something is changed."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ForgeAway(NightshiftError):
    """The forge does not answer, or wants to be left alone for `rest_s` seconds (None if it does not say how long)."""

    def __init__(self, why: str, rest_s: float | None = None) -> None:
        super().__init__(why)
        self.rest_s = rest_s


class PullState(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The author of a text; `permitted` is True if this person may give the repository's agent work."""

    name: str
    permitted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue as it is now; a deleted issue is not `open` and has no text."""

    number: int
    title: str = ""
    text: str = ""
    url: str = ""
    author: Person = field(default_factory=lambda: Person(name=""))
    labels: tuple[str, ...] = ()
    open: bool = False
    remarks: tuple[Remark, ...] | None = None
    """The remarks on the issue; only read for open issues in `Watch.issues`, None for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A comment. `id` is unique within the repository, and begins with `i` for a comment on an issue itself.

    `path` and `line` are the location that a comment refers to.
    """

    id: str
    author: Person
    text: str
    url: str = ""
    path: str = ""
    line: int | None = None
    quoted: str = ""
    """The lines of the change that the comment refers to, if the forge gives them."""

    @property
    def on_issue(self) -> bool:
        """True for a comment on an issue itself, False on a pull request."""
        return self.id.startswith("i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A failed check of a commit."""

    name: str
    text: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A pull request as it is now.

    `head` is the full id of its newest commit. Remarks and checks are only read while it is open; `failed` is None
    while checks are running.
    """

    number: int
    url: str
    branch: str
    head: str
    state: PullState
    remarks: tuple[Remark, ...] = ()
    failed: tuple[Check, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The issues and pull requests to look at.

    Each of `issues` that is not among the open ones with the label is requested separately. `pulls` are the pull
    requests that Nightshift opened, and `open_pulls` those of them that were open at the last look.
    """

    label: str
    issues: Collection[int] = ()
    pulls: Collection[int] = ()
    open_pulls: Collection[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of a look: the open issues with the label, the requested issues, and pull requests."""

    branch: str
    """The repository's default branch."""
    issues: tuple[Issue, ...] = ()
    pulls: tuple[Pull, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """Nightshift's single comment on an issue or a pull request. It begins with `marker`, by which it is found again.

    `id` is the forge's id, if it is known.
    """

    number: int
    on_pull: bool
    marker: str
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A draft pull request to open, from `branch` into `base`."""

    branch: str
    base: str
    title: str
    text: str


class Forge(Protocol):
    """One repository at a forge. All methods raise `ForgeAway` and `ForgeRefused`."""

    async def look(self, watch: Watch) -> Seen:
        """Return the current state of the watched issues and pull requests."""
        ...

    async def comment(self, comment: Comment) -> str:
        """Write the comment, or update it if it exists; return its id."""
        ...

    async def propose(self, proposal: Proposal) -> Pull:
        """Open the pull request, or return the one that this branch already has, in any state."""
        ...
