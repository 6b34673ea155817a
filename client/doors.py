"""Chooses the door: the daemon of this home where it answers, else its database.

Whether a daemon runs is told by the lock that it holds, not by its port: another home's daemon, or another program,
may answer there.
"""

from __future__ import annotations

from dataclasses import dataclass

from client.door import DaemonGone, Door
from client.local import LocalDoor
from client.remote import RemoteDoor
from config import VERSION, Settings
from maintenance.instance_lock import is_held
from server.gate.access import known_token

PROBE_WALL_S = 2.0
ANSWER_WALL_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A door, and why it is not the daemon's where it is not."""

    door: Door
    why_not_live: str = ""


def choose(settings: Settings) -> Choice:
    """The best door there is now.

    Raises:
        NotAllowed: a daemon runs, and refuses us.
    """
    if not is_held(settings.lock_file):
        return Choice(door=_local(settings), why_not_live="the daemon is not running")
    try:
        _remote(settings, PROBE_WALL_S).report()
    except DaemonGone as gone:
        return Choice(door=_local(settings), why_not_live=f"a process works on this home, but {gone}")
    return Choice(door=_remote(settings, ANSWER_WALL_S))


def _local(settings: Settings) -> LocalDoor:
    return LocalDoor(settings.db_path, VERSION, settings.secrets, clarify_wait_s=settings.clarify_wait_s)


def _remote(settings: Settings, timeout_s: float) -> RemoteDoor:
    own = settings.api_token.get_secret_value() if settings.api_token else None
    token = known_token(own, settings.token_file)
    return RemoteDoor(settings.flask_host, _port(settings), token, timeout_s=timeout_s)


def _port(settings: Settings) -> int:
    """The port that the daemon wrote down, which is the one it got where the setting asks for any free one."""
    try:
        return int(settings.port_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return settings.flask_port
