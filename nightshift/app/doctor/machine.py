"""Checks of the machine: versions of programs and packages, the clock, the service, and the inbox `tasks.yaml`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.app.doctor.context import CheckContext, Finding, fault, note, ok, warning
from nightshift.app.extras import make_extras
from nightshift.app.submission import machine_check
from nightshift.app.suites import drop_event
from nightshift.config.places import ROOT, user_folders
from nightshift.core.errors import InvalidTask, StoreError
from nightshift.core.program import format_command
from nightshift.core.status import ExtraState
from nightshift.core.text.formats import duration
from nightshift.core.version import VERSION
from nightshift.git.protocol import OLDEST, version_of
from nightshift.queue.intake.marked_yaml import BrokenFile, Fault, limit_faults
from nightshift.queue.intake.tasks_file import Reading, load_file
from nightshift.queue.store import id_of_key
from nightshift.sandbox import node_program
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import LIBRARY, LIBRARY_VERSION, Error

if TYPE_CHECKING:
    from packaging.requirements import Requirement


OLDEST_PYTHON, OLDEST_SQLITE = (3, 11), (3, 38)


def check_versions(context: CheckContext) -> Iterator[Finding]:
    """Check the versions of the programs."""
    yield ok("nightshift", f"version {VERSION} in {ROOT}")
    yield _python()
    yield _sqlite()
    yield _git(context)
    yield _node(context)
    yield _go(context)


def check_packages(_: CheckContext) -> Iterator[Finding]:
    """Compare the installed packages with the list of packages that the daemon needs."""
    yield from against((ROOT / "nightshift" / "requirements" / "core.txt").read_text(encoding="utf-8"))


def check_extras(context: CheckContext) -> Iterator[Finding]:
    """List the optional packages."""
    for extra in make_extras(context.settings, drop_event).statuses():
        what = f"{extra.purpose}, about {extra.megabytes} MB"
        here = extra.state is ExtraState.INSTALLED
        yield ok(extra.name, what) if here else note(extra.name, f"{what}: {extra.detail}")


def against(requirements: str) -> Iterator[Finding]:
    """Compare the installed packages with the text of a requirements file."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415  pytest brings it

    wanted, findings = 0, list[Finding]()
    for line in requirements.splitlines():
        try:
            asked = Requirement(line.partition("#")[0].strip())
        except InvalidRequirement:  # an empty line, a comment or an option
            continue
        if asked.marker is None or asked.marker.evaluate():
            wanted += 1
            findings += _package(asked)
    yield from findings or [ok("packages", f"all {wanted} of nightshift/requirements/core.txt are installed")]


def _package(asked: Requirement) -> Iterator[Finding]:
    mend = f"make setup   (or: {sys.executable} -m pip install -r nightshift/requirements/core.txt)"
    try:
        version = importlib.metadata.version(asked.name)
    except importlib.metadata.PackageNotFoundError:
        yield fault(asked.name, "is not installed", mend)
        return
    if version not in asked.specifier:
        yield fault(asked.name, f"version {version} is installed, {asked.specifier} is required", mend)


def _python() -> Finding:
    text = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    if sys.version_info < OLDEST_PYTHON:
        return fault("python", text, f"install Python {_join_version(OLDEST_PYTHON)} or newer, then `make setup`")
    return ok("python", text)


def _sqlite() -> Finding:
    text = f"{LIBRARY_VERSION} ({LIBRARY})"
    if version_of(LIBRARY_VERSION) < OLDEST_SQLITE:
        return fault("sqlite", f"{text} is too old", "install pysqlite3-binary: `make setup`")
    return ok("sqlite", text)


def _git(context: CheckContext) -> Finding:
    version = _version_of(context, "git", "--version")
    if not version:
        return fault("git", "is not installed", "sudo apt-get install git")
    if version_of(version) < OLDEST:
        return fault("git", f"{version} is too old", f"install git {_join_version(OLDEST)} or newer")
    return ok("git", version)


def _node(context: CheckContext) -> Finding:
    version = _version_of(context, "node", "--version")
    if not version:
        return note("node", "is not installed: tasks in JavaScript are refused", f"install {node_program.NEEDED}")
    if not node_program.is_new_enough(version_of(version)):
        return warning("node", f"{version} is too old for tasks in JavaScript", f"install {node_program.NEEDED}")
    return ok("node", version)


def _go(context: CheckContext) -> Finding:
    version = _version_of(context, "go", "version")
    return (
        ok("go", version)
        if version
        else note("go", "is not on the PATH: tasks in Go need it", "install Go 1.18 or newer")
    )


def _version_of(context: CheckContext, program: str, *args: str) -> str:
    """Return the version line that a program prints; empty if there is no such program."""
    path = context.settings.process_environment.get("PATH", "")
    executable = shutil.which(program, path=path)
    if executable is None:
        return ""
    done = subprocess.run([executable, *args], capture_output=True, text=True, timeout=5, check=False, cwd=Path("/"))
    return done.stdout.strip()


def _join_version(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


NEAR = timedelta(seconds=60)
SERVICE = "nightshift.service"
_LINGER = Path("/var/lib/systemd/linger")
_SET_CLOCK = "timedatectl set-ntp true   (claims, reports and budgets depend on the clock)"


def check_intake(context: CheckContext) -> Iterator[Finding]:
    """Read `tasks.yaml` as the daemon would, and report its faults."""
    path = context.settings.tasks_file
    if not path.exists():
        yield ok("tasks.yaml", "does not exist; tasks can come in other ways")
        return
    try:
        reading = load_file(path)
    except BrokenFile as error:
        for line in str(error).splitlines()[:10]:
            yield fault("tasks.yaml", line, f"correct it in {path}; until then none of its entries is used")
        return
    faults = limit_faults([*reading.faults, *_list_refusals(context, reading)])
    for each in faults[:10]:
        yield fault("tasks.yaml", str(each), f"correct it in {path}; until then this entry waits, the others do not")
    count = reading.total
    if not faults:
        yield ok("tasks.yaml", f"{count} {'entry' if count == 1 else 'entries'}, all of them valid")
    yield from (note("tasks.yaml", text) for text in reading.notices)


def _list_refusals(context: CheckContext, reading: Reading) -> Iterator[Fault]:
    """Yield a fault for each new entry of `tasks.yaml` that the queue would refuse."""
    check = machine_check(context.settings)
    with ExitStack() as stack:
        db = context.settings.db_path
        conn = stack.enter_context(Database(db, readonly=True)).reader() if db.exists() else None
        for entry in reading.entries:
            if conn is None or id_of_key(conn, entry.key) is None:
                try:
                    check(entry.spec)
                except InvalidTask as invalid:
                    yield from entry.faults(invalid.fields)


def check_clock(context: CheckContext) -> Iterator[Finding]:
    """Compare the clock with the times of the stored events."""
    now = context.clock()
    try:
        with Database(context.settings.db_path, readonly=True, busy_s=1.0) as db:
            newest = max((event.at for event in EventLog(db).last(100) if event.at), default=now)
    except (StoreError, Error):  # the section on the database reports why
        newest = now
    if newest - now > NEAR:
        yield fault("clock", f"the newest event is {duration((newest - now).total_seconds())} ahead of it", _SET_CLOCK)
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def check_service(_: CheckContext) -> Iterator[Finding]:
    """Check whether the systemd unit exists, and whether it runs while nobody is logged in."""
    unit = user_folders().config.parent / "systemd" / "user" / SERVICE
    if not Path("/run/systemd/system").is_dir():
        yield note("service", "systemd does not run here: Nightshift must be started by hand, or by another program")
        return
    if not unit.exists():
        yield note(
            "service",
            f"{unit} is not installed: after a restart of the machine nothing starts Nightshift",
            f"{format_command('install-service')}   (docs/manual/service.md)",
        )
        return
    user = pwd.getpwuid(os.getuid()).pw_name
    yield ok("service", str(unit))
    if (_LINGER / user).exists():
        yield ok("linger", f"user services of {user} run while nobody is logged in")
    else:
        yield warning("linger", "the service ends when you log out", f"loginctl enable-linger {user}")
