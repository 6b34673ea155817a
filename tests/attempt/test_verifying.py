"""Verifying commits again, one at a time: the progress of a verification, the ways it ends, and its stored result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from nightshift.attempt import evidence
from nightshift.attempt.verify import Judgement, OpenedSuite, Verification
from nightshift.attempt.verifying import KEPT_CHARS, UnderWay, Verified, Verifying
from nightshift.core.clock import utc_now
from nightshift.core.errors import NotVerified
from nightshift.core.events import Event, Kind
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.state_store import Commit
from tests.support.landing_site import Site, open_site

ADD = {"calc.py": "def add(a, b):\n    return a + b\n"}
TESTS = {"test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}


@dataclass
class Verifier:
    """A home with commits, whose verification waits before the test run until `gate` is set."""

    site: Site
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def verifying(self) -> Verifying:
        """Return the verification slot of a daemon that has just started."""
        key, parts = evidence.read_key(self.site.settings.seal_file), self.site.parts

        def opened(repo: str) -> Verification:
            return Verification(parts.git, repo, self._suite, key)

        return Verifying(opened, parts.events, asyncio.get_running_loop(), utc_now)

    async def _suite(self) -> OpenedSuite:
        await self.gate.wait()
        return OpenedSuite(suite=self.site.parts.suite)

    async def landed(self, number: int) -> Commit:
        """Judge and land a task's work as the daemon does; return its row in the ledger."""
        await self.site.commit(number, ADD if number == 1 else {"more.py": "MORE = 1\n"}, tests=TESTS)
        return CommitLedger(self.site.parts.db, self.site.parts.events).page(1, task_id=number)[0]

    def list_events(self) -> list[Event]:
        kinds = {Kind.VERIFY_STARTED, Kind.VERIFY_CANCELLED, Kind.VERIFIED}
        self.site.parts.events.catch_up().result()
        return [event for event in self.site.parts.events.last(200) if event.kind in kinds]


@pytest_asyncio.fixture(loop_scope="module")
async def site(tmp_path: Path) -> AsyncIterator[Verifier]:
    async with open_site(tmp_path) as opened:
        yield Verifier(opened)


async def reach(slot: Verifying, entry: Commit, wanted: Callable[[UnderWay | None], bool]) -> UnderWay | None:
    while not wanted(slot.standing(entry)[0]):  # noqa: ASYNC110  # what runs tells nobody
        await asyncio.sleep(0.01)
    return slot.standing(entry)[0]


async def end(slot: Verifying, entry: Commit) -> Verified | None:
    await reach(slot, entry, lambda now: now is None)
    return slot.standing(entry)[1]


async def test_a_verification_tells_how_far_it_is_and_how_it_ended(site: Verifier) -> None:
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


async def test_there_is_one_slot_and_the_same_commit_asks_once(site: Verifier) -> None:
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


async def test_a_cancelled_one_frees_the_slot_and_leaves_what_was_known(site: Verifier) -> None:
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


async def test_a_commit_that_git_does_not_know_is_not_verified_and_says_why(site: Verifier) -> None:
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
