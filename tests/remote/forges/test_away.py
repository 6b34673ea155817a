"""A forge that limits requests, fails, sends false answers or is unreachable is left alone for a while and reported.

When the forge works again, all missed work is done.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.remote.forges.conftest import AT_ONE, Rig


@pytest.mark.parametrize(
    ("status", "headers", "body", "rest_s"),
    [
        (429, {"Retry-After": "7"}, None, 7),
        (429, {"Retry-After": "Sun, 01 Mar 2026 12:05:00 GMT"}, None, 300),
        (429, {"Retry-After": "999999999"}, None, 7200),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1772366700"}, None, 301),
        (403, {}, {"message": "You have exceeded a secondary rate limit."}, 60),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, None, 60),
        (502, {}, None, 30),
        (401, {}, None, 600),
        (301, {"Location": "http://elsewhere.invalid/"}, None, 600),
    ],
)
@AT_ONE
async def test_it_is_left_alone_for_as_long_as_it_asks(
    rig: Rig, status: int, headers: dict[str, str], body: object, rest_s: float
) -> None:
    rig.world.issue("Mend the answer")
    rig.server.fail_next(status, headers, body)
    await rig.sync.look()
    now, sync_status = rig.store.clock(), rig.sync.status()
    assert sync_status.fault
    assert sync_status.rests_until == now + timedelta(seconds=rest_s)
    asked = len(rig.server.seen)
    await rig.sync.look()
    assert len(rig.server.seen) == asked, "it was asked while it rests"
    rig.store.clock.advance(rest_s + 1)
    await rig.sync.look()
    assert rig.sync.status().fault == ""
    assert len(rig.tasks()) == 1


@AT_ONE
async def test_one_that_stays_away_is_asked_less_and_less_and_reported_once(rig: Rig) -> None:
    rests = []
    for _ in range(9):
        rig.server.fail_next(500)
        await rig.sync.look()
        until = rig.sync.status().rests_until
        assert until
        rests.append((until - rig.store.clock()).total_seconds())
        rig.store.clock.advance(rests[-1] + 1)
    assert rests == [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert sum(event.kind == "forge_failed" for event in rig.events) == 1


async def test_an_issue_that_takes_no_comments_keeps_none_of_the_others_back(rig: Rig) -> None:
    first, second = rig.world.issue("Locked"), rig.world.issue("Open")
    rig.server.fail_next(403, body={"message": f"The issue is locked for {rig.server.token}."}, only="POST")
    await rig.sync.look()
    counts = [len(rig.comments(rig.world.issues[number])) for number in (first, second)]
    assert sorted(counts) == [0, 1]
    assert "locked" in rig.sync.status().notes[0]
    assert rig.server.token not in f"{rig.sync.status()} {rig.connection} {rig.events}"
    asked = len(rig.server.writes)
    await rig.sync.look()
    assert len(rig.server.writes) == asked


@AT_ONE
@pytest.mark.parametrize("content", ["null", '{"default_branch": 5}', "[" * 5000, "<html>"])
async def test_answers_of_another_form_are_no_answers(rig: Rig, content: str) -> None:
    rig.world.issue("Mend the answer")
    rig.server.raw_next(content.encode())
    await rig.sync.look()
    assert rig.sync.status().fault
    assert rig.tasks() == []


@AT_ONE
async def test_a_next_page_elsewhere_gets_no_token(rig: Rig) -> None:
    rig.server.raw_next(b'{"id": 1, "default_branch": "main"}')
    rig.server.raw_next(b"[]", {"Link": '<http://127.0.0.1:9/steal>; rel="next"'})
    await rig.sync.look()
    assert "another address" in rig.sync.status().fault
