"""Landed tasks and the services that revert them, over a real store, real repositories and a real suite."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nightshift.app.services import make_git
from nightshift.app.store import StoreServices, open_store
from nightshift.attempt.revert import CommitServices, Reverter
from nightshift.attempt.verify import OpenedSuite as Suites
from nightshift.config.load import load_settings
from nightshift.core.clock import utc_now
from nightshift.core.events import Event, Kind
from nightshift.core.ports import Suite
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Change, Limits
from nightshift.git.manager import GitManager
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.state_store import Commit as Entry
from nightshift.verdict.runner import SuiteRunner
from tests.support.counting import Counting
from tests.support.sandboxes import bubblewrap, runtime

CALC = "def add(a, b):\n    return a + b\n"
TEST_CALC = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
SUMS = "from calc import add\n\n\ndef total(items):\n    return add(*items)\n"
TEST_SUMS = "from sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
OTHER = "def shout(text):\n    return text.upper()\n"
TEST_OTHER = "from other import shout\n\n\ndef test_shout():\n    assert shout('a') == 'A'\n"


class Site:
    """A home's store and repositories with a reverter over them.

    A test sets `why_not` to make the suite unavailable.
    """

    def __init__(self, store: StoreServices, git: GitManager, suite: Suite) -> None:
        self.store, self.git, self.suite = store, git, Counting(suite)
        self.ledger = CommitLedger(store.db, store.events)
        self.why_not = ""
        services = CommitServices(
            git=git,
            queue=store.queue,
            state=store.state,
            steps=store.steps,
            events=store.events,
            ledger=self.ledger,
            limits=Limits(suite_s=60, memory_mb=512),
            open_suite=self.open_suite,
            merge_locks=defaultdict(asyncio.Lock),
        )
        self.undo = Reverter(services)

    async def open_suite(self) -> Suites:
        """Return the suite, or the reason `why_not` if a test has set it."""
        return Suites(suite=None, why_not=self.why_not) if self.why_not else Suites(suite=self.suite)

    def land(
        self, change: Change, *, repo: Path | None = None, base: str | None = None,
        integrated: bool = True, target: str | None = None,
    ) -> Entry:  # fmt: skip
        """Commit a change as the next task, integrate it, and record it in the ledger."""
        where = str(repo) if repo else None
        spec = parse_spec({"description": f"change {', '.join(change)}", "repo": where, "base": base})
        number = self.store.queue.submit(spec).result().task_id
        task = self.store.queue.get(number)
        workspace = self.git.open(where, base, number, spec.description, task.created_at)
        commit = self.git.commit(workspace, workspace.base, change, _message(number))
        assert commit
        if integrated:
            assert self.git.advance(workspace, commit, workspace.base)
        entry = Entry(
            task_id=number, attempt=1, repo=str(workspace.repo), branch=commit.branch, commit=commit.id,
            base=commit.parent, subject=f"Task {number}", label="tests_passed", integrated=integrated,
            target=((workspace.target or "") if integrated else "") if target is None else target,
        )  # fmt: skip
        self.store.state.record_commit(entry).result()
        return entry

    def entry(self, task_id: int) -> Entry:
        """Return the ledger's newest entry of a task."""
        return self.ledger.page(1, task_id=task_id)[0]

    def workspace(self, task_id: int = 1, repo: Path | None = None, base: str | None = None) -> Workspace:
        return self.git.open(str(repo) if repo else None, base, task_id, "x")

    def files(self, repo: Path | None = None, base: str | None = None) -> set[str]:
        """Return the paths at the branch's tip."""
        workspace = self.workspace(repo=repo, base=base)
        return set(self.git.tree(workspace, self.git.tip(workspace)).entries())

    def reverts(self) -> list[Event]:
        """List the events about reverts."""
        return [event for event in self.store.events.last(200) if event.kind is Kind.REVERTED]


def _message(number: int) -> CommitMessage:
    return CommitMessage(subject=f"Task {number}", trailers={"Task": str(number), "Model": "m", "Iterations": "1"})


@contextmanager
def open_site(home: Path) -> Iterator[Site]:
    """Open a home without a daemon's services; its suite starts a new sandbox for each run."""
    settings = load_settings({"git_auto_push": False}, home)
    with ExitStack() as stack:
        store = open_store(settings, stack)
        git = make_git(settings, store, utc_now)
        stack.callback(git.close)
        yield Site(
            store, git, SuiteRunner(bubblewrap(), runtime(), emit=store.events.emit, staging_dir=home / "staging")
        )
