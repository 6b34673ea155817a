"""The data of a simulated forge, independent of its API: people, issues, pull requests, comments and checks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

BOT = "nightshift-bot"


@dataclass
class Note:
    """A comment; `path` and `line` are set if it is attached to a line of a change."""

    id: int
    author: str
    text: str
    path: str = ""
    line: int | None = None


@dataclass
class Thread:
    """An issue or a pull request."""

    number: int
    title: str
    text: str
    author: str
    labels: list[str] = field(default_factory=list)
    state: str = "open"
    notes: list[Note] = field(default_factory=list)
    branch: str = ""
    base: str = ""
    draft: bool = False


@dataclass
class Check:
    """A check of a commit: running, failed or passed."""

    name: str
    state: str
    text: str = ""


@dataclass
class World:
    """One repository. `remote` is its bare git repository; without `remote`, branches have made-up commits."""

    project: str = "octo/hello"
    remote: Path | None = None
    people: dict[str, str] = field(default_factory=lambda: {"olga": "owner", "mia": "member", BOT: "owner"})
    """Maps the name of each person who may push to a role; everybody else is a stranger."""
    issues: dict[int, Thread] = field(default_factory=dict)
    pulls: dict[int, Thread] = field(default_factory=dict)
    checks: dict[str, list[Check]] = field(default_factory=dict)
    drafts: bool = True
    shares_numbers: bool = True
    _ids: Iterator[int] = field(default_factory=lambda: count(1000))

    def issue(self, title: str, text: str = "", *, by: str = "olga", labels: tuple[str, ...] = ("nightshift",)) -> int:
        """File an issue and return its number."""
        number = self._number(self.issues)
        self.issues[number] = Thread(number=number, title=title, text=text, author=by, labels=list(labels))
        return number

    def pull(self, title: str, text: str, branch: str, base: str, *, draft: bool) -> Thread:
        """Open a pull request, as the bot."""
        number = self._number(self.pulls)
        thread = Thread(number, title, text, BOT, branch=branch, base=base, draft=draft)
        self.pulls[number] = thread
        return thread

    def say(self, thread: Thread, text: str, *, by: str = "olga", path: str = "", line: int | None = None) -> Note:
        """Add a comment."""
        note = Note(id=next(self._ids), author=by, text=text, path=path, line=line)
        thread.notes.append(note)
        return note

    def note(self, note_id: int) -> Note | None:
        """Return a comment by its id."""
        threads = (*self.issues.values(), *self.pulls.values())
        return next((note for thread in threads for note in thread.notes if note.id == note_id), None)

    def thread(self, number: int) -> Thread | None:
        """Return the issue or pull request with this number, for forges where both share one series of numbers."""
        return self.issues.get(number) or self.pulls.get(number)

    def head(self, branch: str) -> str:
        """Return the newest commit of a branch, or "" if there is no such branch."""
        if self.remote is None:
            return branch.encode().hex()[:40].ljust(40, "0")
        command = ["git", "-C", str(self.remote), "rev-parse", "--verify", "-q", f"refs/heads/{branch}"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def permitted(self, name: str) -> bool:
        """Check whether a person may push."""
        return name in self.people

    def _number(self, own: dict[int, Thread]) -> int:
        taken = {*self.issues, *self.pulls} if self.shares_numbers else set(own)
        return max(taken, default=0) + 1
