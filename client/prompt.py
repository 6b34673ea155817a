"""The interactive prompt: a line is a task, a line that begins with `/` a command."""

from __future__ import annotations

import contextlib
import readline  # gives input() its line editing and history
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import click

from client.actions import do
from client.asked import Action, Asked
from client.blocks import Cell
from client.door import Door
from client.doors import choose
from client.exits import Exit
from client.invocation import tell
from client.session import Session
from client.views import outcome
from core.errors import NightshiftError
from core.states import ENDED
from server.schemas import TaskDetail

PROMPT = "nightshift> "
LOOK_S = 1.0
GREETING = "Type a task to add it, or /help. Ctrl-D leaves."
HELP = """\
Type a task to add it, or:
  /status         what the daemon does now
  /logs [N]       the last events
  /history [N]    the newest tasks
  /show ID        one task
  /cancel ID      cancel a task
  /retry ID       queue a task again
  /unread [N]     commits that you have not read
  /revert ID      take back what a task integrated
  /approvals      what waits for your decision
  /approve ID     grant it
  /deny ID        deny it
  /answer ID TEXT answer a question
  /pause /resume  hold back claims, or allow them again
  /checkpoint     hold a checkpoint now
  /quit           leave (or Ctrl-D)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command: its action, and the number it takes. `default` is None where a number must be given.

    `answers`: a text follows the number.
    """

    action: Action
    takes: str = ""
    default: int | None = 0
    answers: bool = False


COMMANDS: Mapping[str, Command] = {
    "/status": Command(action=Action.STATUS),
    "/logs": Command(action=Action.LOGS, takes="count", default=20),
    "/history": Command(action=Action.HISTORY, takes="count", default=20),
    "/show": Command(action=Action.SHOW, takes="task_id", default=None),
    "/unread": Command(action=Action.UNREAD, takes="count", default=20),
    "/revert": Command(action=Action.REVERT, takes="task_id", default=None),
    "/cancel": Command(action=Action.CANCEL, takes="task_id", default=None),
    "/retry": Command(action=Action.RETRY, takes="task_id", default=None),
    "/approvals": Command(action=Action.APPROVALS),
    "/approve": Command(action=Action.APPROVE, takes="approval_id", default=None),
    "/deny": Command(action=Action.DENY, takes="approval_id", default=None),
    "/answer": Command(action=Action.ANSWER, takes="approval_id", default=None, answers=True),
    "/pause": Command(action=Action.PAUSE),
    "/resume": Command(action=Action.RESUME),
    "/checkpoint": Command(action=Action.CHECKPOINT),
}
MOST_LINES = 500


class Prompt:
    """Reads lines until the person leaves; tells when one of the tasks typed here has ended."""

    def __init__(self, session: Session, asked: Asked) -> None:
        self._hand, self._base = session, asked
        self._open: set[int] = set()
        self._left = threading.Event()
        self._speaking = threading.Lock()

    def run(self) -> int:
        """Serve until Ctrl-D or /quit."""
        print(GREETING)
        watcher = threading.Thread(target=self._watch, name="prompt-watch", daemon=True)
        watcher.start()
        try:
            while self._turn():
                pass
        finally:
            self._left.set()
            watcher.join()
        return Exit.OK

    def _turn(self) -> bool:
        """One line; False when the person leaves. Ctrl-C only drops the line."""
        try:
            line = input(PROMPT).strip()
            with self._speaking:
                return self._obey(line)
        except EOFError:
            print()
            return False
        except KeyboardInterrupt:
            print()
            return True
        except UnicodeDecodeError:
            print("That was not UTF-8 text.")
            return True
        except NightshiftError as error:
            tell(error, as_json=False)
            return True
        except click.UsageError as error:
            print(error.format_message())
            return True

    def _obey(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        if line in {"/quit", "/exit"}:
            return False
        if line == "/help":
            print(HELP)
        elif word in COMMANDS:
            self._command(word, COMMANDS[word], rest.strip())
        elif line.startswith("/"):
            print(f"{Cell(word).text} is no command; /help lists them.")
        elif line:
            self._add(line)
        return True

    def _add(self, line: str) -> None:
        try:
            task = self._hand.door.submit({"description": line}).task
            self._open.add(task.task_id)
            print(f"task {task.task_id} {task.status}")
            self._hand.say_if_down("the task waits in the queue until it starts")
        finally:
            self._hand.let_go()

    def _command(self, word: str, command: Command, rest: str) -> None:
        rest, _, text = rest.partition(" ") if command.answers else (rest, "", "")
        number = _whole(rest) if rest else command.default
        if number is None or (rest and not command.takes):
            print(f"{word} takes a number." if command.takes else f"{word} stands alone.")
            return
        given: dict[str, Any] = {"count": min(number, MOST_LINES)} if command.takes == "count" else {}
        given |= {command.takes: number} if command.takes.endswith("_id") else {}
        given |= {"answer": text.strip()} if command.answers else {}
        do(self._hand, replace(self._base, action=command.action, **given))

    def _watch(self) -> None:
        """Look after the tasks that were typed, with a door of this thread's own."""
        while not self._left.wait(LOOK_S):
            if self._open:
                # Where the daemon comes or goes just now, the next look will tell.
                with contextlib.suppress(NightshiftError), contextlib.closing(choose(self._hand.settings).door) as door:
                    self._look(door)

    def _look(self, door: Door) -> None:
        for task_id in sorted(self._open):
            task = door.task(task_id)
            if task.status in ENDED:
                self._open.discard(task_id)
                self._announce(task)

    def _announce(self, task: TaskDetail) -> None:
        """Put a line above the one that is being typed."""
        with self._speaking:
            sys.stdout.write(f"\r\x1b[K{outcome(task).text}\n{PROMPT}{readline.get_line_buffer()}")
            sys.stdout.flush()


def _whole(text: str) -> int | None:
    """A whole number from 1 on, as ids of tasks are."""
    fits = text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0
    return int(text) if fits else None
