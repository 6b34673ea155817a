"""The interactive prompt. Each line is a command, with or without a slash before it, or else becomes a new task."""

from __future__ import annotations

import readline  # noqa: F401  # gives input() its line editing and history
import shlex
from collections.abc import Callable, Sequence

import click

from nightshift.client.arguments import Arguments
from nightshift.client.errors import Exit, print_error
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.client.tasks import submit
from nightshift.core.errors import NightshiftError

PROMPT = "nightshift> "
GREETING = "Type a task to add it, or a command: help lists them. Ctrl-D leaves."
LEAVE = frozenset({"quit", "exit", "/quit", "/exit"})


class Prompt:
    """Reads lines until the user leaves.

    Args:
        session: the session in which commands run.
        commands: the available commands.
        perform: carries out a command in the session and returns its exit code.
    """

    def __init__(self, session: Session, commands: click.Group, perform: Callable[[Sequence[str]], int]) -> None:
        self._session, self._commands, self._perform = session, commands, perform

    def run(self) -> int:
        """Read and handle lines until Ctrl-D or /quit."""
        print(GREETING)
        while self._turn():
            pass
        return Exit.OK

    def _turn(self) -> bool:
        """Read and handle one line; return False if the user leaves. Ctrl-C only drops the line."""
        try:
            return self._run_line(input(PROMPT).strip())
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
            print(f"task {task.task_id} {task.status}")
            self._session.note_if_down("the task waits in the queue until it starts")
        finally:
            self._session.disconnect()


def _words(line: str) -> list[str]:
    """Split a line into words as a shell would. If a quote is not closed, split it at whitespace."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
