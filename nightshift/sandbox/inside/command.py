"""Runs the owner's test command, and collects its reports about tests: events, printed lines and report files.

This module is part of the trusted parent. A report file counts only if it was written while the command ran. Reports
are read after every process of the command has ended. Their content comes from the tested code, and is judged outside
the sandbox.
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
"""Number of bytes at the beginning of the output, and at its end, that are searched for reports."""
LAST = 3000
"""Number of bytes at the end of the output that are shown to people."""
FILES, BYTES = 300, 3 << 20
"""Maximum number of report files that are read, and maximum number of their bytes in total."""
ENTRIES, DEPTH = 100_000, 20
"""Maximum number of entries of the tree that are examined, and their maximum depth."""
FOLDERS = frozenset({"test-results", "test-reports", "surefire-reports", "failsafe-reports", "test_results"})
SKIPPED = frozenset({".git", "node_modules", ".venv", "venv"})
NAME = re.compile(r"(?i:.*junit.*|test-.*|test[-_]?(?:results?|reports?).*|nosetests|xunit.*)\.xml")
Job = dict[str, Any]
Stamps = dict[str, tuple[int, int]]


def run(job: Job, libraries: Sequence[str]) -> dict[str, Any]:
    """Run the job's command in a child; return the result of `watch`."""
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

    `printed` contains the beginning of the output, its end, and the number of bytes in between. `reports` contains the
    path and the text of each report; the text is None if the report is too large to be read.
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
    """Become the owner's command in the child. The variables make any pytest that it starts report to `events`."""
    argv, env, settings = argument
    os.execvpe(argv[0], list(argv), channel.environment(events, settings, env))  # noqa: S606 (argv of the owner's, no shell)


def _list_named_reports(argv: Sequence[str]) -> list[str]:
    """Return the report files that are named in a command, as in `--junitxml=out.xml`."""
    words = (word for part in argv for word in re.split(r"[\s=:;,'\"]+", part))
    return [word for word in words if word.lower().endswith(".xml")][:FILES]


def _stamps(named: Sequence[str]) -> Stamps:
    """Return the size and the change time of each possible report. No program can set the change time."""
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
    """Yield the files in the workspace that may be reports.

    The name of such a file, or of a folder above it, is typical of reports.
    """
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
    """Yield the path and the text of the reports. The text is None for a report that exceeds the limits."""
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
