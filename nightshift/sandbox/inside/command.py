"""Runs the owner's command as given, and collects its reports about tests: events, printed lines, report files.

It is part of the trusted parent. A report counts if it was written while the command ran; it is read once every process
of the command is gone. Its content comes from the tested code, and is judged outside of the sandbox.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH100, PTH116, PTH118, PTH120, PTH123

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from . import channel, environment_makers, virtual
from .child import Child, Ends

PRINTED = 8 << 20
"""Bytes of the output's beginning, and of its end, that may contain a report."""
LAST = 3000
"""Bytes of the output's end that people are shown."""
FILES, BYTES = 300, 3 << 20
"""How many report files are read, and how many bytes of them in total."""
ENTRIES, DEPTH = 100_000, 20
"""How many entries of the tree are examined, and how deep."""
FOLDERS = frozenset({"test-results", "test-reports", "surefire-reports", "failsafe-reports", "test_results"})
SKIPPED = frozenset({".git", "node_modules", ".venv", "venv"})
NAME = re.compile(r"(?i:.*junit.*|test-.*|test[-_]?(?:results?|reports?).*|nosetests|xunit.*)\.xml")
Job = dict[str, Any]
Stamps = dict[str, tuple[int, int]]


def run(job: Job, libraries: Sequence[str]) -> dict[str, Any]:
    """Run the job's command; return the result of `watch`."""
    env, settings = _env(job, libraries), job["session"]["recorder"]
    if job["node"] is None:
        pipe = channel.Pipe()
    else:
        from . import node  # noqa: PLC0415 (only where it is needed)

        pipe = node.Channel(job, settings["secret"])
        env = pipe.variables(env)
    child = Child(become, (job["command"], env, {**settings, "path": pipe.path}))
    pipe.attach(child)
    outcome = watch(child, job)
    pipe.close()
    if job["node"] is None:
        return outcome
    return {**outcome, "events": node.events_of_command(outcome["events"], settings["secret"], job)}


def watch(child: Child, job: Job) -> dict[str, Any]:
    """Watch a child that runs tests; return the result of `Child.watch` with `printed` and `reports` added.

    `printed` has the beginning and the end of the output and the number of bytes between them. `reports` has path and
    text of each report; the text is None if it is too large to be read.
    """
    named = _list_named_reports(job["command"])
    before, output = _stamps(named), Ends(PRINTED)
    outcome = child.watch(job, output=output)
    head, tail = (end.decode("utf-8", "replace") for end in output.ends)
    outcome["output"] = {"": (head + tail)[-LAST:]}
    outcome["printed"] = [head, tail, output.left_out]
    outcome["reports"] = list(_texts(stamps for stamps in _stamps(named).items() if before.get(stamps[0]) != stamps[1]))
    return outcome


def _env(job: Job, libraries: Sequence[str]) -> dict[str, str]:
    session, inside = job["session"], os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = (os.path.abspath(path) for path in session["paths"])
    more = environment_makers.variables((*own, *libraries, inside))
    if job["go"] is not None:
        from . import go  # noqa: PLC0415 (only where it is needed)

        more |= go.environment(job["go"], go.work_folder())
    return virtual.environment(libraries, session["paths"], executable=session["executable"], more=more)


def become(_instructions: int, events: int, argument: tuple[Sequence[str], dict[str, str], dict[str, Any]]) -> NoReturn:
    """Run the command in the child; any command, which may start pytest at some point."""
    argv, env, settings = argument
    os.execvpe(argv[0], list(argv), channel.environment(events, settings, env))  # noqa: S606 (argv of the owner's, no shell)


def _list_named_reports(argv: Sequence[str]) -> list[str]:
    """Return the report files named in a command, such as in `--junitxml=out.xml`."""
    words = (word for part in argv for word in re.split(r"[\s=:;,'\"]+", part))
    return [word for word in words if word.lower().endswith(".xml")][:FILES]


def _stamps(named: Sequence[str]) -> Stamps:
    """Map each possible report to its size and change time, which no program can set."""
    stamps = Stamps()
    for path in (*named, *_walk()):
        try:
            status = os.stat(path, follow_symlinks=False)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode):
            stamps[os.path.normpath(path)] = status.st_size, status.st_ctime_ns
    return stamps


def _walk() -> Iterator[str]:
    """Yield the files below the workspace whose name, or whose folder's name, is typical of a report."""
    waiting, left = [("", 0)], ENTRIES
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder or ".") as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    path = os.path.join(folder, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        if depth < DEPTH and entry.name not in SKIPPED:
                            waiting.append((path, depth + 1))
                    elif NAME.fullmatch(entry.name) or (entry.name.endswith(".xml") and FOLDERS & {*path.split("/")}):
                        yield path
        except OSError:
            continue


def _texts(written: Iterator[tuple[str, tuple[int, int]]]) -> Iterator[tuple[str, str | None]]:
    """Yield path and text of the reports, as far as they are read."""
    left = BYTES
    for path, (size, _) in sorted(written)[:FILES]:
        text = _text(path, left) if size <= left else None
        left -= 0 if text is None else size
        yield path, text


def _text(path: str, most: int) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        return file.read(most).decode("utf-8", "replace")
