"""The text of the systemd user unit: how the service manager starts, watches, reloads and stops the daemon.

What it leaves out matters as much. Sandboxes need user namespaces, mounts and, on some systems, a setuid bubblewrap or
an AppArmor profile that is entered on `exec`. Each of systemd's sandboxing options for user services brings
NoNewPrivileges or a user namespace of its own, and takes one of these away; so there is none of them here, and what
runs untrusted code is held by Nightshift's own sandboxes. `Delegate` gives those control groups of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from core.errors import ConfigError

NAME = "nightshift.service"
MARK = "# Written by `cli.py --install-service`; changes are lost when it is written again."
NOTIFY_RELOAD_SINCE = 253
"""The first systemd with `Type=notify-reload`; older ones get `notify` and a command for the reload."""
STOP_MARGIN_S = 40
"""Beyond draining: replies are stored, sandboxes and streams ended, the database closed and copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is started, and where. `systemd` is the version that will read the unit."""

    python: Path
    checkout: Path
    drain_s: float
    environment: Mapping[str, str] = field(default_factory=dict)
    systemd: int = NOTIFY_RELOAD_SINCE


def unit_text(service: Service) -> str:
    """The unit.

    Raises:
        ConfigError: a path holds what no unit file can say.
    """
    return (
        "\n".join([*_head(service), *_start(service), "", *_LIFE, f"TimeoutStopSec={_stop_s(service)}", *_TAIL]) + "\n"
    )


def _head(service: Service) -> list[str]:
    docs = quote(str(service.checkout / "docs" / "service.md")).replace("%", "%%")
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
        f"ExecStart={_program(service.python)} {_word(service.checkout / 'main.py', dollars=True)}",
        f"WorkingDirectory={_plain(service.checkout)}",
        *(f"Environment={_word(f'{name}={value}')}" for name, value in service.environment.items()),
    ]


def _stop_s(service: Service) -> int:
    return round(service.drain_s) + STOP_MARGIN_S


_LIFE = (
    "# Fed from the workers' loop while it is healthy; SIGABRT makes the daemon write where each thread stands.",
    "WatchdogSec=30",
    "Restart=on-failure",
    "RestartSec=10",
    "# Wrong settings (2) and another daemon on the same home (3) do not go away by trying again.",
    "RestartPreventExitStatus=2 3",
    "TimeoutStartSec=300",
    "# SIGTERM drains for DRAIN_S; what is left after this is killed, and goes on at the next start.",
)
_TAIL = (
    "KillMode=mixed",
    "",
    "# Sandboxes get control groups of their own; one that runs out of memory is no reason to stop the daemon.",
    "Delegate=cpu io memory pids",
    "OOMPolicy=continue",
    "# All of it stands back for what you do at the machine.",
    "CPUWeight=50",
    "IOWeight=50",
    "LimitCORE=0",
    "",
    "[Install]",
    "WantedBy=default.target",
)


def _plain(value: object) -> str:
    """A value that takes the rest of its line."""
    text = str(value)
    if any(character in text for character in "\n\r\0"):
        raise ConfigError([f"{text!r} holds a line break, which a unit file cannot say; use another folder"])
    return text.replace("%", "%%")


def _program(path: Path) -> str:
    """The first word of a command, of which systemd takes fewer characters than of the others."""
    if any(character in str(path) for character in "\"'\\$"):
        raise ConfigError([f"{path}: systemd starts no program with such a name; use a checkout in another folder"])
    return _word(path)


def _word(value: object, *, dollars: bool = False) -> str:
    """One word of a line, quoted as systemd reads it; in commands a dollar sign would begin a variable."""
    text = _plain(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text.replace("$", "$$") if dollars else text}"'
