"""A notice over real HTTP."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import time

import pytest

from maintenance.notify.notices import Notice, NoticeKind
from maintenance.notify.post import post
from tests.support.receiver import receiving

NOTICE = Notice(id="event-7", kind=NoticeKind.TROUBLE, title="Tür", task_id=7)


async def test_it_is_signed_over_time_and_body() -> None:
    now = int(time.time())
    with receiving() as receiver:
        assert await post(receiver.url, "hush", NOTICE, now) == ""
    headers, body = receiver.headers[0], receiver.bodies[0]
    assert json.loads(body)["title"] == "Tür"
    assert headers["X-Nightshift-Notice"] == "event-7"
    assert headers["X-Nightshift-Timestamp"] == str(now)
    wanted = hmac.new(b"hush", str(now).encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Nightshift-Signature"] == f"sha256={wanted}"


async def test_without_a_secret_there_is_no_signature() -> None:
    with receiving() as receiver:
        assert await post(receiver.url, "", NOTICE, 1) == ""
    assert "X-Nightshift-Signature" not in receiver.headers[0]


@pytest.mark.parametrize("status", [301, 307, 308])
async def test_a_redirect_is_refused_and_not_followed(status: int) -> None:
    with receiving() as receiver:
        receiver.statuses = [status]
        assert "redirects elsewhere" in await post(receiver.url, "hush", NOTICE, 1)
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_what_is_not_taken_is_told_by_its_status(status: int) -> None:
    with receiving() as receiver:
        receiver.statuses = [status]
        assert await post(receiver.url, "", NOTICE, 1) == f"the URL answered with HTTP {status}"


async def test_who_does_not_answer_is_not_waited_for_and_the_url_is_not_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/secret-path"
        assert await post(url, "", NOTICE, 1, wall_s=0.2) == "the URL gave no answer within 0.2 s"
    gone = await post(url, "", NOTICE, 1)
    assert gone.startswith("the URL does not answer")
    assert "secret-path" not in gone
