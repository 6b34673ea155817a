"""Serves the settings: shows them, changes them, and tests values before they are saved."""

from __future__ import annotations

from nightshift.core.errors import ConfigError
from nightshift.server.bodies import BadBody
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.setting_faults import by_name
from nightshift.server.settings_answers import (
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
LATE = "this is taking longer than expected and may still complete: check again in a moment"
DEEPEST, LONGEST = 8, 200_000
routes = Routes()


@routes.endpoint("GET", "/api/settings")
def show_settings(context: AppContext) -> SettingsShown:
    """Show every setting: its meaning, its value, the source of the value, and how it can be changed."""
    return context.settings.show()


@routes.endpoint("PUT", "/api/settings")
def change_settings(context: AppContext, body: ChangeIn) -> SettingsChanged:
    """Override settings of config.yaml and reload them. If a value is wrong (422), no setting is changed."""
    _writable(body.changes)
    _writable(body.reset, "reset")
    try:
        return wait_for(context.settings.change(body), CHANGE_WALL_S, LATE)
    except ConfigError as error:
        if not body.dry_run:
            raise
        faults = dict(by_name(error))
        return SettingsChanged(changed=[], later=[], diff=[], digest=body.digest, faults=faults)


@routes.endpoint("POST", "/api/models/test")
def test_model(context: AppContext, body: ModelTestIn) -> ModelTested:
    """Test a model backend. The address and the key may be given in the request, without being saved."""
    return wait_for(context.settings.try_model(body), TRIAL_WALL_S, LATE)


@routes.endpoint("POST", "/api/notices/test")
def test_notices(context: AppContext, body: NoticeTestIn | None) -> NoticesTested:
    """Send a test notice through each notification channel that is configured or given in the request."""
    faults = wait_for(context.settings.try_notices(body or NoticeTestIn.model_validate({})), TRIAL_WALL_S, LATE)
    return NoticesTested(ways=[NoticeTold(way=way, fault=fault) for way, fault in faults.items()])


def _writable(value: object, where: str = "changes", depth: int = 0) -> int:
    """Check that a value can be written to the settings file.

    The value may not contain lone surrogates (which JSON can express), be nested too deeply, or contain too much text.

    Returns:
        The total length of the value's texts in bytes.

    Raises:
        BadBody: the value cannot be written.
    """
    if depth > DEEPEST:
        raise BadBody(f"{where}: is nested too deeply")
    if isinstance(value, str):
        try:
            return len(value.encode())
        except UnicodeEncodeError:
            raise BadBody(f"{where}: contains half of a letter (a lone surrogate)") from None
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    length = sum(_writable(each, where, depth + 1) for each in parts)
    if length > LONGEST or len(parts) > LONGEST:
        raise BadBody(f"{where}: too much text; {LONGEST:,} bytes at most")
    return length
