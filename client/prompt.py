"""The interactive prompt: a line is a task, a line that begins with `/` a command."""

from __future__ import annotations

import contextlib
import readline  # gives input() its line editing and history
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import click

from client import approvals, commits, daemon, following, tasks
from client.daemon_client import DaemonClient, LogQuery
from client.errors import Exit, print_error
from client.output import Cell
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


MOST_LINES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the prompt."""

    run: Callable[[Session, int, str], int]
    """Gets the number and the text that follow the command."""
    number: bool = False
    """Whether a number may follow."""
    default: int | None = 0
    """The number where none is given; None where one must be."""
    text: bool = False
    """Whether a text follows the number."""


def _plain(run: Callable[[Session], int]) -> Command:
    return Command(run=lambda session, _number, _text: run(session))


def _list(run: Callable[[Session, int], int]) -> Command:
    return Command(run=lambda session, count, _: run(session, min(count, MOST_LINES)), number=True, default=20)


def _one(run: Callable[[Session, int], int]) -> Command:
    return Command(run=lambda session, number, _: run(session, number), number=True, default=None)


COMMANDS: Mapping[str, Command] = {
    "/status": _plain(daemon.status),
    "/logs": _list(lambda session, count: following.logs(session, LogQuery(limit=count))),
    "/history": _list(tasks.history),
    "/show": _one(tasks.show),
    "/unread": _list(commits.unread),
    "/revert": _one(commits.revert),
    "/cancel": _one(tasks.cancel),
    "/retry": _one(tasks.retry),
    "/approvals": _plain(approvals.approvals),
    "/approve": _one(approvals.approve),
    "/deny": _one(approvals.deny),
    "/answer": Command(run=approvals.answer, number=True, default=None, text=True),
    "/pause": _plain(daemon.pause),
    "/resume": _plain(daemon.resume),
    "/checkpoint": _plain(daemon.checkpoint),
}


class Prompt:
    """Reads lines until the person leaves; announces when one of the tasks typed here has ended."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: set[int] = set()
        self._left = threading.Event()
        self._printing = threading.Lock()

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
            with self._printing:
                return self._run_line(line)
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
            print_error(error, as_json=False)
            return True
        except click.UsageError as error:
            print(error.format_message())
            return True

    def _run_line(self, line: str) -> bool:
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
            task = self._session.client.submit({"description": line}).task
            self._open.add(task.task_id)
            print(f"task {task.task_id} {task.status}")
            self._session.note_if_down("the task waits in the queue until it starts")
        finally:
            self._session.disconnect()

    def _command(self, word: str, command: Command, rest: str) -> None:
        rest, _, text = rest.partition(" ") if command.text else (rest, "", "")
        number = _whole(rest) if rest else command.default
        if number is None or (rest and not command.number):
            print(f"{word} takes a number." if command.number else f"{word} stands alone.")
            return
        try:
            command.run(self._session, number, text)
        finally:
            self._session.disconnect()

    def _watch(self) -> None:
        """Look after the tasks that were typed, with a client of this thread's own."""
        while not self._left.wait(LOOK_S):
            if self._open:
                # Where the daemon comes or goes just now, the next look will succeed.
                with (
                    contextlib.suppress(NightshiftError),
                    contextlib.closing(self._session.connect()) as connection,
                ):
                    self._look(DaemonClient(connection))

    def _look(self, client: DaemonClient) -> None:
        for task_id in sorted(self._open):
            task = client.task(task_id)
            if task.status in ENDED:
                self._open.discard(task_id)
                self._announce(task)

    def _announce(self, task: TaskDetail) -> None:
        """Put a line above the one that is being typed."""
        with self._printing:
            sys.stdout.write(f"\r\x1b[K{outcome(task).text}\n{PROMPT}{readline.get_line_buffer()}")
            sys.stdout.flush()


def _whole(text: str) -> int | None:
    """A whole number from 1 on, as ids of tasks are."""
    fits = text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0
    return int(text) if fits else None
