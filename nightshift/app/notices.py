"""Notifications to the owner: channels, a test notice, and the periodic jobs that send notices.

All of these are made from the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nightshift.app.store import StoreServices
from nightshift.config.load import Settings
from nightshift.core.clock import Clock, to_text
from nightshift.core.errors import NightshiftError
from nightshift.core.status import ModelStatus
from nightshift.maintenance.notify.channels import Channels
from nightshift.maintenance.notify.notices import Notice, NoticeKind
from nightshift.maintenance.notify.notifier import NOTICES_JOB, Notifier
from nightshift.maintenance.notify.outage import Outage
from nightshift.maintenance.scheduler import PeriodicJob
from nightshift.queue.transitions import title

LOOK_S, OUTAGE_LOOK_S = 2.0, 60.0
NAME_CHARS = 100


def channels(settings: Settings) -> Channels:
    """Return the channels that the settings define, and the kinds of notices that they receive."""
    url, secret = settings.notify_url, settings.notify_secret
    return Channels(
        command=tuple(settings.notify_command),
        desktop=settings.notify_desktop,
        url=url.get_secret_value() if url else "",
        secret=secret.get_secret_value() if secret else "",
        form=settings.notify_form,
        dashboard=settings.dashboard_url,
        on=frozenset(map(NoticeKind, settings.notify_on)),
        variables=settings.process_environment,
    )


async def send_test(ways: Channels, asked_by: str, clock: Clock) -> Mapping[str, str]:
    """Send a test notice through each channel; return the error of each channel, empty if the notice arrived."""
    now = clock()
    notice = Notice(
        id=f"test-{now:%Y%m%dT%H%M%S%f}",
        kind=NoticeKind.TEST,
        title="Nightshift can reach you",
        message=f"This is a test that you asked for {asked_by}.",
        at=to_text(now),
    )
    return {name: await ways.send(name, notice, clock) for name in ways.names}


def notification_jobs(
    settings: Callable[[], Settings], store: StoreServices, models: Callable[[], Sequence[ModelStatus]], clock: Clock
) -> Sequence[PeriodicJob]:
    """Return the periodic jobs that notify the owner.

    Args:
        settings: returns the current settings.
        store: the database and the services that use it.
        models: returns the states of the backends.
        clock: gives the current time.
    """

    def name_of(task_id: int) -> str:
        try:
            return store.mask.clean(title(store.queue.get(task_id).spec), NAME_CHARS)
        except NightshiftError:  # the task was pruned or cannot be read, so the notice omits its name
            return ""

    notifier = Notifier(
        events=store.events, state=store.state, channels=lambda: channels(settings()), name_of=name_of, clock=clock
    )
    outage = Outage(models, store.events.emit)
    return [
        PeriodicJob(name=NOTICES_JOB, every_s=LOOK_S, run=notifier.turn),
        PeriodicJob(name="outage of models", every_s=OUTAGE_LOOK_S, run=outage.look, first_s=OUTAGE_LOOK_S),
    ]
