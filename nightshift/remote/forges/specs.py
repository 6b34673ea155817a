"""Turns issues, comments and failed checks into tasks. Their text is untrusted: it is cleaned, and its author is named.

HTML comments are removed because the forge's page does not show them: a task must ask only for what people can read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import MAX_MESSAGE_CHARS, TaskSpec
from nightshift.core.text.masking import printable
from nightshift.remote.forges import labels
from nightshift.remote.forges.connections import Connection
from nightshift.remote.forges.port import Check, Issue, Pull, Remark

COMMAND = re.compile(r"/nightshift\b[ \t]*")
MAX_KEY_CHARS = 200
MAX_TEXT_CHARS = 40_000
MAX_SAID_CHARS = MAX_MESSAGE_CHARS - 500
MAX_CHECKS, MAX_CHECK_CHARS = 5, 3000
_HIDDEN = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)


def clean_text(text: str, most: int = MAX_TEXT_CHARS) -> str:
    """Return a text from a forge without HTML comments and control characters, shortened to `most` characters."""
    return printable(_HIDDEN.sub("", text.replace("\r\n", "\n").replace("\0", "")), max_chars=most).strip()


def line(text: str, most: int = 200) -> str:
    """Return the cleaned text on one line, shortened to `most` characters."""
    flat = " ".join(clean_text(text).split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def key(connection: Connection, number: int, part: str = "") -> str:
    """Return the idempotency key of the task for an issue, or of a follow-up if `part` is given.

    Examples are `gh:octo/hello#7` and `gh:octo/hello#7:c12`.
    """
    full_key = f"{connection.id}#{number}" + (f":{part}" if part else "")
    if len(full_key) <= MAX_KEY_CHARS:
        return full_key
    return f"{full_key[: MAX_KEY_CHARS - 17]}~{hashlib.sha256(full_key.encode()).hexdigest()[:16]}"


def of_issue(connection: Connection, issue: Issue, label: str, base: str) -> tuple[TaskSpec, list[str]]:
    """Return the task that an issue describes, and the faults of the issue's labels.

    Raises:
        InvalidTask: a label sets an invalid value.
    """
    fields, faults = labels.read(issue.labels, label)
    text = clean_text(issue.text)
    about = f"(Issue #{issue.number} of {connection.project}, by {line(issue.author.name, 80)}.)"
    parts = [line(issue.title) or f"Issue #{issue.number}", text, about]
    spec = _spec(connection, "\n\n".join(filter(None, parts)), key(connection, issue.number), base, issue.url, fields)
    return spec, faults


def of_remark(connection: Connection, number: int, pull: Pull, remark: Remark, fields: Mapping[str, Any]) -> TaskSpec:
    """Return the follow-up task that a comment requests. The comment is on issue `number` or on its pull request.

    Raises:
        InvalidTask: a label sets an invalid value.
    """
    asked = _read_request(remark) or "See to what this comment is about."
    where = f" at line {remark.line}" if remark.line else ""
    at = [f"It is said of {line(remark.path)}{where}."] if remark.path else []
    lines = [f"The lines that it stands at:\n{_indent(clean_text(remark.quoted, 2000))}"] if remark.quoted else []
    on = f"issue #{number}" if remark.on_issue else f"pull request #{pull.number}"
    about = f"(A comment on {on} of {connection.project}, by {line(remark.author.name, 80)}.)"
    text = "\n\n".join((asked, *at, *lines, about))
    more = {**fields, "integrate": True}
    return _spec(connection, text, key(connection, number, remark.id), pull.branch, remark.url, more)


def words(connection: Connection, number: int, remark: Remark) -> str:
    """Return the message that passes a comment on issue `number` to its task; `is_heard` recognises it later."""
    about = f"on issue #{number} of {connection.project}, by {line(remark.author.name, 80)}.)"
    return f"{clean_text(_read_request(remark), MAX_SAID_CHARS)}\n\n{_mark(remark, exactly=True)} {about}"


def is_heard(messages: Iterable[str], remark: Remark, *, exactly: bool) -> bool:
    """Check whether a comment is among a task's messages.

    With `exactly`, only the current version of the comment counts; without it, any version.
    """
    return any(_mark(remark, exactly=exactly) in each for each in messages)


def count_heard(messages: Iterable[str]) -> int:
    """Count the comments that were passed on to a task."""
    return sum(each.count("(Comment i") for each in messages)


def _mark(remark: Remark, *, exactly: bool) -> str:
    digest = hashlib.sha256(remark.text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"(Comment {remark.id}, version " + (f"{digest}," if exactly else "")


def _read_request(remark: Remark) -> str:
    return clean_text(COMMAND.sub("", remark.text.strip(), count=1))


def of_checks(
    connection: Connection, number: int, pull: Pull, failed: Sequence[Check], fields: Mapping[str, Any]
) -> TaskSpec:
    """Return the follow-up task for the failed checks of a pull request's newest commit.

    Raises:
        InvalidTask: a label sets an invalid value.
    """
    names = ", ".join(line(each.name, 80) for each in failed[:MAX_CHECKS])
    outputs = [
        f"{line(each.name, 80)} says:\n{_indent(clean_text(each.text, MAX_CHECK_CHARS))}"
        for each in failed[:MAX_CHECKS]
        if each.text.strip()
    ]
    head = f"Mend what makes these checks of pull request #{pull.number} fail at commit {pull.head[:12]}: {names}"
    text = "\n\n".join((head, *outputs))
    more = {**fields, "integrate": True}
    return _spec(connection, text, key(connection, number, checks_part(pull)), pull.branch, pull.url, more)


def checks_part(pull: Pull) -> str:
    """Return the last part of the idempotency key for a follow-up of failed checks."""
    return f"checks:{pull.head[:40]}"


def asks(remark: Remark) -> bool:
    """Check whether a comment asks the agent for something.

    The author must be permitted, and the comment must be on lines of the change or begin with `/nightshift`.
    """
    is_command = bool(COMMAND.match(remark.text.strip()))
    return remark.author.permitted and bool(remark.text.strip()) and (is_command or bool(remark.path))


def _spec(connection: Connection, text: str, key_: str, base: str, url: str, fields: Mapping[str, Any]) -> TaskSpec:
    return parse_spec(
        {
            "integrate": False,
            **fields,
            "description": text,
            "key": key_,
            "repo": connection.repo,
            "base": base,
            "metadata": {"forge": connection.address, "url": line(url, 500)},
        }
    )


def _indent(text: str) -> str:
    return "\n".join(f"    {each}" for each in text.split("\n"))
