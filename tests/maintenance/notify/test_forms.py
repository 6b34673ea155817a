"""Notices in the formats of the web services that receive them."""

from __future__ import annotations

import email.header
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.clock import utc_now
from nightshift.maintenance.notify.channels import Channels
from nightshift.maintenance.notify.forms import MOST_DISCORD, Form, form_of, write_notice
from nightshift.maintenance.notify.notices import Notice, NoticeKind
from tests.support.receiver import receiving

EVIL = "<!channel> @everyone <@U123> [x](http://evil.example) *b* `c` &amp;"
ASKS = Notice(id="event-9", kind=NoticeKind.NEEDS_YOU, title="Task 7 asks: wörds", message=EVIL, task_id=7)


def body(notice: Notice, form: Form, dashboard: str = "") -> Any:
    return json.loads(write_notice(notice, form, dashboard).body)


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://hooks.slack.com/services/T/B/x", "slack"),
        ("https://discord.com/api/webhooks/1/x", "discord"),
        ("https://ntfy.sh/my-topic", "ntfy"),
        ("https://hooks.slack.com.evil.example/x", "json"),
    ],
)
def test_a_service_is_known_by_its_host(url: str, form: Form) -> None:
    assert form_of("auto", url) == form
    assert form_of("discord", url) == "discord"


def test_slack_obeys_nothing_of_what_is_told() -> None:
    text = body(ASKS, "slack", "https://night.example/")["text"]
    assert text.startswith("*Task 7 asks: wörds*\n&lt;!channel&gt; @everyone &lt;@U123&gt;")
    assert text.endswith("<https://night.example/inbox|Open in Nightshift>")


def test_discord_mentions_nobody_and_shows_text_as_it_stands() -> None:
    sent = body(ASKS, "discord", "https://night.example")
    assert sent["allowed_mentions"] == {"parse": []}
    assert "\\[x\\]\\(http://evil.example\\) \\*b\\* \\`c\\`" in sent["content"]
    assert sent["content"].endswith("\nhttps://night.example/inbox")


@given(st.text(min_size=1, max_size=20), st.integers(0, 400), st.text(max_size=200))
def test_discord_gets_no_more_than_it_takes(words: str, times: int, title: str) -> None:
    notice = replace(ASKS, message=words * times, title=title)
    assert len(body(notice, "discord", "https://night.example")["content"]) <= MOST_DISCORD


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_ntfy_gets_a_title_in_any_alphabet_that_stays_one_header(title: str) -> None:
    header = write_notice(replace(ASKS, title=title), "ntfy", "").headers["Title"]
    assert header.isascii()
    assert not {"\r", "\n"} & set(header)
    assert str(email.header.make_header(email.header.decode_header(header))) == title


async def test_what_needs_its_owner_is_urgent_and_opens_the_decisions_on_a_phone() -> None:
    with receiving() as receiver:
        ways = Channels(url=receiver.url, form="ntfy", dashboard="https://night.example", secret="s" * 20)
        assert await ways.send("notify_url", ASKS, utc_now) == ""
        assert await ways.send("notify_url", replace(ASKS, kind=NoticeKind.DONE), utc_now) == ""
    first, second = receiver.headers
    assert (first["Priority"], first["Click"]) == ("high", "https://night.example/inbox")
    assert (second["Priority"], second["Click"]) == ("default", "https://night.example/task/7")
    assert receiver.bodies[0].decode() == EVIL
    assert first["X-Nightshift-Signature"]
