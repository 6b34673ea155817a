"""A person's session on one home: its settings, the client that is connected at the moment, and the printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from client.daemon_client import DaemonClient, connect
from client.output import Block, Cell, Color, Lines, Printer
from client.views import Views
from config import Settings, load_settings, place_is_given, user_folders
from maintenance.instance_lock import is_held
from server.schemas import as_json


class Session:
    """Does one thing after the other, as the prompt needs it; it may connect anew for each.

    Args:
        home: the home that is named; see `settings_of`.
        as_json: print answers as JSON.
        color: see `Printer`.

    Raises:
        ConfigError: the settings are wrong.
    """

    def __init__(self, home: Path | None = None, *, as_json: bool = False, color: Color = Color.AUTO) -> None:
        self.settings: Settings = settings_of(home)
        self.out = Printer(as_json=as_json, color=color)
        self.views = Views(local=self.out.is_terminal)
        self._client: DaemonClient | None = None

    @property
    def client(self) -> DaemonClient:
        """Connected when it is first needed.

        Raises:
            NotAllowed: a daemon runs and refuses us.
        """
        if self._client is None:
            self._client = connect(self.settings)
        return self._client

    def disconnect(self) -> None:
        """Close the client and connect anew next time: the daemon may have come or gone."""
        if self._client is not None:
            self._client.close()
        self._client = None

    def print(self, answer: object, shown: Sequence[Block] | Cell) -> None:
        """Print what came of an action.

        Args:
            answer: of the daemon, or fields of our own; printed where JSON was asked for.
            shown: to people: blocks, or one line.
        """
        if not self.out.as_json:
            self.out.blocks([Lines(lines=[shown])] if isinstance(shown, Cell) else shown)
        elif isinstance(answer, Mapping):
            self.out.mapping(answer)
        else:
            self.out.document(as_json(answer))

    def note_if_down(self, consequence: str) -> None:
        """Add, where no daemon answers, that it does not and what follows from it."""
        if not self.client.live:
            self.out.note(f"{self.client.why_offline}; {consequence}")


def settings_of(home: Path | None) -> Settings:
    """The settings of the home that is named, else of the one whose daemon runs, else of the usual one.

    A daemon may have been started in the other layout than this shell would choose (the service sets
    `NIGHTSHIFT_LAYOUT=xdg`, the shell does not): its lock shows it.

    Raises:
        ConfigError: they are wrong.
    """
    usual = load_settings(home=home)
    if home is not None or place_is_given() or usual.folders is not None or is_held(usual.lock_file):
        return usual
    if not is_held(user_folders().runtime / "lock"):
        return usual
    return load_settings(layout="xdg")
