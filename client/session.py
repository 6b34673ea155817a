"""A person's session on one home: settings, printer, and the door that is open at the moment."""

from __future__ import annotations

from collections.abc import Mapping

from client.asked import Asked
from client.blocks import Block, Cell
from client.door import Door
from client.doors import Choice, choose
from client.finding import settings_here
from client.show import Printer
from client.views import Views
from config import Settings
from server.schemas import Answer


class Session:
    """Does one thing after the other, as the prompt needs it; the door is chosen anew for each.

    Raises:
        ConfigError: the settings are wrong.
    """

    def __init__(self, asked: Asked) -> None:
        self.settings: Settings = settings_here(asked.home)
        self.out = Printer(as_json=asked.as_json, color=asked.color)
        self.views = Views(local=self.out.is_terminal)
        self._choice: Choice | None = None

    @property
    def choice(self) -> Choice:
        """The door, chosen when it is first needed.

        Raises:
            NotAllowed: a daemon runs and refuses us.
        """
        if self._choice is None:
            self._choice = choose(self.settings)
        return self._choice

    @property
    def door(self) -> Door:
        """See `choice`."""
        return self.choice.door

    def let_go(self) -> None:
        """Close the door and choose again next time: the daemon may have come or gone."""
        if self._choice is not None:
            self._choice.door.close()
        self._choice = None

    def answer(self, answer: Answer, blocks: list[Block]) -> None:
        """Print an answer of the daemon, as JSON or for people."""
        if self.out.as_json:
            self.out.document(answer.model_dump_json())
        else:
            self.out.blocks(blocks)

    def answer_line(self, answer: Answer, line: Cell) -> None:
        """Print an answer of the daemon, as JSON or in a line."""
        if self.out.as_json:
            self.out.document(answer.model_dump_json())
        else:
            self.out.line(line)

    def result(self, fields: Mapping[str, object], line: Cell) -> None:
        """Print what was done, as JSON or in a line."""
        if self.out.as_json:
            self.out.mapping(fields)
        else:
            self.out.line(line)

    def say_if_down(self, consequence: str) -> None:
        """Tell the person that no daemon answers, and what follows from it."""
        if not self.door.live:
            self.out.note(f"{self.choice.why_not_live}; {consequence}")
