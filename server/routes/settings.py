"""The settings: reading them, changing them, and trying what was typed."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

from core.errors import ConfigError
from server.bodies import BadBody
from server.context import Busy
from server.endpoint import Call, Endpoint, Reply
from server.reloading import by_name
from server.settings_answers import (
    ChangeIn,
    ModelTested,
    ModelTestIn,
    NoticesTested,
    NoticeTestIn,
    NoticeTold,
    SettingsChanged,
    SettingsShown,
)

CHANGE_WALL_S = 30.0
TRIAL_WALL_S = 90.0
DEEPEST, LONGEST = 8, 200_000

_T = TypeVar("_T")


def show_settings(call: Call) -> Reply:
    """All settings as they stand."""
    return Reply(answer=call.context.settings.show())


def change_settings(call: Call) -> Reply:
    """Write new values to the file of the page and read the settings again."""
    said = call.body(ChangeIn)
    _writable(said.changes)
    _writable(said.take_back, "take_back")
    try:
        return Reply(answer=_done(call.context.settings.change(said), CHANGE_WALL_S))
    except ConfigError as error:
        if not said.dry_run:
            raise
        faults = dict(by_name(error))
        return Reply(answer=SettingsChanged(changed=[], later=[], diff=[], digest=said.digest, faults=faults))


def test_model(call: Call) -> Reply:
    """Try a backend with what was typed."""
    return Reply(answer=_done(call.context.settings.try_model(call.body(ModelTestIn)), TRIAL_WALL_S))


def test_notices(call: Call) -> Reply:
    """Send a test notice."""
    faults = _done(call.context.settings.try_notices(call.optional_body(NoticeTestIn)), TRIAL_WALL_S)
    return Reply(answer=NoticesTested(ways=[NoticeTold(way=way, fault=fault) for way, fault in faults.items()]))


def _done(work: Future[_T], wall_s: float) -> _T:
    try:
        return work.result(wall_s)
    except TimeoutError:
        raise Busy("this takes longer than it should, and may still be done: look again in a moment") from None


def _writable(value: object, where: str = "changes", depth: int = 0) -> int:
    """Refuse what is no setting of anybody's: halves of a letter, which JSON can spell, too many levels, too much text.

    Returns how long its texts are together.
    """
    if depth > DEEPEST:
        raise BadBody(f"{where}: is nested too deeply")
    if isinstance(value, str):
        try:
            return len(value.encode())
        except UnicodeEncodeError:
            raise BadBody(f"{where}: holds half of a letter (a lone surrogate)") from None
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    length = sum(_writable(each, where, depth + 1) for each in parts)
    if length > LONGEST or len(parts) > LONGEST:
        raise BadBody(f"{where}: too much text; {LONGEST:,} bytes at most")
    return length


ENDPOINTS = (
    Endpoint(
        name="show_settings",
        view=show_settings,
        method="GET",
        path="/api/settings",
        summary="Every setting: what it is, what holds now, where that comes from, and how it may be changed.",
        answers={200: SettingsShown},
        errors=(400, 422),
    ),
    Endpoint(
        name="change_settings",
        view=change_settings,
        method="PUT",
        path="/api/settings",
        summary="Change settings over what config.yaml says, all of them or (422) none, and read them again.",
        body=ChangeIn,
        body_required=True,
        answers={200: SettingsChanged},
        errors=(400, 409, 415, 422, 503),
    ),
    Endpoint(
        name="test_model",
        view=test_model,
        method="POST",
        path="/api/models/test",
        summary="Try a backend of models, with an address and a key that need not be saved.",
        body=ModelTestIn,
        body_required=True,
        answers={200: ModelTested},
        errors=(400, 415, 422, 503),
    ),
    Endpoint(
        name="test_notices",
        view=test_notices,
        method="POST",
        path="/api/notices/test",
        summary="Send a test notice each way that is set, or would be.",
        body=NoticeTestIn,
        answers={200: NoticesTested},
        errors=(400, 415, 422, 503),
    ),
)
