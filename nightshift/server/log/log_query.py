"""Defines queries of the log, and the search for a text in its messages.

Any reader of the log can send a pattern, and a pattern must not block the daemon. The regular expressions are those of
RE2. RE2 needs time linear in the text for every pattern, refuses patterns that would need much memory, and lets other
threads run while it searches. It does not support constructs without a linear algorithm (lookaround, back references).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nightshift.core.events import Kind, Level
from nightshift.core.text.patterns import compile_bytes
from nightshift.server.query import After, BadQuery, Id, Query, Time
from nightshift.storage.db.event_log import Accepts, EventFilter

MAX_PATTERN_CHARS = 500

Worker = Annotated[str, Field(max_length=100)]


class StreamQuery(Query):
    """Selection of events by level, task, worker and kind."""

    after: After | None = Field(None, description="only events with a greater id")
    level: Level | None = Field(None, description="only events of this level and above")
    task: Id | None = Field(None, description="only events of this task")
    worker: Worker | None = Field(None, description="only events of this worker")
    kind: Kind | None = Field(None, description="only events of this kind")

    @property
    def wanted(self) -> EventFilter:
        """The query's filter by level, task, worker and kind."""
        return EventFilter(level=self.level, task_id=self.task, worker=self.worker, kind=self.kind)


class FollowQuery(StreamQuery):
    """Selection of events to follow as they happen, optionally with the live text of models."""

    live: bool = Field(False, description="also replies while models write them, as events of the type `writing`")


class TextQuery(StreamQuery):
    """Selection of events to read, which can also be filtered by the text of their message."""

    before: Id | None = Field(None, description="only events with a smaller id")
    q: str | None = Field(
        None, max_length=MAX_PATTERN_CHARS, description="only events whose message contains this text, ignoring case"
    )
    regex: bool = Field(False, description="`q` is a regular expression (RE2; `(?-i)` makes it case-sensitive)")
    inverse: bool = Field(False, description="only events whose message does not match `q`")

    def accepts(self) -> Accepts | None:
        """Return the function that checks whether a message matches; None if the query has no text.

        Raises:
            BadQuery: the pattern is invalid or too big.
        """
        if self.q is None:
            return None
        matches, inverse = _pattern(self.q) if self.regex else _words(self.q), self.inverse
        return lambda message: matches(message) is not inverse


class LogsQuery(TextQuery):
    """Selection of events to read: the newest ones, unless `after`, `before` or `at` gives a position in the log."""

    at: Time | None = Field(None, description="only events since this time (ISO 8601; local time if it has no zone)")
    limit: int = Field(100, ge=1, le=1000, description="maximum number of results")


def check_place(query: LogsQuery) -> None:
    """Check that the query gives at most one position in the log.

    Raises:
        BadQuery: the query gives more than one of `after`, `before` and `at`.
    """
    given = [name for name in ("after", "before", "at") if getattr(query, name) is not None]
    if len(given) > 1:
        raise BadQuery({given[1]: f"cannot be given together with {given[0]}; leave one of them out"})


def _words(text: str) -> Accepts:
    wanted = text.casefold()
    return lambda message: wanted in message.casefold()


def _pattern(text: str) -> Accepts:
    try:
        pattern = compile_bytes(text, case_sensitive=False)
    except ValueError as error:
        raise BadQuery({"q": f"is not a regular expression that RE2 accepts: {error}"}) from None
    return lambda message: pattern.search(message.encode("utf-8", "replace")) is not None
