"""The values that a forge (`remote.forges.forge.Forge`) exchanges with its callers.

Each look at a forge returns its current state, which is compared with Nightshift's own. Every action that follows from
a difference can be repeated safely. So it does not matter if a single change is missed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.errors import NightshiftError


class ForgeRefused(NightshiftError):
    """The forge understood a request and refuses it.

    The same request will be refused again until something is changed.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ForgeAway(NightshiftError):
    """The forge does not answer, or asks for a pause of `rest_s` seconds (None if it names no time)."""

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
    """The author of a text. `permitted` is True if this person may give work to the agent of the repository."""

    name: str
    permitted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue in its current state. A deleted issue has `open` False and no text."""

    number: int
    title: str = ""
    text: str = ""
    url: str = ""
    author: Person = field(default_factory=lambda: Person(name=""))
    labels: tuple[str, ...] = ()
    open: bool = False
    remarks: tuple[Remark, ...] | None = None
    """The comments on the issue. Read only for the open issues in `Watch.issues`; None for all other issues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A comment.

    Attributes:
        id: unique within the repository. The id of a comment on an issue itself begins with `i`.
        path: the file that the comment refers to; empty if it refers to none.
        line: the line of the file; None if the comment refers to none.
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
        """True for a comment on an issue itself; False for a comment on a pull request."""
        return self.id.startswith("i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A failed check of a commit."""

    name: str
    text: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A pull request in its current state.

    Attributes:
        head: the full id of its newest commit.
        remarks: its comments; read only while the pull request is open.
        failed: its failed checks; read only while the pull request is open, None while checks are running.
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
    """Selection of the issues and pull requests to look at.

    Attributes:
        label: the label of the issues that are tasks.
        issues: the known issues. An issue that was closed or has lost the label is requested separately.
        pulls: the pull requests that Nightshift opened.
        open_pulls: those of `pulls` that were open at the last look.
    """

    label: str
    issues: Collection[int] = ()
    pulls: Collection[int] = ()
    open_pulls: Collection[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The result of a look at a forge.

    Attributes:
        issues: the open issues with the label, and the issues that were requested separately.
        pulls: the pull requests that Nightshift opened.
    """

    branch: str
    """The repository's default branch."""
    issues: tuple[Issue, ...] = ()
    pulls: tuple[Pull, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """Nightshift's single comment on an issue or a pull request.

    Attributes:
        marker: the text that the comment begins with, by which it is found later.
        id: the forge's id of the comment; empty if it is not known.
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
