"""The port to every forge, in three methods, and the values that go back and forth.

A forge is only ever compared with what Nightshift knows: `look` gives what is there now, and whatever follows from the
difference is done in a way that can be done again. So nothing depends on having seen each change as it happened.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from nightshift.core.errors import NightshiftError


class ForgeRefused(NightshiftError):
    """The forge understood a request and refuses it; asking again will not help before somebody changes something."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ForgeAway(NightshiftError):
    """The forge does not answer, or wants to be left alone for `rest_s` seconds; None where it does not say."""

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
    """The author of a text; `permitted` tells whether he may give the repository's agent work."""

    name: str
    permitted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue as it is now; one that is gone is not `open` and has no text."""

    number: int
    title: str = ""
    text: str = ""
    url: str = ""
    author: Person = field(default_factory=lambda: Person(name=""))
    labels: tuple[str, ...] = ()
    open: bool = False
    remarks: tuple[Remark, ...] | None = None
    """The remarks on it; looked up for those of `Watch.issues` that are open, None for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A comment. `id` is unique within the repository; `path` and `line` say what it stands at.

    Of one on an issue itself the `id` begins with `i`.
    """

    id: str
    author: Person
    text: str
    url: str = ""
    path: str = ""
    line: int | None = None
    quoted: str = ""
    """The lines of the change that it stands at, where the forge shows them."""

    @property
    def on_issue(self) -> bool:
        """Whether it stands on an issue itself, and not on a pull request."""
        return self.id.startswith("i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check of a commit that ended badly."""

    name: str
    text: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A pull request as it is now.

    `head` is the full id of its newest commit. Remarks and checks are looked up while it is open; `failed` is None as
    long as checks are still running.
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

    `issues` are looked up one by one where they are not among the open ones with the label, `pulls` are those that were
    opened here, `open_pulls` the ones among them that were open when they were last looked at.
    """

    label: str
    issues: Collection[int] = ()
    pulls: Collection[int] = ()
    open_pulls: Collection[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of a look: the open issues with the label, those that were asked for, and pull requests."""

    branch: str
    """The repository's default branch."""
    issues: tuple[Issue, ...] = ()
    pulls: tuple[Pull, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """The one comment on an issue or a pull request. It begins with `marker`, by which it is found again.

    `id` is the forge's, where it is known.
    """

    number: int
    on_pull: bool
    marker: str
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A pull request to be opened as a draft: from `branch` into `base`."""

    branch: str
    base: str
    title: str
    text: str


class Forge(Protocol):
    """One repository at a forge. All methods raise `ForgeAway` and `ForgeRefused`."""

    async def look(self, watch: Watch) -> Seen:
        """Find what is there now."""
        ...

    async def comment(self, comment: Comment) -> str:
        """Write the comment, or change it where it is there; its id."""
        ...

    async def propose(self, proposal: Proposal) -> Pull:
        """Open the pull request, or find the one that this branch has already, whatever became of it."""
        ...
