"""Notices: what happened that its owner wants to know, for browsers that show it."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from nightshift.core.errors import NightshiftError
from nightshift.maintenance.notify.notices import NoticeKind, notice_of
from nightshift.queue.transitions import title
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.query import After, Query
from nightshift.server.schemas import Answer

routes = Routes()

LOOKED_AT = 500
"""Events that one request looks at."""


class NoticesQuery(Query):
    """From where on to look; without `after` there is nothing, and `last_id` says where to begin."""

    after: After | None = Field(None, description="only of events with a greater id")


class NoticeRow(Answer):
    """One notice; the same `id` is the same notice. `at` is ISO 8601, UTC.

    What the webhook is sent besides (`maintenance.notify.notices.Notice`) is of no use to a browser.
    """

    id: str
    kind: NoticeKind
    title: str
    message: str
    at: str
    task_id: int | None


class Notices(Answer):
    """Notices of the kinds in `notify_on`, oldest first. `last_id` is the `after` that asks for what follows."""

    notices: list[NoticeRow]
    last_id: int


@routes.endpoint("GET", "/api/notices")
def list_notices(context: AppContext, query: NoticesQuery) -> Notices:
    """List the events behind `after` that the owner is told of, as the webhook tells them."""
    events, after = context.events, query.after
    if after is None:
        return Notices(notices=[], last_id=events.newest_id())
    found, wanted = events.after(after, limit=LOOKED_AT), context.settings.notify_on()
    made = (notice_of(event, _names(context)) for event in found)
    rows = [NoticeRow.from_values(each) for each in made if each and each.kind in wanted]
    return Notices(notices=rows, last_id=found[-1].id if found else after)


def _names(context: AppContext) -> Callable[[int], str]:
    def name_of(task_id: int) -> str:
        try:
            return context.mask.clean(title(context.queue.get(task_id).spec), 100)
        except NightshiftError:  # it cannot be read; the notice goes without its name
            return ""

    return name_of
