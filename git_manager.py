"""The only user of git: hands out trees without a checkout, writes commits by plumbing, integrates by compare-and-swap.

The owner's checkout, index, stash, configuration and branches are never touched. To be sure of that, no command that
deals with content runs in his repository at all: it runs in a *view*, a folder of ours that git takes for a repository
with no configuration, no hooks, no attributes and no references, and that borrows only the object store. What a view
cannot do is move references; those few commands run in the repository itself, under settings that overrule everything
that could start a program (core/git_protocol.py). A commit is one stream into fast-import and one update-ref, so its
cost grows neither with the size of the repository nor with its history.

Every method blocks and may be called from any thread; coroutines go through `asyncio.to_thread`.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from core import git_protocol as protocol
from core.clock import Clock, utc_now
from core.commit_message import CommitMessage, slug, task_of
from core.errors import GitError, MergeConflict
from core.events import Event, Kind, Level
from core.git_objects import RawCommit, Record, edits_for, find, flatten, is_text, parse_commit, person
from core.masking import printable
from core.ports import Sink, Tree
from core.revisions import Author, Commit, LogLine, PushResult, Workspace
from core.tasks import Change

__all__ = ["Author", "Commit", "GitManager", "GitTree", "LogLine", "PushResult", "Workspace"]

MAIN = "refs/heads/main"
NOTES = "refs/notes/nightshift"
TRIES = 50
"""How often a compare-and-swap that others keep winning is tried again before it is an error."""
_PERSON = ("name", "email")
NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({"PATH": os.defpath})


@dataclass(frozen=True, slots=True)
class _Answer:
    code: int
    out: bytes
    error: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace").strip()


class _Git:
    """Runs git commands with one folder as the repository, whatever folder the daemon is in."""

    def __init__(
        self, folder: Path, env: Mapping[str, str], settings: Sequence[str] = protocol.SETTINGS, cwd: Path | None = None
    ) -> None:
        self.folder = folder
        self._env = {**env, "GIT_DIR": str(folder)}
        self._settings, self._cwd = settings, cwd or folder

    def over(self, cwd: Path, **env: str) -> _Git:
        """The same at work in a folder, with more variables in its environment."""
        return _Git(self.folder, {**self._env, **env}, self._settings, cwd)

    def __call__(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> _Answer:
        """Run a command that must succeed.

        Raises:
            GitError: it did not, or not in time.
        """
        answer = self.ask(*args, stdin=stdin, timeout_s=timeout_s)
        if answer.code:
            raise GitError(f"git {args[0]} failed: {answer.error or f'exit code {answer.code}'}")
        return answer

    def ask(self, *args: str, stdin: bytes = b"", timeout_s: float = 120.0) -> _Answer:
        """Run a command whose failure is an answer too."""
        with self.start(*args) as process:
            try:
                out, error = process.communicate(stdin, timeout=timeout_s)
            except BaseException as failure:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(failure, subprocess.TimeoutExpired):
                    raise GitError(f"git {args[0]} did not end within {timeout_s:g} s and was stopped") from None
                raise
        return _Answer(process.returncode, out, protocol.without_password(printable(error[-2000:]).strip()))

    def start(self, *args: str, quiet: bool = False) -> subprocess.Popen[bytes]:
        """Start git in a session of its own: it has no terminal to ask on, and its children can be ended with it."""
        try:
            return subprocess.Popen(
                ["git", *self._settings, *args],
                cwd=self._cwd,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if quiet else subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise GitError(f"git could not be started in {self.folder}: {error.strerror}") from None


class _Reader:
    """Reads objects through one `cat-file` that stays open, one question at a time."""

    def __init__(self, git: _Git) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._trees: dict[str, bytes] = {}

    def get(self, id_: str) -> tuple[str, bytes]:
        """An object's type and bytes; a `cat-file` that died is started again once.

        Raises:
            KeyError: the repository does not have it.
        """
        with self._lock:
            for last in (False, True):
                try:
                    return self._asked(id_)
                except (OSError, EOFError) as error:
                    self._stop()
                    if last:
                        raise GitError(f"git cat-file ended in {self._git.folder}: {error}") from error
        raise AssertionError("the loop above returns or raises")

    def tree(self, id_: str) -> bytes:
        """A tree object's bytes; trees recur from commit to commit, so the last few thousand are kept."""
        known = self._trees.get(id_)
        if known is None:
            if len(self._trees) > 4096:
                self._trees.clear()
            known = self._trees[id_] = self.get(id_)[1]
        return known

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            self._stop()

    def _asked(self, id_: str) -> tuple[str, bytes]:
        if self._process is None:
            self._process = self._git.start("cat-file", "--batch", quiet=True)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(id_.encode() + b"\n")
        stdin.flush()
        head = stdout.readline().split()
        if len(head) != 3:
            if not head:
                raise EOFError("no answer")
            raise KeyError(id_)
        data = stdout.read(int(head[2]) + 1)
        if len(data) != int(head[2]) + 1:
            raise EOFError("cut off")
        return head[1].decode(), data[:-1]

    def _stop(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.communicate()


class GitTree:
    """The files of one commit, read from git's objects (core.ports.Tree).

    `entries` has the regular files with names in UTF-8. Links, submodules and other names are in `records` alone: no
    suite sees them, and every commit keeps them.
    """

    def __init__(self, commit: str, tree: str, reader: _Reader) -> None:
        self.id = tree
        self._commit, self._reader = commit, reader
        self._records: Mapping[str, Record] | None = None
        self._entries: Mapping[str, str] | None = None

    @property
    def commit(self) -> str:
        """Full id of the commit."""
        return self._commit

    @property
    def records(self) -> Mapping[str, Record]:
        """Everything below the tree, sorted by path."""
        if self._records is None:
            self._records = flatten(self.id, self._reader.tree)
        return self._records

    def entries(self) -> Mapping[str, str]:
        """Path to the id of its content, for each regular file, in path order."""
        if self._entries is None:
            plain = {path: r.id for path, r in self.records.items() if r.regular and is_text(path)}
            self._entries = MappingProxyType(plain)
        return self._entries

    def read(self, path: str) -> bytes:
        """A file's bytes.

        Raises:
            KeyError: there is no such file.
        """
        return self._reader.get(self.entries()[path])[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repository:
    """One repository: `git` works in it and sees its references, `view` sees nothing but its objects."""

    root: Path
    common: Path
    is_own: bool
    author: Author
    git: _Git
    view: _Git
    reader: _Reader
    trees: dict[str, GitTree] = field(default_factory=dict)

    def tree(self, commit: str) -> GitTree:
        """The tree of a commit by its full id; the last few are kept. Raises GitError when there is no such commit."""
        known = self.trees.get(commit) or GitTree(commit, self.read_commit(commit).tree, self.reader)
        if commit not in self.trees and len(self.trees) >= 16:
            self.trees.clear()
        return self.trees.setdefault(commit, known)

    def read_commit(self, commit: str) -> RawCommit:
        """A commit by its full id; raises GitError when there is no such commit."""
        try:
            kind, raw = self.reader.get(commit)
        except KeyError:
            raise GitError(f"commit {commit} is not in {self.root}") from None
        if kind != "commit":
            raise GitError(f"{commit} in {self.root} is a {kind}, not a commit")
        return parse_commit(raw)

    def resolve(self, *names: str) -> list[str | None]:
        """The full id of the commit each name stands for, None where there is none. Names are data, not options."""
        lines = "".join(f"{name}^{{commit}}\n" for name in names).encode("utf-8", "surrogateescape")
        answers = self.git("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=lines).text.split("\n")
        return [line.split()[0] if line.endswith(" commit") else None for line in answers]

    def write_commit(self, commit: RawCommit) -> str:
        """Store a commit of an existing tree; gives its id."""
        return self.view("hash-object", "-t", "commit", "-w", "--stdin", stdin=commit.encode()).text

    def fast_import(self, stream: bytes) -> str:
        """Store what a stream of `core.git_protocol.import_stream` holds; gives the commit's id."""
        return self.view("fast-import", "--quiet", "--done", stdin=stream).text

    def move(self, *moves: tuple[str, str, str | None], reflog: bool = True) -> str:
        """Move references (full name, new id, old id or None) together, each only from where it is expected.

        Gives what git said when one of them was elsewhere or locked, and none was moved; "" when all moved.
        """
        text = "".join(f"option no-deref\nupdate {name} {new} {old or '0' * len(new)}\n" for name, new, old in moves)
        log = () if reflog else ("-c", "core.logAllRefUpdates=false")
        answer = self.git.ask(*log, "update-ref", "-m", "nightshift", "--stdin", stdin=text.encode())
        return answer.error or "refused" if answer.code else ""


class GitManager:
    """Repositories, by the few verbs that an attempt needs.

    Args:
        workspace: the daemon's own repository, created on first use.
        author: who stands in the commits.
        auto_push: whether `push` does anything.
        emit: takes events about pushing and about the workspace's files.
        clock: dates the commits.
        environ: the daemon's environment. PATH is passed on to git, and to a push what finds the owner's credentials.
    """

    def __init__(
        self,
        *,
        workspace: Path,
        author: Author,
        auto_push: bool,
        emit: Sink,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = NO_ENVIRONMENT,
    ) -> None:
        self._workspace = workspace.resolve()
        self._author, self._auto_push, self._emit, self._clock = author, auto_push, emit, clock
        self._private, self._personal = protocol.private_environment(environ), protocol.push_environment(environ)
        home = Path(environ.get("HOME", "/nonexistent"))
        xdg = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        self._user_config = (Path("/etc/gitconfig"), xdg / "git" / "config", home / ".gitconfig")
        self._lock = threading.Lock()
        self._known: dict[Path, _Repository] = {}
        self._following, self._behind = threading.Lock(), threading.Event()
        self._left: str | None = None

    def doctor(self) -> str:
        """Say which git is used.

        Raises:
            GitError: there is none, or it is too old.
        """
        answer = _Git(Path("/"), self._private)("--version").text
        if protocol.version_of(answer) < protocol.OLDEST:
            need = ".".join(map(str, protocol.OLDEST))
            raise GitError(f"{answer} is too old: version {need} or later is needed to merge without a checkout")
        return answer

    def close(self) -> None:
        """End the processes that read objects; whoever reads after that starts one again."""
        with self._lock:
            self._forget()

    def open(
        self, repo: str | None, base: str | None, task_id: int, description: str, created_at: datetime | None = None
    ) -> Workspace:
        """Find where a task works. Nothing is written, except that the daemon's own repository is made on first use.

        Args:
            repo: a checkout, a linked worktree or a folder in one; None is the daemon's own repository.
            base: a branch, tag or commit to start from; None is what is checked out there.
            task_id: goes into the branch's name and the trailers.
            description: the branch's name is taken from it.
            created_at: when the task was created; tells its commits from those of an older database's same number.

        Raises:
            GitError: one of these cannot be used; the message names the field and how to mend it.
        """
        found = self._repository(repo)
        commit, target = _base(found, base)
        tree = found.tree(commit)
        if repo is not None:
            _refuse_submodule_folder(Path(repo).expanduser().resolve(), found.root, tree)
        return Workspace(
            repo=found.root,
            git_dir=found.git.folder,
            is_own=found.is_own,
            task_id=task_id,
            base=commit,
            target=target,
            branch=f"agent/{task_id}-{slug(description)}",
            tree=tree,
            since=created_at,
        )

    def at(self, workspace: Workspace, commit: str) -> Workspace:
        """The same workspace on another base commit."""
        return replace(workspace, base=commit, tree=self.tree(workspace, commit))

    def tree(self, where: Workspace | str | None, commit: str) -> Tree:
        """The files of a commit, by its full id."""
        return self._repository(where).tree(commit)

    def resolve(self, where: Workspace | str | None, name: str) -> str:
        """The full id of the commit that a branch, a tag or a shortened id stands for.

        Raises:
            GitError: there is none.
        """
        if "\n" not in name and (found := self._repository(where).resolve(name)[0]):
            return found
        raise GitError(f"there is no commit {name!r}")

    def commit(self, workspace: Workspace, parent: str, change: Change, message: CommitMessage) -> Commit | None:
        """Commit a change on top of `parent`, on the task's branch; None when it changes nothing.

        Only the paths of the change differ from the parent. A branch of that name that is not this task's, or that
        somebody has checked out, is left alone, and the name gets a number.

        Raises:
            GitError: a path may not be written, or git failed.
        """
        found = self._repository(workspace)
        edits = edits_for(change, found.tree(parent).records)
        if not edits:
            return None
        text = message.text().encode()
        made = found.fast_import(
            protocol.import_stream(
                edits, parent=parent, committer=self._signature(found), message=text, id_chars=len(parent)
            )
        )
        branch = self._attach(found, workspace, made)
        return Commit(id=made, tree=found.read_commit(made).tree, branch=branch, parent=parent)

    def tip(self, workspace: Workspace) -> str:
        """Where the target is now.

        Raises:
            GitError: the base was no branch, or the branch is gone.
        """
        name = workspace.target
        if name and (tip := self._repository(workspace).resolve(name)[0]):
            return tip
        raise GitError(f"{name} is gone from {workspace.repo}" if name else "the base is no branch that could be moved")

    def rebase(self, workspace: Workspace, commit: Commit, tip: str) -> Commit:
        """The same change on top of `tip`, as a new commit on no branch yet.

        The merge is told by a stand-in commit (the tip's tree on the change's parent) that the change's parent is the
        base, so it is exact and quick even where the target's history was rewritten.

        Raises:
            MergeConflict: both changed the same lines; the message shows them.
        """
        found = self._repository(workspace)
        ours, theirs = found.read_commit(commit.id), found.read_commit(tip)
        stand_in = found.write_commit(replace(theirs, parents=(commit.parent,)))
        answer = found.view.ask("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", stand_in, commit.id)
        if answer.code not in {0, 1}:
            raise GitError(f"git merge-tree failed: {answer.error}")
        merged = protocol.parse_merge(answer.out)
        if answer.code == 1:
            raise _conflict(found, merged, {stand_in: "the newer work", commit.id: "this change"})
        new = replace(ours, tree=merged.tree, parents=(tip,), committer=self._signature(found))
        return replace(commit, id=found.write_commit(new), tree=merged.tree, parent=tip)

    def blocked(self, workspace: Workspace) -> str | None:
        """Say why the target may not be moved, or None when it may.

        A branch that the owner has checked out is never moved: his files and his index would look as if he had undone
        the commit. The daemon's own repository is the exception; its files follow.
        """
        if workspace.target is None:
            return "the base is no branch that could be moved"
        if workspace.is_own:
            return None
        place = _checked_out(self._repository(workspace), workspace.target)
        name = workspace.target.removeprefix("refs/heads/")
        return place and f"{name} is checked out in {place}; it was left alone, take the work with `git merge`"

    def advance(self, workspace: Workspace, candidate: Commit, expected_tip: str) -> bool:
        """Move the target from `expected_tip` to the candidate, with the task's branch; False: it moved meanwhile.

        Raises:
            GitError: the target may not be moved (see `blocked`), or git failed.
        """
        if why := self.blocked(workspace):
            raise GitError(why)
        found, target, branch = self._repository(workspace), workspace.target or "", f"refs/heads/{candidate.branch}"
        for _ in range(TRIES):
            tip, held = found.resolve(target, branch)
            if tip != expected_tip:
                return False
            moves = [(target, candidate.id, expected_tip)]
            if held and held != candidate.id and self._may_move(found, branch, held, workspace):
                moves.append((branch, candidate.id, held))
            if not (refused := found.move(*moves)):
                self._follow(found, target, expected_tip)
                return True
        raise GitError(f"{target} could not be moved: {refused}")

    def find_commit(self, workspace: Workspace, task_id: int) -> Commit | None:
        """The task's commit: on its branch, or else in the target's history; None when it made none."""
        found = self._repository(workspace)
        pattern = f"refs/heads/agent/{task_id}-*"
        for line in found.git("for-each-ref", "--format=%(objectname) %(refname)", pattern).text.splitlines():
            id_, _, name = line.partition(" ")
            if self._is_ours(found, id_, workspace):
                return _described(found, id_, name.removeprefix("refs/heads/"))
        if workspace.target and (tip := found.resolve(workspace.target)[0]):
            since = (f"--since={int(workspace.since.timestamp()) - 1}",) if workspace.since else ()
            grep = ("log", "--format=%H", "--fixed-strings", f"--grep=Task: {task_id}", *since, tip)
            for id_ in found.view(*grep).text.split():
                if self._is_ours(found, id_, workspace):
                    return _described(found, id_, workspace.branch)
        return None

    def contains(self, workspace: Workspace, commit: Commit) -> bool:
        """Tell whether the target holds the commit."""
        found = self._repository(workspace)
        answer = found.view.ask("merge-base", "--is-ancestor", commit.id, self.tip(workspace))
        if answer.code not in {0, 1}:
            raise GitError(f"git merge-base failed: {answer.error}")
        return answer.code == 0

    def note(self, where: Workspace | str | None, commit: str, text: str) -> None:
        """Store a text beside a commit, in the place of an earlier one (`git log --notes=nightshift` shows it).

        Notes are spread over 256 folders from the start, so that the thousandth costs what the first did.
        """
        found = self._repository(where)
        edits = protocol.note_edits(commit, text)
        for _ in range(TRIES):
            tip = found.resolve(NOTES)[0]
            stream = protocol.import_stream(
                edits, parent=tip, committer=self._signature(found), message=b"Evidence\n", id_chars=len(commit)
            )
            if not (refused := found.move((NOTES, found.fast_import(stream), tip), reflog=False)):
                return
        raise GitError(f"the note on {commit} could not be stored: {refused}")

    def read_note(self, where: Workspace | str | None, commit: str) -> str | None:
        """What `note` stored beside a commit (full id)."""
        found = self._repository(where)
        tip = found.resolve(NOTES)[0]
        root = found.read_commit(tip).tree if tip else None
        for path in protocol.note_paths(commit):
            if root and (blob := find(root, path, found.reader.tree)):
                return found.reader.get(blob)[1].decode("utf-8", "replace")
        return None

    def push(self, workspace: Workspace, branch: str, timeout_s: float = 60.0) -> PushResult:
        """Push a branch (short name) where pushing is on and there is a remote. Never forces, never raises.

        The push starts from the view with the owner's own configuration, so his credentials work and the repository's
        configuration does not; only the remote's address is taken from it. Remote-tracking branches stay as they are.
        """
        try:
            result = self._pushed(workspace, branch, timeout_s)
        except GitError as error:
            result = PushResult(pushed=False, tried=True, detail=str(error))
        if result.tried:
            kind, level = (Kind.PUSHED, Level.INFO) if result.pushed else (Kind.PUSH_FAILED, Level.WARNING)
            self._emit(Event(kind=kind, level=level, task_id=workspace.task_id, message=result.detail))
        return result

    def diff_text(self, where: Workspace | str | None, old: str, new: str, paths: Sequence[str] = ()) -> str:
        """The unified diff between two commits, of some paths or all; attributes cannot hide a file from it."""
        found = self._repository(where)
        ids = [self.resolve(where, name) for name in (old, new)]
        plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--text", "--find-renames")
        return found.view("diff-tree", "-r", "-p", *plain, *ids, "--", *paths).out.decode("utf-8", "replace")

    def recent_commits(self, where: Workspace | str | None, limit: int, name: str = "HEAD") -> tuple[LogLine, ...]:
        """The newest commits that a branch or commit reaches, newest first."""
        form = "--format=%H%x1f%ct%x1f%an%x1f%B"
        start = self.resolve(where, name)
        text = self._repository(where).view("log", "-z", f"--max-count={limit}", form, start).text
        return tuple(protocol.log_line(entry) for entry in text.split("\0") if entry)

    def _repository(self, where: Workspace | str | None) -> _Repository:
        with self._lock:
            own = self._own()
            if where is None or (isinstance(where, Workspace) and where.is_own):
                return own
            if isinstance(where, Workspace):
                return self._known.get(where.git_dir) or self._opened(where.repo)
            return self._opened(_given(where))

    def _own(self) -> _Repository:
        """The daemon's own repository; made, or made again, where it is not there."""
        folder = self._workspace / ".git"
        if not (folder / "HEAD").exists():
            self._forget()
            self.doctor()
            self._workspace.mkdir(parents=True, exist_ok=True)
            _Git(folder, self._private, cwd=self._workspace)("init", "--quiet", "--template=", "--initial-branch=main")
        if known := self._known.get(folder):
            return known
        found = self._opened(self._workspace)
        if found.resolve(MAIN) == [None]:
            first = protocol.import_stream([], parent=None, committer=self._signature(found), message=b"Begin\n")
            if (refused := found.move((MAIN, found.fast_import(first), None))) and found.resolve(MAIN) == [None]:
                raise GitError(f"the workspace {self._workspace} could not be begun: {refused}")
        return found

    def _opened(self, path: Path) -> _Repository:
        place = _discovered(path, self._user_config)
        if place.bare:
            raise GitError(f"repo: {place.root} is a bare repository; give a checkout of it")
        if known := self._known.get(place.folder):
            return known
        view = _Git(self._view(place), {
            **self._private,
            "GIT_OBJECT_DIRECTORY": str(place.common / "objects"),
            "GIT_SHALLOW_FILE": str(place.common / "shallow"),
        })  # fmt: skip
        found = _Repository(
            root=place.root,
            common=place.common,
            is_own=place.folder == self._workspace / ".git",
            author=self._author.over(place.author),
            git=_Git(place.folder, self._private),
            view=view,
            reader=_Reader(view),
        )
        self._known[place.folder] = found
        return found

    def _view(self, place: _Place) -> Path:
        """The folder that stands for a repository without configuration; made once, harmless to make again."""
        name = sha256(os.fsencode(place.common)).hexdigest()[:16]
        view = self._workspace / ".git" / "nightshift" / "views" / name
        if not (view / "HEAD").exists():
            for folder in ("objects", "refs", "info"):
                (view / folder).mkdir(parents=True, exist_ok=True)
            for file, text in protocol.view_files(place.id_format).items():
                (view / file).write_text(text)
        return view

    def _forget(self) -> None:
        for repository in self._known.values():
            repository.reader.close()
        self._known.clear()

    def _signature(self, found: _Repository) -> bytes:
        return person(found.author.name or "", found.author.email or "", self._clock())

    def _attach(self, found: _Repository, workspace: Workspace, made: str) -> str:
        """Put a commit on the task's branch, or on the first numbered one that is free; gives the branch's name."""
        for number in range(1, TRIES):
            name = workspace.branch if number == 1 else f"{workspace.branch}-{number}"
            full = f"refs/heads/{name}"
            refused = found.move((full, made, None))
            held = found.resolve(full)[0] if refused else None
            if refused and held is None:
                break
            if held is None or (self._may_move(found, full, held, workspace) and not found.move((full, made, held))):
                return name
        raise GitError(f"branch {workspace.branch} could not be made: {refused}")

    def _may_move(self, found: _Repository, branch: str, held: str, workspace: Workspace) -> bool:
        return self._is_ours(found, held, workspace) and not _checked_out(found, branch)

    def _is_ours(self, found: _Repository, commit: str, workspace: Workspace) -> bool:
        """Tell whether this task made the commit. Git's times have no fractions of a second."""
        raw = found.read_commit(commit)
        young = workspace.since is None or raw.committed_at >= workspace.since.replace(microsecond=0)
        return young and task_of(raw.message.decode("utf-8", "replace")) == workspace.task_id

    def _pushed(self, workspace: Workspace, branch: str, timeout_s: float) -> PushResult:
        found = self._repository(workspace)
        url = _remote_url(found.common) if self._auto_push else None
        if not url:
            why = "there is no remote to push to" if self._auto_push else "pushing is switched off"
            return PushResult(pushed=False, tried=False, detail=why)
        name = f"refs/heads/{branch}"
        id_ = found.resolve(name)[0]
        if fault := protocol.url_fault(url) or (None if id_ else f"there is no branch {branch}"):
            raise GitError(f"{branch} was not pushed: {fault}")
        env = {**self._personal, "GIT_OBJECT_DIRECTORY": str(found.common / "objects")}
        git = _Git(found.view.folder, env, protocol.PUSH_SETTINGS, cwd=found.root)
        other_end = (f"--receive-pack={protocol.RECEIVE_PACK}",) if protocol.is_local(url) else ()
        answer = git.ask("push", *protocol.PUSH_OPTIONS, *other_end, "--", url, f"{id_}:{name}", timeout_s=timeout_s)
        where = protocol.without_password(url)
        if answer.code:
            raise GitError(f"{branch} was not pushed to {where}: {answer.error or answer.text}")
        return PushResult(pushed=True, tried=True, detail=f"{branch} is on {where}")

    def _follow(self, found: _Repository, target: str, before: str) -> None:
        """Bring the files of the daemon's own repository to the tip, for whoever looks there.

        Whoever finds another thread at it leaves the work to that one, which looks again before it ends.
        """
        if not found.is_own or target != MAIN:
            return
        self._behind.set()
        while self._behind.is_set() and self._following.acquire(blocking=False):
            try:
                self._behind.clear()
                why = _show_tip(found, before)
            except (GitError, OSError) as error:
                why = str(error)
            finally:
                self._following.release()
            if why and why != self._left:
                text = f"the files in {found.root} stay as they are: {why}"
                self._emit(Event(kind=Kind.CHECKOUT_LEFT, level=Level.WARNING, message=text))
            self._left = why


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a checkout's repository is: `folder` is git's for this checkout, `common` the one all worktrees share."""

    root: Path
    folder: Path
    common: Path
    bare: bool
    id_format: str
    author: Author


def _given(repo: str) -> Path:
    path = Path(repo).expanduser()
    if not path.is_absolute():
        raise GitError(f"repo: {repo} must be an absolute path")
    if not path.is_dir():
        raise GitError(f"repo: there is no folder {path}")
    return path.resolve()


def _discovered(path: Path, user_config: Sequence[Path]) -> _Place:
    """Find the repository that a folder belongs to.

    GitPython resolves `.git` and reads the configuration; its own idea of the shared folder and of the work tree is
    not used, because variables of the daemon's environment and the repository's `core.worktree` may redirect it.
    """
    import git  # noqa: PLC0415  GitPython takes a tenth of a second to import and starts git

    root = next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), path)
    try:
        with git.Repo(root, expand_vars=False) as repo:
            folder = Path(repo.git_dir).resolve()
        pointer = folder / "commondir"
        common = (folder / pointer.read_text().strip()).resolve() if pointer.exists() else folder
        # A hostile repository may include a file that never ends; the owner's own files may include what they like.
        local = git.GitConfigParser(common / "config", merge_includes=False)
        owners = git.GitConfigParser(list(user_config))
        names = [(local.get("user", n, fallback="") or owners.get("user", n, fallback="")) for n in _PERSON]
        return _Place(
            root=root,
            folder=folder,
            common=common,
            bare=root == folder,
            id_format=local.get("extensions", "objectFormat", fallback="") or "sha1",
            author=Author(name=names[0] or "Nightshift", email=names[1] or "nightshift@localhost"),
        )
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        raise GitError(f"repo: {path} is not in a git repository; run `git init` there and commit once") from None
    except (configparser.Error, ValueError, OSError) as error:
        raise GitError(f"repo: the configuration of {root} cannot be read: {error}") from error


def _remote_url(common: Path) -> str | None:
    """Where to push: the remote that the configuration prefers, else origin, else the only one."""
    import git  # noqa: PLC0415  see _discovered

    config = git.GitConfigParser(common / "config", merge_includes=False)
    remotes = [name[8:-1] for name in config.sections() if name.startswith('remote "')]
    only = remotes[0] if len(remotes) == 1 else "origin"
    section = f'remote "{config.get("remote", "pushDefault", fallback="") or only}"'
    return config.get(section, "pushurl", fallback="") or config.get(section, "url", fallback="") or None


def _base(found: _Repository, base: str | None) -> tuple[str, str | None]:
    """The commit a task starts from, and the branch it is the tip of."""
    head = MAIN if found.is_own else found.git.ask("symbolic-ref", "--quiet", "HEAD").text
    name = base.removeprefix("refs/heads/") if base else head.removeprefix("refs/heads/")
    if "\n" in name:
        raise GitError("base: must be one line")
    branch, other, clash = found.resolve(f"refs/heads/{name or '@'}", base or "HEAD", "refs/heads/agent")
    if clash:
        raise GitError(f"repo: {found.root} has a branch named agent, so agent/… cannot be made; rename it")
    if branch:
        return branch, f"refs/heads/{name}"
    if other:
        return other, None
    if base:
        raise GitError(f"base: there is no branch, tag or commit {base!r} in {found.root}")
    raise GitError(f"repo: {found.root} has no commit yet; make a first one")


def _refuse_submodule_folder(given: Path, root: Path, tree: GitTree) -> None:
    """A submodule that is not checked out is an empty folder of the repository around it, which nobody meant."""
    for folder in (given, *given.parents):
        if folder.is_relative_to(root) and folder != root:
            record = tree.records.get(folder.relative_to(root).as_posix())
            if record and record.mode == "160000":
                raise GitError(
                    f"repo: {folder} is a submodule that is not checked out; run `git submodule update --init`"
                )


def _checked_out(found: _Repository, branch: str) -> str | None:
    """Where a branch is checked out, or being rebased or bisected; None where it may be moved."""
    place = found.git("for-each-ref", "--format=%(worktreepath)", branch).text
    if place:
        return place
    for folder in (found.common, *sorted(found.common.glob("worktrees/*"))):
        for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if (folder / name).read_text().strip().removeprefix("refs/heads/") == branch.removeprefix(
                    "refs/heads/"
                ):
                    return f"a rebase or bisect that is going on ({folder / name})"
    return None


def _described(found: _Repository, id_: str, branch: str) -> Commit:
    raw = found.read_commit(id_)
    return Commit(id=id_, tree=raw.tree, branch=branch, parent=raw.parents[0] if raw.parents else "")


def _conflict(found: _Repository, merged: protocol.MergeAnswer, names: Mapping[str, str]) -> MergeConflict:
    """The conflict in words for a model: which files, and the lines in question."""
    parts = [f"newer work conflicts with this change in {', '.join(merged.conflicts)}"]
    for path in merged.conflicts[:3]:
        blob = find(merged.tree, path, found.reader.tree)
        text = found.reader.get(blob)[1].decode("utf-8", "replace") if blob else ""
        for id_, name in names.items():
            text = text.replace(id_, name)
        if excerpt := protocol.conflict_excerpt(text):
            parts.append(f"{path}:\n{excerpt}")
    return MergeConflict(merged.conflicts, "\n\n".join(parts))


def _show_tip(found: _Repository, before: str) -> str | None:
    """Take the files of the daemon's own repository from the tip shown last to that of main; gives the reason why not.

    `git apply --index` changes nothing at all unless index and file hold just what the patch expects at every path it
    touches, so whatever a visitor edits is safe; and its cost is that of the change, not of the repository. Where a
    visitor committed himself, the start is the commit that his index holds. The commands run in the view, on the
    repository's index and files.
    """
    if (found.common / "HEAD").read_text().strip() != f"ref: {MAIN}":
        return "another branch is checked out there"
    marker, tip = found.common / "nightshift" / "shown", found.resolve(MAIN)[0] or ""
    files = found.view.over(found.root, GIT_INDEX_FILE=str(found.common / "index"), GIT_WORK_TREE=str(found.root))
    refused = _applied(found, files, marker.read_text() if marker.exists() else before, tip)
    if refused:
        files.ask("update-index", "-q", "--refresh")
        start = _indexed(files, tip)
        refused = _applied(found, files, start, tip) if start else refused
    if not refused:
        marker.write_text(tip)
    return refused or None


def _applied(found: _Repository, files: _Git, start: str, tip: str) -> str:
    answer = found.view.ask("diff-tree", "-r", "-p", "--binary", "--no-renames", start, tip)
    if answer.out and not answer.code:
        answer = files.ask("apply", "--index", "--whitespace=nowarn", stdin=answer.out)
    return answer.error or "refused" if answer.code else ""


def _indexed(files: _Git, tip: str) -> str | None:
    """The newest commit whose tree is what the index holds."""
    tree = files.ask("write-tree").text
    lines = files("log", "--max-count=1000", "--format=%H %T", tip).text.splitlines()
    return next((line.split()[0] for line in lines if line.endswith(f" {tree}")), None) if tree else None
