"""Formats a notice for the service that it is posted to: our own JSON, or the formats of Slack, Discord and ntfy.

Models and tasks wrote the text of a notice, so the service must not interpret it: markup is escaped, and nobody is
mentioned. Formats: Slack's incoming webhooks (`text`, with `&`, `<` and `>` escaped), Discord's webhooks (`content` of
at most 2,000 characters, `allowed_mentions`), ntfy's headers (`Title`, `Click`, `Priority`, `Tags`, in RFC 2047).
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal
from urllib.parse import urlsplit

from nightshift.maintenance.notify.notices import Notice, NoticeKind

Form = Literal["auto", "json", "slack", "discord", "ntfy"]
MOST_DISCORD = 2000
_Post = tuple[bytes, Mapping[str, str]]
"""A body and its headers."""
_HOSTS: Mapping[str, Form] = {
    "hooks.slack.com": "slack", "discord.com": "discord", "discordapp.com": "discord", "ntfy.sh": "ntfy",
}  # fmt: skip
_URGENT = frozenset({NoticeKind.NEEDS_YOU, NoticeKind.TROUBLE})
_TAGS: Mapping[NoticeKind, str] = {
    NoticeKind.DONE: "white_check_mark", NoticeKind.FAILED: "x", NoticeKind.NEEDS_YOU: "question",
    NoticeKind.CHECKPOINT: "bar_chart", NoticeKind.TROUBLE: "warning", NoticeKind.TEST: "bell",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The body of a POST, and the headers with its type and the notice's id."""

    body: bytes
    headers: Mapping[str, str]


def form_of(form: Form, url: str) -> Form:
    """Return the format to use; `auto` means the format of the service at the address, by default our own."""
    return form if form != "auto" else _HOSTS.get(urlsplit(url).hostname or "", "json")


def write_notice(notice: Notice, form: Form, dashboard: str) -> Written:
    """Write a notice in a format.

    Args:
        notice: the notice.
        form: the format, not `auto`.
        dashboard: the address of the dashboard for the reader; empty if it is unknown, and then there is no link.
    """
    body, headers = _FORMS[form](notice, _link(notice, dashboard))
    return Written(body=body, headers={**headers, "X-Nightshift-Notice": notice.id})


def _link(notice: Notice, dashboard: str) -> str:
    """Return the address of the page for the notice: the decisions, the task or the reports."""
    if not dashboard:
        return ""
    if notice.kind is NoticeKind.NEEDS_YOU:
        page = "inbox"
    elif notice.task_id is not None:
        page = f"task/{notice.task_id}"
    else:
        page = "reports" if notice.kind is NoticeKind.CHECKPOINT else ""
    return f"{dashboard.rstrip('/')}/{page}"


def _as_json(value: Mapping[str, object]) -> _Post:
    return json.dumps(value, ensure_ascii=False).encode(), {"Content-Type": "application/json"}


def _json(notice: Notice, link: str) -> _Post:
    return _as_json({**asdict(notice), **({"link": link} if link else {})})


def _slack(notice: Notice, link: str) -> _Post:
    title, message = (html.escape(text, quote=False) for text in (notice.title, notice.message))
    linked = f"<{link}|Open in Nightshift>" if link else ""
    text = "\n".join(filter(None, [f"*{title}*", message, linked]))
    return _as_json({"text": text, "unfurl_links": False})


def _discord(notice: Notice, link: str) -> _Post:
    end = f"\n{link}" if link else ""
    text = _plain_markdown("\n".join(filter(None, [notice.title, notice.message])))
    content = text[: MOST_DISCORD - len(end)] + end
    return _as_json({"content": content, "allowed_mentions": {"parse": []}, "flags": 4})  # flag 4: no link previews


def _plain_markdown(text: str) -> str:
    """Escape a text so that Discord shows it unchanged."""
    return "".join(f"\\{each}" if each in "\\`*_~|>#[]()<" else each for each in text)


def _ntfy(notice: Notice, link: str) -> _Post:
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Title": _header(notice.title),
        "Priority": "high" if notice.kind in _URGENT else "default",
        "Tags": _TAGS[notice.kind],
        **({"Click": link} if link else {}),
    }
    return (notice.message or "\n".join(notice.lines) or notice.title).encode(), headers


def _header(text: str) -> str:
    """Encode a text of any alphabet as the value of a header."""
    return f"=?UTF-8?B?{base64.b64encode(text.encode()).decode()}?="


_FORMS: Mapping[Form, Callable[[Notice, str], _Post]] = {
    "json": _json, "slack": _slack, "discord": _discord, "ntfy": _ntfy,
}  # fmt: skip
