"""A person's session on one home: how its daemon is reached, what is connected at the moment, and the printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.client.connecting import connect
from nightshift.client.connection import Connection
from nightshift.client.output import Block, Cell, Color, Lines, Printer
from nightshift.client.views import Views
from nightshift.config.access import Access, of_nothing_set, recall_access
from nightshift.config.places import Places, find_places, place_is_given, user_folders
from nightshift.maintenance.instance_lock import is_held
from nightshift.storage.db.codec import encode

if TYPE_CHECKING:
    from nightshift.client.daemon_client import DaemonClient
    from nightshift.config.load import Settings


class Session:
    """Does one thing after the other, as the prompt needs it; it may connect anew for each.

    Args:
        home: the home that is named; see `places_of`.
        as_json: print answers as JSON.
        color: see `Printer`.

    Raises:
        ConfigError: the settings are wrong.
    """

    def __init__(self, home: Path | None = None, *, as_json: bool = False, color: Color = Color.AUTO) -> None:
        self.access: Access = access_to(places_of(home))
        self.out = Printer(as_json=as_json, color=color)
        self.views = Views(short=self.out.is_terminal)
        self._connection: Connection | None = None

    @cached_property
    def settings(self) -> Settings:
        """All settings of the home.

        Raises:
            ConfigError: they are wrong.
        """
        from nightshift.config.load import settings_at  # noqa: PLC0415  # what most actions do without takes longest

        return settings_at(self.access.places)

    @property
    def connection(self) -> Connection:
        """Connected when it is first needed.

        Raises:
            NotAllowed: a daemon runs and refuses us.
        """
        if self._connection is None:
            self._connection = self.connect()
        return self._connection

    @property
    def client(self) -> DaemonClient:
        """The requests beside the status; raises as `connection` does."""
        from nightshift.client.daemon_client import DaemonClient  # noqa: PLC0415  # pydantic and the server's answers

        return DaemonClient(self.connection)

    def connect(self) -> Connection:
        """A connection of the caller's own; raises as `connection` does."""
        return connect(self.access, lambda: self.settings)

    def disconnect(self) -> None:
        """Close the connection and connect anew next time: the daemon may have come or gone."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

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
        elif is_dataclass(answer):
            self.out.document(encode(answer))
        else:
            from nightshift.server.schemas import as_json  # noqa: PLC0415  # as above

            self.out.document(as_json(answer))

    def note_if_down(self, consequence: str) -> None:
        """Add, where no daemon answers, that it does not and what follows from it."""
        if not self.connection.live:
            self.out.note(f"{self.connection.why_offline}; {consequence}")


def places_of(home: Path | None) -> Places:
    """The places of the home that is named, else of the one whose daemon runs, else of the usual one.

    A daemon may have been started in the other layout than this shell would choose (the service sets
    `NIGHTSHIFT_LAYOUT=xdg`, the shell does not): its lock shows it.

    Raises:
        ConfigError: the environment contradicts itself.
    """
    usual = find_places(home)
    if home is not None or place_is_given() or usual.folders is not None or is_held(usual.lock_file):
        return usual
    installed = user_folders()
    if not is_held(installed.runtime / "lock"):
        return usual
    return Places(home=installed.data, folders=installed)


def access_to(places: Places) -> Access:
    """How the daemon of these places is reached, by settings that are sound.

    Raises:
        ConfigError: they are not; lists every fault.
    """
    if found := recall_access(places) or of_nothing_set(places):
        return found
    from nightshift.config.load import load_access  # noqa: PLC0415  # only where something has changed since they were last read

    return load_access(places)
