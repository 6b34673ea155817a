from __future__ import annotations

import asyncio

import pytest

from nightshift.server.auth.asgi import Message, Refused, Scope
from nightshift.server.auth.limits import MAX_ADDRESSES, Attempts, read_body


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_an_address_may_send_a_burst_of_wrong_tokens_and_then_some_at_a_rate() -> None:
    clock = Clock()
    attempts = Attempts(rate_per_s=2, burst=3, now=clock)

    def count() -> int:
        sent = 0
        while sent < 10:
            try:
                attempts.failed("10.0.0.1")
            except Refused:
                break
            sent += 1
        return sent

    assert count() == 3
    clock.at += 0.4
    assert count() == 0
    clock.at += 0.1
    assert count() == 1
    clock.at += 3600
    assert count() == 3


def test_wrong_tokens_of_one_address_do_not_lock_out_another() -> None:
    attempts = Attempts(rate_per_s=0.01, burst=3)
    for _ in range(3):
        attempts.failed("10.0.0.1")
    for _ in range(1000):
        with pytest.raises(Refused) as refused:
            attempts.failed("10.0.0.1")
    assert refused.value.status == 429
    assert 1 <= int(dict(refused.value.headers)[b"retry-after"]) <= 100
    attempts.failed("10.0.0.2")


def test_the_count_of_wrong_tokens_has_a_bound() -> None:
    attempts = Attempts()
    for number in range(MAX_ADDRESSES + 100):
        attempts.failed(f"address {number}")
    assert len(attempts._allowed) == MAX_ADDRESSES


async def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    async def never() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    with pytest.raises(Refused) as refused:
        await read_body(scope((b"content-length", b"5")), never, max_bytes=10, wall_s=0.05)
    assert refused.value.status == 408


async def test_a_whole_body_is_handed_over_once_with_its_true_length() -> None:
    sent: list[Message] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"cd", "more_body": False},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return sent.pop(0)

    asked = scope((b"transfer-encoding", b"chunked"), (b"accept", b"*/*"))
    replay = await read_body(asked, receive, max_bytes=4)
    assert replay is not None
    assert asked["headers"] == [(b"accept", b"*/*"), (b"content-length", b"4")]
    assert await replay() == {"type": "http.request", "body": b"abcd", "more_body": False}
    assert await replay() == {"type": "http.disconnect"}


async def test_a_client_that_leaves_in_the_middle_of_its_body_gets_nothing_done() -> None:
    sent: list[Message] = [{"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return sent.pop(0)

    assert await read_body(scope((b"content-length", b"9")), receive, max_bytes=10) is None


def scope(*headers: tuple[bytes, bytes]) -> Scope:
    return {"type": "http", "headers": list(headers)}
