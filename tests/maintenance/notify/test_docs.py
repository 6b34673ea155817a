"""The example in docs/reference/notifications.md works as written: a real program that the settings name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.app.notices import channels, send_test
from nightshift.config.load import load_settings
from nightshift.core.clock import utc_now
from nightshift.maintenance.notify.channels import COMMAND, Channels
from nightshift.maintenance.notify.notices import Notice, NoticeKind
from tests.support.doc_pages import list_shown_files
from tests.support.receiver import Receiver, receiving

FILES = list_shown_files("notifications.md")
TOKEN = "matrix-token-for-tests"
AT = "PUT /_matrix/client/v3/rooms/%21room%3Aexample.org/send/m.room.message/"
NOTICE = Notice(id="event-7", kind=NoticeKind.FAILED, title="Task 7 failed: wörds", message="@room $(touch x)")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as new_receiver:
        yield new_receiver


@pytest.fixture
def example(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Channels:
    """Install the program and its settings, as a reader would; the receiver is the Matrix server."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "notify_matrix.py").write_text(FILES["notify_matrix.py"])
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    written = FILES["config.yaml"].replace("python3", sys.executable).replace("/home/olga", str(tmp_path))
    server = receiver.url.removesuffix("/notices")
    (tmp_path / "config.yaml").write_text(written.replace("https://matrix.example.org", server))
    return channels(load_settings(home=tmp_path))


async def test_the_command_of_the_page_writes_a_test_notice_into_the_room(
    example: Channels, receiver: Receiver
) -> None:
    assert await send_test(example, "here", utc_now) == {COMMAND: ""}
    (path,), (headers,), (content,) = receiver.paths, receiver.headers, receiver.notices
    assert path.startswith(f"{AT}test-")
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert content["body"].startswith("Nightshift can reach you\n")


async def test_the_room_shows_a_notice_as_plain_text_and_nobody_is_mentioned(
    example: Channels, receiver: Receiver
) -> None:
    assert await example.send(COMMAND, NOTICE, utc_now) == ""
    assert receiver.paths == [f"{AT}event-7"]
    (content,) = receiver.notices
    assert content == {"msgtype": "m.text", "body": f"{NOTICE.title}\n{NOTICE.message}", "m.mentions": {}}
