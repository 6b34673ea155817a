"""Verifying commits again, one at a time: the progress of a verification, the ways it ends, and its stored result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt import evidence
from nightshift.attempt.integration import Integration, Landed
from nightshift.attempt.regression import WithRegression
from nightshift.attempt.verify import Judgement, OpenedSuite, Verification
from nightshift.attempt.verifying import KEPT_CHARS, UnderWay, Verified, Verifying
from nightshift.core.clock import utc_now
from nightshift.core.errors import NotVerified
from nightshift.core.events import Emitter, Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.state_store import Commit
from nightshift.verdict.held.holding import hold
from tests.support.services import Opened, open_services

ADD = {"calc.py": "def add(a, b):\n    return a + b\n"}
TESTS = {"test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}


@dataclass
class Site:
    """A home with two commits, whose verification waits before the test run until `gate` is set."""

    rooms: Opened
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def verifying(self) -> Verifying:
        """Return the verification slot of a daemon that has just started."""
        key = evidence.read_key(self.rooms.settings.seal_file)

        def opened(repo: str) -> Verification:
            return Verification(self.rooms.parts.git, repo, self._suite, key)

        return Verifying(opened, self.rooms.store.events, asyncio.get_running_loop(), utc_now)

    async def _suite(self) -> OpenedSuite:
        await self.gate.wait()
        return OpenedSuite(suite=self.rooms.parts.suite)

    async def landed(self, number: int) -> Commit:
        """Judge and land a task's work as the daemon does; return its row in the ledger."""
        parts = self.rooms.parts
        spec = parse_spec({"description": f"task {number}", "tests": TESTS if number == 1 else {}})
        self.rooms.store.queue.submit(spec).result()
        task = Task(id=number, spec=spec, status=Status.RUNNING, created_at=utc_now(), attempt=1)
        workspace = parts.git.open(None, None, number, spec.description, task.created_at)
        change = ADD if number == 1 else {"more.py": "MORE = 1\n"}
        held = hold(spec, (), 0.25)
        job = SuiteJob(base=workspace.tree, change=change, given=spec.tests, held=held)
        verdict = await WithRegression(parts.suite, parts.imports).judge(job)
        state = AttemptState(
            phase=Phase.COMMIT, base=workspace.base, change=change, verdict=verdict, iteration=1, models=("m",),
            summary="Do it",
        )  # fmt: skip
        end = await Integration(task, parts, Emitter(lambda _: None), held=held).land(workspace, state)
        assert isinstance(end, Landed)
        return CommitLedger(self.rooms.store.db, self.rooms.store.events).page(1, task_id=number)[0]

    def list_events(self) -> list[Event]:
        kinds = {Kind.VERIFY_STARTED, Kind.VERIFY_CANCELLED, Kind.VERIFIED}
        self.rooms.store.events.catch_up().result()
        return [event for event in self.rooms.store.events.last(200) if event.kind in kinds]


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_services(tmp_path) as rooms:
        yield Site(rooms)


async def reach(slot: Verifying, entry: Commit, wanted: Callable[[UnderWay | None], bool]) -> UnderWay | None:
    while not wanted(slot.standing(entry)[0]):  # noqa: ASYNC110  # what runs tells nobody
        await asyncio.sleep(0.01)
    return slot.standing(entry)[0]


async def end(slot: Verifying, entry: Commit) -> Verified | None:
    await reach(slot, entry, lambda now: now is None)
    return slot.standing(entry)[1]


async def test_a_verification_tells_how_far_it_is_and_how_it_ended(site: Site) -> None:
    entry, slot = await site.landed(1), site.verifying()
    assert slot.standing(entry) == (None, None)
    slot.begin(entry)
    now = await reach(slot, entry, lambda now: now is not None and "sandbox" in now.doing)
    assert now is not None
    assert [check.what for check in now.checks] == ["note", "commit", "tree", "base", "seal", "trailers", "files"]
    site.gate.set()
    outcome = await end(slot, entry)
    assert outcome is not None
    assert outcome.judgement is Judgement.HOLDS, outcome
    assert "tests" in {check.what for check in outcome.checks}
    assert [event.kind for event in site.list_events()] == [Kind.VERIFY_STARTED, Kind.VERIFIED]
    _, again = site.verifying().standing(entry)  # a new slot, as after a restart
    assert again is not None
    assert (again.judgement, again.sentence, again.checks) == (outcome.judgement, outcome.sentence, outcome.checks)


async def test_there_is_one_slot_and_the_same_commit_asks_once(site: Site) -> None:
    first, second, slot = await site.landed(1), await site.landed(2), site.verifying()
    slot.begin(first)
    slot.begin(first)
    with pytest.raises(NotVerified, match="of task 1 is being verified"):
        slot.begin(second)
    now, _ = slot.standing(second)
    assert now is not None
    assert now.task_id == 1
    site.gate.set()
    await end(slot, first)
    slot.begin(second)
    await end(slot, second)
    assert [event.task_id for event in site.list_events() if event.kind is Kind.VERIFY_STARTED] == [1, 2]


async def test_a_cancelled_one_frees_the_slot_and_leaves_what_was_known(site: Site) -> None:
    entry, slot = await site.landed(1), site.verifying()
    site.gate.set()
    slot.begin(entry)
    before = await end(slot, entry)
    site.gate.clear()
    slot.begin(entry)
    await reach(slot, entry, lambda now: now is not None and "sandbox" in now.doing)
    slot.cancel(entry)
    assert await end(slot, entry) == before
    with pytest.raises(NotVerified, match="nothing to cancel"):
        slot.cancel(entry)
    assert site.list_events()[-1].kind is Kind.VERIFY_CANCELLED
    site.gate.set()
    slot.begin(entry)
    assert (await end(slot, entry)) != before


async def test_a_commit_that_git_does_not_know_is_not_verified_and_says_why(site: Site) -> None:
    entry, slot = await site.landed(1), site.verifying()
    lost = Commit(**{**{name: getattr(entry, name) for name in entry.__slots__}, "commit": "ab" * 20})
    slot.begin(lost)
    outcome = await end(slot, lost)
    assert outcome is not None
    assert outcome.judgement is Judgement.UNKNOWN
    assert "abababab" in outcome.sentence
    assert all(len(check.detail) <= KEPT_CHARS for check in outcome.checks)
    slot.begin(entry)
    assert slot.standing(entry)[0] is not None
    slot.stop()
    await end(slot, entry)
