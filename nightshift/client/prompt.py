"""The interactive prompt. Each line is a command, with or without a slash before it, or else becomes a new task."""

from __future__ import annotations

import contextlib
import readline  # gives input() its line editing and history
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import click

from nightshift.client.arguments import Arguments
from nightshift.client.connection import Connection
from nightshift.client.errors import Exit, print_error
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.client.tasks import submit
from nightshift.client.views import outcome
from nightshift.core.errors import NightshiftError
from nightshift.core.tasks.states import ENDED

PROMPT = "nightshift> "
LOOK_S = 1.0
GREETING = "Type a task to add it, or a command: help lists them. Ctrl-D leaves."
LEAVE = frozenset({"quit", "exit", "/quit", "/exit"})


class Prompt:
    """Reads lines until the user leaves, and announces the end of tasks that were added in this prompt.

    Args:
        session: the session in which commands run.
        commands: the available commands.
        perform: carries out a command in the session and returns its exit code.
    """

    def __init__(self, session: Session, commands: click.Group, perform: Callable[[Sequence[str]], int]) -> None:
        self._session, self._commands, self._perform = session, commands, perform
        self._open: set[int] = set()
        self._left = threading.Event()
        self._printing = threading.Lock()

    def run(self) -> int:
        """Read and handle lines until Ctrl-D or /quit."""
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
        """Read and handle one line; return False if the user leaves. Ctrl-C only drops the line."""
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
        except click.ClickException as error:
            print(error.format_message())
            return True

    def _run_line(self, line: str) -> bool:
        if line in LEAVE:
            return False
        if line:
            self._do(line)
        return True

    def _do(self, line: str) -> None:
        """Carry out a line.

        A line that begins with a slash or looks like a command is a command. Any other line is added as a task.
        """
        arguments = Arguments(self._commands)
        words = _words(line.removeprefix("/"))
        if line.startswith("/") or arguments.may_be_a_slip(line):
            if words[:1] and words[0] in arguments.command_names:
                self._perform(words)
            else:
                for sentence in arguments.unclear(line).sentences():
                    print(Cell(sentence).text)
        else:
            self._add(line)

    def _add(self, line: str) -> None:
        try:
            task, _ = submit(self._session, {"description": line})
            self._open.add(task.task_id)
            print(f"task {task.task_id} {task.status}")
            self._session.note_if_down("the task waits in the queue until it starts")
        finally:
            self._session.disconnect()

    def _watch(self) -> None:
        """Announce the end of the tasks that were added in this prompt.

        Runs in a thread of its own, and opens a new connection for each check, because a connection may be used by one
        thread only.
        """
        while not self._left.wait(LOOK_S):
            if self._open:
                # If the daemon is stopping or starting at this moment, the next check will succeed.
                with (
                    contextlib.suppress(NightshiftError),
                    contextlib.closing(self._session.connect()) as connection,
                ):
                    self._look(connection)

    def _look(self, connection: Connection) -> None:
        for task_id in sorted(self._open):
            task = connection.ask("GET", f"/api/task/{task_id}")
            if task.status in ENDED:
                self._open.discard(task_id)
                self._announce(task)

    def _announce(self, task: Any) -> None:
        """Print how a task ended, above the line that the user is typing."""
        with self._printing:
            sys.stdout.write(f"\r\x1b[K{outcome(task).text}\n{PROMPT}{readline.get_line_buffer()}")
            sys.stdout.flush()


def _words(line: str) -> list[str]:
    """Split a line into words as a shell would. If a quote is not closed, split it at whitespace."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
