"""A forge that limits requests, fails, sends false answers or is unreachable is left alone for a while and reported.

When the forge works again, all missed work is done.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.remote.forges.conftest import Rig


@pytest.mark.parametrize(
    ("status", "headers", "body", "rest_s"),
    [
        (429, {"Retry-After": "7"}, None, 7),
        (429, {"Retry-After": "Sun, 01 Mar 2026 12:05:00 GMT"}, None, 300),
        (429, {}, None, 60),
        (429, {"Retry-After": "999999999"}, None, 7200),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1772366700"}, None, 301),
        (403, {}, {"message": "You have exceeded a secondary rate limit."}, 60),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "1772366520"}, None, 121),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, None, 60),
        (502, {}, None, 30),
        (503, {"Retry-After": "90"}, None, 90),
        (401, {}, None, 600),
        (404, {}, {"message": "Not Found"}, 600),
        (301, {"Location": "http://elsewhere.invalid/"}, None, 600),
    ],
)
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


async def test_a_limit_in_the_midst_of_a_look_loses_nothing(rig: Rig) -> None:
    for number in range(4):
        rig.world.issue(f"Task {number}")
    for _ in range(4):
        rig.server.fail_next(429, {"Retry-After": "1"}, only="POST")
        await rig.sync.look()
        rig.store.clock.advance(5)
    await rig.sync.look()
    assert [len(rig.comments(issue)) for issue in rig.world.issues.values()] == [1, 1, 1, 1]


async def test_a_comment_whose_answer_was_lost_is_found_and_not_written_twice(rig: Rig) -> None:
    number = rig.world.issue("Mend the answer")
    rig.server.lose_next()
    await rig.sync.look()
    rig.store.clock.advance(60)
    await rig.sync.look()
    assert len(rig.comments(rig.world.issues[number])) == 1


async def test_an_issue_that_takes_no_comments_keeps_none_of_the_others_back(rig: Rig) -> None:
    first, second = rig.world.issue("Locked"), rig.world.issue("Open")
    rig.server.fail_next(403, body={"message": "Unable to create comment because issue is locked."}, only="POST")
    await rig.sync.look()
    counts = [len(rig.comments(rig.world.issues[number])) for number in (first, second)]
    assert sorted(counts) == [0, 1]
    assert "locked" in rig.sync.status().notes[0]
    asked = len(rig.server.writes)
    await rig.sync.look()
    assert len(rig.server.writes) == asked


@pytest.mark.parametrize("content", ["null", "[]", "[1]", '{"default_branch": 5}', "[" * 5000, "<html>"])
async def test_answers_of_another_form_are_no_answers(rig: Rig, content: str) -> None:
    rig.world.issue("Mend the answer")
    rig.server.raw_next(content.encode())
    await rig.sync.look()
    assert rig.sync.status().fault
    assert rig.tasks() == []


async def test_a_next_page_elsewhere_gets_no_token(rig: Rig) -> None:
    rig.server.raw_next(b'{"id": 1, "default_branch": "main"}')
    rig.server.raw_next(b"[]", {"Link": '<http://127.0.0.1:9/steal>; rel="next"'})
    await rig.sync.look()
    assert "another address" in rig.sync.status().fault


async def test_a_forge_that_is_gone_is_away(rig: Rig) -> None:
    rig.server.stop()
    await rig.sync.look()
    assert "does not answer" in rig.sync.status().fault
