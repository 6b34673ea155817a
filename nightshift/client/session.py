"""The session of a user with one home: access to its daemon, the current connection, and the printer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightshift.client.connection import Answer, Connection, connect
from nightshift.client.output import Block, Cell, Color, Lines, Printer
from nightshift.client.views import Views
from nightshift.config.access import Access, of_nothing_set, recall_access
from nightshift.config.places import Places, find_places, is_held, place_is_given, user_folders

if TYPE_CHECKING:
    from nightshift.config.load import Settings

Values = Mapping[str, Any]
"""The values given on the command line, by the parameter names in `client.commands`."""
Action = Callable[["Session", Values], int]
"""Function that carries out a command and returns the exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The part of the command line that needs the application itself.

    Attributes:
        actions: the commands that the application carries out, by name.
        offline: returns a connection to the home's database, given the session and the reason why no daemon answers.
    """

    actions: Mapping[str, Action]
    offline: Callable[[Session, str], Connection]


class Session:
    """Holds what commands need to reach one home. The prompt runs many commands in one session.

    Args:
        load_application: imports the application, which takes longer than a daemon's answer.
        home: the home given on the command line; see `places_of`.
        as_json: print answers as JSON.
        color: see `Printer`.
    """

    def __init__(
        self,
        load_application: Callable[[], Application],
        home: Path | None = None,
        *,
        as_json: bool = False,
        color: Color = Color.AUTO,
    ) -> None:
        self.load_application, self.home = load_application, home
        self.out = Printer(as_json=as_json, color=color)
        self.views = Views(short=self.out.is_terminal)
        self._connection: Connection | None = None

    @cached_property
    def access(self) -> Access:
        """Address and token of the home's daemon.

        Raises:
            ConfigError: the settings are wrong.
        """
        return access_to(places_of(self.home))

    @cached_property
    def settings(self) -> Settings:
        """All settings of the home.

        Raises:
            ConfigError: the settings are wrong.
        """
        from nightshift.config.load import settings_at  # noqa: PLC0415  # what most actions do without takes longest

        return settings_at(self.access.places)

    @property
    def connection(self) -> Connection:
        """The current connection, opened when it is first needed.

        Raises:
            NotAllowed: a daemon runs and refuses the client.
        """
        if self._connection is None:
            self._connection = self.connect()
        return self._connection

    def connect(self) -> Connection:
        """Return a new connection, which the caller must close; raises as `connection` does."""
        return connect(self.access, lambda why: self.load_application().offline(self, why))

    def disconnect(self) -> None:
        """Close the connection. The next request connects again, because the daemon may have stopped or started."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def get(self, path: str, **query: Any) -> Answer:
        """Send a GET request and return the answer; raises as `Connection.ask` does."""
        return self.connection.ask("GET", path, query=query)

    def post(self, path: str, body: Mapping[str, Any] | None = None, **more: Any) -> Answer:
        """Send a POST request and return the answer; raises as `Connection.ask` does."""
        return self.connection.ask("POST", path, body or {}, **more)

    def print(self, answer: object, shown: Sequence[Block] | Cell) -> None:
        """Print the result of a command.

        Args:
            answer: the daemon's answer, or fields that the command built. It is printed if JSON was requested.
            shown: the same result in a form for people, as blocks or as one line. It is printed if JSON was not
                requested.
        """
        if self.out.as_json:
            self.out.document(answer)
        else:
            self.out.blocks([Lines(lines=[shown])] if isinstance(shown, Cell) else shown)

    def note_if_down(self, consequence: str) -> None:
        """If no daemon answers, print a note that gives the reason, followed by `consequence`."""
        if not self.connection.live:
            self.out.note(f"{self.connection.why_offline}; {consequence}")


def places_of(home: Path | None) -> Places:
    """Return the folders and files of a home.

    The home is the given one. If none is given, it is the home whose daemon runs, or else the default home. A daemon
    may use another layout than this shell would choose (the service sets `NIGHTSHIFT_LAYOUT=xdg`, the shell does not).
    The lock of a running daemon shows which layout it uses.

    Raises:
        ConfigError: the environment variables contradict each other.
    """
    usual = find_places(home)
    if home is not None or place_is_given() or usual.folders is not None or is_held(usual.lock_file):
        return usual
    installed = user_folders()
    if not is_held(installed.runtime / "lock"):
        return usual
    return Places(home=installed.data, folders=installed)


def access_to(places: Places) -> Access:
    """Return address and token of the daemon of a home, from valid settings.

    Raises:
        ConfigError: the settings have faults. The error lists all of them.
    """
    if access := recall_access(places) or of_nothing_set(places):
        return access
    from nightshift.config.load import load_access  # noqa: PLC0415  # only where something has changed since they were last read

    return load_access(places)
