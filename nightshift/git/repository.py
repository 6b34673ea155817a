"""One repository: its references, and its objects through a view.

A *view* is a folder of ours that git treats as a repository with no configuration, no hooks, no attributes and no
references. It borrows only the object store of the real repository. Every command about content runs in the view. The
view cannot move references, so the few commands that do run in the repository itself, with settings that override
everything that could start a program (git/protocol.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from nightshift.core.code.tree import IdFormat, Tree
from nightshift.core.errors import BaseGone, GitError
from nightshift.core.tasks.projects import Scope
from nightshift.core.tasks.revisions import Author
from nightshift.git.commands import Git, readable, refuse_locked
from nightshift.git.composing import NewObjects
from nightshift.git.configuration import Configuration
from nightshift.git.objects import Edit, RawCommit, folders_in, parse_commit
from nightshift.git.processes import Output
from nightshift.git.session import Session
from nightshift.git.shared_lock import SharedLock
from nightshift.git.storing import Store
from nightshift.git.trees import GitTree, Reader
from nightshift.storage.files.whole import flush

NO_LOG = ("-c", "core.logAllRefUpdates=false")
MOVE = ("update-ref", "-m", "nightshift", "--stdin")
TREES = 16
"""Maximum number of cached trees of commits, and also of cached parts of trees."""
K = TypeVar("K")
V = TypeVar("V")
_IN_PROGRESS = ("rebase-merge/head-name", "rebase-merge/update-refs", "rebase-apply/head-name", "BISECT_START")


def _keep_last(values: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """Return the cached value of a key, and compute it if it is missing; at most TREES values are cached.

    Thread-safe.
    """
    value = values.get(key)
    if value is None:
        value = make()
        if len(values) >= TREES:
            values.clear()
    return values.setdefault(key, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One repository. `git` runs in the repository and sees its references; `view` sees only its objects.

    Objects are stored in the view or through `store`, under the lock `storing`. `home` is the id of the home that
    contains the tasks (see `core.tasks.commit_message.HOME`). `named` is the author of commits, and overrides git's
    `configuration`, which is read again at each call. `config_stamp` is the value of `discovery.Place.config_stamp`
    when the repository was opened.
    """

    root: Path
    common: Path
    is_own: bool
    home: str
    id_format: IdFormat
    named: Author
    config_stamp: tuple[int, int]
    configuration: Callable[[], Configuration]
    git: Git
    view: Git
    storing: SharedLock
    store: Store
    reader: Reader
    names: Session
    logged: Session
    unlogged: Session
    trees: dict[str, GitTree] = field(default_factory=dict)
    parts: dict[tuple[str, Scope], Tree] = field(default_factory=dict)

    @property
    def author(self) -> Author:
        """Author of a commit that is made now. Raises GitError if git cannot read its configuration."""
        return self.named if self.named.name and self.named.email else self.named.over(self.configuration().author)

    def tree(self, commit: str) -> GitTree:
        """Return the tree of a commit by its full id; the last few are cached.

        Raises GitError if there is no such commit.
        """
        return _keep_last(
            self.trees, commit, lambda: GitTree(commit, self.read_commit(commit).tree, self.reader, self._describe)
        )

    def part(self, commit: str, scope: Scope) -> Tree:
        """Return the part of a commit's tree that a task sees; the last few are cached, as in `tree`."""
        return _keep_last(self.parts, (commit, scope), lambda: scope.of(self.tree(commit)))

    def _describe(self, commit: str) -> str:
        """Return the tag nearest to a commit; empty if there is none, or if the search times out."""
        try:
            return self.git.ask("describe", "--tags", "--long", "--match=*[0-9]*", commit, timeout_s=20).text
        except GitError:
            return ""

    def read_commit(self, commit: str) -> RawCommit:
        """Return a commit by its full id.

        Raises:
            BaseGone: There is no such commit.
            GitError: The object is not a commit, or could not be read.
        """
        try:
            kind, raw = self.reader.get(commit)
        except KeyError:
            raise BaseGone(f"commit {commit} is not in {self.root}") from None
        if kind != "commit":
            raise GitError(f"{commit} in {self.root} is a {kind}, not a commit")
        return parse_commit(raw)

    def refuse_gone(self, commit: str, parent: str | None = None) -> None:
        """Refuse a commit that is no longer in the repository, for example after a rewritten branch and `git gc`.

        The check covers the commit, its parent, its root tree and the trees directly in the root tree. Git keeps or
        deletes a tree together with everything below it, so deeper trees are not checked. Files are not checked,
        because a partial clone may lack them. The check runs in a new process, because a process that stays open can
        still read packs that were removed.

        Raises:
            BaseGone: An object is missing.
        """
        root = self.read_commit(commit).tree
        try:
            _, entries = self.reader.get(root)
        except KeyError:
            raise BaseGone(f"the tree {root} of commit {commit} is not in {self.root} any more") from None
        wanted = dict.fromkeys(filter(None, (commit, parent, root, *folders_in(entries, len(root) // 2))))
        answer = self.view("cat-file", "--batch-check", stdin="".join(f"{id_}\n" for id_ in wanted).encode())
        if missing := [line.split()[0] for line in answer.text.splitlines() if line.endswith(" missing")]:
            raise BaseGone(f"{missing[0]}, which commit {commit} depends on, is not in {self.root} any more")

    def resolve(self, *names: str) -> list[str | None]:
        """Return the full id of the commit that each name stands for, or None.

        Names are not cached, because references may move. A name that looks like an option is still treated as a name.
        """
        asked = [name for name in names if "\n" not in name]
        lines = "".join(f"{name}^{{commit}}\n" for name in asked).encode("utf-8", "surrogateescape")
        answers = self.names.ask(lines, partial(_read_lines, count=len(asked)))
        ids = {
            name: line.split()[0] if line.endswith(" commit") else None
            for name, line in zip(asked, answers, strict=True)
        }
        return [ids.get(name) for name in names]

    def close(self) -> None:
        """End the open processes and clear the caches; later calls start the processes again."""
        self.trees.clear()
        self.parts.clear()
        for session in (self.reader, self.names, self.logged, self.unlogged):
            session.close()

    def write_commit(self, commit: RawCommit, edits: Collection[Edit] = ()) -> str:
        """Store a commit whose tree has edits applied, and return the commit's id.

        An empty tree id stands for no files.

        Raises:
            GitError: The commit could not be stored.
        """
        new = NewObjects(self.id_format, self.reader.tree)
        tree = new.tree(commit.tree, edits) if edits or not commit.tree else commit.tree
        id_ = new.add("commit", replace(commit, tree=tree).encode())
        self.store.put(new.objects)
        if edits:
            self.reader.keep(tree, new.objects[tree].partition(b"\0")[2])  # Readers of the commit need its root tree
        return id_

    def move(self, *moves: tuple[str, str, str | None], reflog: bool = True) -> str:
        """Move references (full name, new id, old id or None) together, each only if it still points to its old id.

        Returns "" if all references moved. If a reference pointed elsewhere, none was moved, and git's message is
        returned.

        Raises:
            ReferenceLocked: A reference is locked, and none was moved.
        """
        text = "".join(f"option no-deref\nupdate {name} {new} {old or '0' * len(new)}\n" for name, new, old in moves)
        session = self.logged if reflog else self.unlogged
        if refused := session.ask(f"start\n{text}prepare\ncommit\n".encode(), _read_refusal):
            refuse_locked(refused)
            return refused
        self._settle(name for name, _, _ in moves)
        return ""

    def _settle(self, names: Iterable[str]) -> None:
        """Flush the folders of moved references to the disk.

        Git flushes a reference's content before it renames the file into place, but never the folder. After a power
        failure the old reference could come back, although the database already records that the task is done.
        """
        for folder in {(self.common / name).parent for name in names}:
            with contextlib.suppress(FileNotFoundError):  # The repository does not store references as files
                flush(folder)


def _read_lines(answer: Output, count: int) -> list[str]:
    lines = [answer.readline() for _ in range(count)]
    if not all(line.endswith(b"\n") for line in lines):
        raise EOFError("cut off")
    return [line.decode("utf-8", "replace").rstrip("\n") for line in lines]


def _read_refusal(answer: Output) -> str:
    """Read git's answer to a move: empty if the move succeeded, or git's message if git refused it and ended."""
    words, steps = b"", 3
    while steps:
        line = answer.readline()
        if line.endswith(b": ok\n"):
            steps -= 1
        elif line:
            words += line
        elif words:
            return readable(words)
        else:
            raise EOFError("cut off")
    return ""


def find_checkout(repository: Repository, branch: str) -> str | None:
    """Return where a branch is checked out, is being rebased or is being bisected; None if the branch may be moved."""
    checkout = repository.git("for-each-ref", "--format=%(worktreepath)", branch).text
    if checkout:
        return checkout
    places = [repository.common, *sorted(repository.common.glob("worktrees/*"))]
    for file in (folder / name for folder in places for name in _IN_PROGRESS):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if {branch, branch.removeprefix("refs/heads/")} & set(file.read_text().splitlines()):
                return f"a rebase or bisect in progress ({file})"
    return None
