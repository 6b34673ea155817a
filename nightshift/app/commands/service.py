"""`install-service` and `uninstall-service`: the systemd user unit of this checkout and home.

The unit deliberately uses none of systemd's sandboxing options. Nightshift's own sandboxes run all untrusted code, and
need user namespaces, mounts and, on some systems, a setuid bubblewrap or an AppArmor profile that is entered on `exec`.
Each of systemd's options for user services implies NoNewPrivileges or a user namespace, either of which makes some of
these impossible. `Delegate` gives the sandboxes their own control groups.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from nightshift.client.errors import Exit
from nightshift.client.output import Cell
from nightshift.client.session import Session
from nightshift.config.load import Settings
from nightshift.config.places import ROOT, user_folders
from nightshift.core.errors import ConfigError
from nightshift.core.program import format_command
from nightshift.storage.files.whole import write_whole

NAME = "nightshift.service"
MARK = "# Written by `nightshift install-service`; changes are lost when it is written again."
MARKS = (MARK, "# Written by `cli.py --install-service`; changes are lost when it is written again.")
"""The first lines of units that this version and earlier versions wrote. A unit with another first line is not ours."""
NOTIFY_RELOAD_SINCE = 253
"""The first systemd version with `Type=notify-reload`; units for older versions use `notify` and a reload command."""
STOP_MARGIN_S = 40
"""Seconds that a stop may take in addition to draining, to store replies, end sandboxes and streams, and close and copy
the database.
"""
ENABLE = (
    "systemctl --user daemon-reload",
    f"systemctl --user enable --now {NAME}",
    "loginctl enable-linger  # so that it runs while you are logged out",
    f"journalctl --user -u {NAME} -f  # its log",
)
DISABLE = (f"systemctl --user disable --now {NAME}", "systemctl --user daemon-reload")


def install(session: Session, *, dry_run: bool) -> int:
    """Write the unit, or print it with `--dry-run`.

    Raises:
        ConfigError: Nightshift did not write the existing file, or the unit cannot be written.
    """
    path, text = unit_path(), unit_text(_service(session.settings, systemd_version()))
    if not dry_run:
        _refuse_foreign(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise ConfigError([f"{path} cannot be written: {error.strerror}"]) from error
    if session.out.as_json:
        fields = {"path": str(path), "text": text, "written": not dry_run, "commands": list(ENABLE)}
        session.out.document(fields)
        return Exit.OK
    if dry_run:
        session.out.note(f"this would be written to {path}:")
        session.out.text(text.rstrip("\n"))
    else:
        session.out.line(Cell(f"written: {path}"))
    _note_commands(session, "then type" if dry_run else "now type", ENABLE)
    return Exit.OK


def uninstall(session: Session, *, dry_run: bool) -> int:
    """Remove the unit, or print what would be removed with `--dry-run`.

    Raises:
        ConfigError: Nightshift did not write the existing file, or the file cannot be removed.
    """
    path = unit_path()
    there = path.exists()
    if there:
        _refuse_foreign(path)
    if there and not dry_run:
        try:
            path.unlink()
        except OSError as error:
            raise ConfigError([f"{path} cannot be removed: {error.strerror}"]) from error
    done = ("would be removed" if dry_run else "removed") if there else "there is no unit"
    fields = {"path": str(path), "removed": there and not dry_run, "commands": list(DISABLE)}
    session.print(fields, Cell(f"{done}: {path}"))
    if there and not session.out.as_json:
        _note_commands(session, "if it is enabled, type", DISABLE)
    return Exit.OK


def unit_path() -> Path:
    """Return the path at which this user's service manager looks for the unit."""
    return user_folders().config.parent / "systemd" / "user" / NAME


def systemd_version() -> int:
    """Return the installed systemd version; assume a current version if `systemctl` is missing or does not answer."""
    program = shutil.which("systemctl")
    if program is None:
        return NOTIFY_RELOAD_SINCE
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return NOTIFY_RELOAD_SINCE
    match = re.match(r"systemd (\d+)", answer.stdout)
    return int(match[1]) if match else NOTIFY_RELOAD_SINCE


def _service(settings: Settings, systemd: int) -> Service:
    return Service(
        python=Path(sys.executable),
        checkout=ROOT,
        drain_s=settings.drain_s,
        environment={**where(settings), "PYTHONUNBUFFERED": "1"},
        systemd=systemd,
    )


def where(settings: Settings) -> Mapping[str, str]:
    """Return the environment variables that make the daemon use the same folders as this shell.

    They are needed because the service manager's environment may differ.
    """
    if settings.folders is None:
        return {"NIGHTSHIFT_HOME": str(settings.home)}
    own = settings.folders
    bases = {"CONFIG": own.config, "DATA": own.data, "STATE": own.state, "CACHE": own.cache}
    return {"NIGHTSHIFT_LAYOUT": "xdg", **{f"XDG_{name}_HOME": str(path.parent) for name, path in bases.items()}}


def _refuse_foreign(path: Path) -> None:
    try:
        ours = path.read_text(encoding="utf-8", errors="replace").startswith(MARKS)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {error.strerror}"]) from error
    if not ours:
        raise ConfigError([f"{path} was not written by {format_command('install-service')}; move it away first"])


def _note_commands(session: Session, when: str, commands: Sequence[str]) -> None:
    session.out.note(f"{when}:")
    for command in commands:
        session.out.note(f"  {command}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The paths that a unit names. `systemd` is the version of systemd that will read the unit."""

    python: Path
    checkout: Path
    drain_s: float
    environment: Mapping[str, str] = field(default_factory=dict)
    systemd: int = NOTIFY_RELOAD_SINCE


def unit_text(service: Service) -> str:
    """Return the text of the unit.

    Raises:
        ConfigError: a path contains a character that a unit file cannot contain.
    """
    return (
        "\n".join([*_head(service), *_start(service), "", *_LIFE, f"TimeoutStopSec={_stop_s(service)}", *_TAIL]) + "\n"
    )


def _head(service: Service) -> list[str]:
    docs = quote(str(service.checkout / "docs" / "manual" / "service.md")).replace("%", "%%")
    return [
        MARK,
        "[Unit]",
        "Description=Nightshift, a coding agent that works while its owner does not",
        f"Documentation=file://{docs}",
        "StartLimitIntervalSec=900",
        "StartLimitBurst=5",
        "",
    ]


def _start(service: Service) -> list[str]:
    new = service.systemd >= NOTIFY_RELOAD_SINCE
    return [
        "[Service]",
        f"Type={'notify-reload' if new else 'notify'}",
        *([] if new else ["ExecReload=/bin/kill -HUP $MAINPID"]),
        "NotifyAccess=main",
        f"ExecStart={_program(service.python)} -m nightshift daemon",
        f"WorkingDirectory={_unit_value(service.checkout)}",
        *(f"Environment={_word(f'{name}={value}')}" for name, value in service.environment.items()),
    ]


def _stop_s(service: Service) -> int:
    return round(service.drain_s) + STOP_MARGIN_S


_LIFE = (
    "# Fed from the workers' loop while it is healthy; SIGABRT makes the daemon write the stack of each thread.",
    "WatchdogSec=30",
    "Restart=on-failure",
    "RestartSec=10",
    "# A restart does not help with wrong settings (2) or another daemon on the same home (3).",
    "RestartPreventExitStatus=2 3",
    "TimeoutStartSec=300",
    "# SIGTERM drains for DRAIN_S; what is left after this is killed, and continues at the next start.",
)
_TAIL = (
    "KillMode=mixed",
    "",
    "# Sandboxes get control groups of their own; one that runs out of memory is no reason to stop the daemon.",
    "Delegate=cpu io memory pids",
    "OOMPolicy=continue",
    "# All of it yields to what you do at the machine.",
    "CPUWeight=50",
    "IOWeight=50",
    "LimitCORE=0",
    "",
    "[Install]",
    "WantedBy=default.target",
)


def _unit_value(value: object) -> str:
    """Escape a value that extends to the end of its line in a unit."""
    text = str(value)
    if any(character in text for character in "\n\r\0"):
        raise ConfigError([f"{text!r} contains a line break, which a unit file cannot contain; use another folder"])
    return text.replace("%", "%%")


def _program(path: Path) -> str:
    """Escape the program of a command in a unit; systemd allows fewer characters in it than in the arguments."""
    if any(character in str(path) for character in "\"'\\$"):
        raise ConfigError([f"{path}: systemd cannot start a program of that name; use a checkout in another folder"])
    return _word(path)


def _word(value: object) -> str:
    """Quote one argument of a command in a unit for systemd."""
    text = _unit_value(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
