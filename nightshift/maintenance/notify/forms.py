"""How a notice is written for the service that it is posted to: our own JSON, or as Slack, Discord and ntfy take it.

What a notice says was written by models and tasks, so nothing of it may be obeyed there: markup is escaped, and nobody
is mentioned. Facts: Slack's incoming webhooks (`text`, with `&`, `<` and `>` escaped), Discord's webhooks (`content` of
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
    """The body of a POST, and the headers that say what it is and which notice."""

    body: bytes
    headers: Mapping[str, str]


def form_of(form: Form, url: str) -> Form:
    """The form that is meant; `auto` is that of the service at the address, else our own."""
    return form if form != "auto" else _HOSTS.get(urlsplit(url).hostname or "", "json")


def write_notice(notice: Notice, form: Form, dashboard: str) -> Written:
    """A notice in a form.

    Args:
        notice: what is told.
        form: not `auto`.
        dashboard: where its reader reaches the dashboard; empty where that is not known, and nothing is linked then.
    """
    body, headers = _FORMS[form](notice, _link(notice, dashboard))
    return Written(body=body, headers={**headers, "X-Nightshift-Notice": notice.id})


def _link(notice: Notice, dashboard: str) -> str:
    """The page on which something can be done about it: the decisions, the task, the report."""
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
    return _as_json({"content": content, "allowed_mentions": {"parse": []}, "flags": 4})  # 4: no previews of links


def _plain_markdown(text: str) -> str:
    """Text that Discord shows as it stands."""
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
    """Text of any alphabet as the value of a header."""
    return f"=?UTF-8?B?{base64.b64encode(text.encode()).decode()}?="


_FORMS: Mapping[Form, Callable[[Notice, str], _Post]] = {
    "json": _json, "slack": _slack, "discord": _discord, "ntfy": _ntfy,
}  # fmt: skip
