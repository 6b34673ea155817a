"""`--install-service` and `--uninstall-service`: the systemd user unit of this checkout and home."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from client.asked import Asked
from client.blocks import Cell
from client.exits import Exit
from client.session import Session
from client.unit import MARK, NAME, NOTIFY_RELOAD_SINCE, Service, unit_text
from config import Settings, user_folders
from core.errors import ConfigError
from files.whole import write_whole
from settings.places import ROOT

ENABLE = (
    "systemctl --user daemon-reload",
    f"systemctl --user enable --now {NAME}",
    "loginctl enable-linger  # so that it runs while you are logged out",
    f"journalctl --user -u {NAME} -f  # what it says",
)
DISABLE = (f"systemctl --user disable --now {NAME}", "systemctl --user daemon-reload")


def install(session: Session, asked: Asked) -> int:
    """Write the unit, or with `--dry-run` show it.

    Raises:
        ConfigError: the file there is somebody else's, or cannot be written.
    """
    path, text = unit_path(), unit_text(_service(session.settings, systemd_version()))
    if not asked.dry_run:
        _refuse_foreign(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise ConfigError([f"{path} cannot be written: {error.strerror}"]) from error
    if session.out.as_json:
        fields = {"path": str(path), "text": text, "written": not asked.dry_run, "commands": list(ENABLE)}
        session.out.mapping(fields)
        return Exit.OK
    if asked.dry_run:
        session.out.note(f"this would be written to {path}:")
        session.out.document(text.rstrip("\n"))
    else:
        session.out.line(Cell(f"written: {path}"))
    _say_commands(session, "then type" if asked.dry_run else "now type", ENABLE)
    return Exit.OK


def uninstall(session: Session, asked: Asked) -> int:
    """Remove the unit, or with `--dry-run` say what would be removed.

    Raises:
        ConfigError: the file there is somebody else's, or cannot be removed.
    """
    path = unit_path()
    there = path.exists()
    if there:
        _refuse_foreign(path)
    if there and not asked.dry_run:
        try:
            path.unlink()
        except OSError as error:
            raise ConfigError([f"{path} cannot be removed: {error.strerror}"]) from error
    done = ("would be removed" if asked.dry_run else "removed") if there else "there is no unit"
    fields = {"path": str(path), "removed": there and not asked.dry_run, "commands": list(DISABLE)}
    session.result(fields, Cell(f"{done}: {path}"))
    if there and not session.out.as_json:
        _say_commands(session, "if it is enabled, type", DISABLE)
    return Exit.OK


def unit_path() -> Path:
    """Where the service manager of this user looks."""
    return user_folders().config.parent / "systemd" / "user" / NAME


def systemd_version() -> int:
    """The version that is installed here; a current one where none can be asked."""
    program = shutil.which("systemctl")
    if program is None:
        return NOTIFY_RELOAD_SINCE
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return NOTIFY_RELOAD_SINCE
    found = re.match(r"systemd (\d+)", said)
    return int(found[1]) if found else NOTIFY_RELOAD_SINCE


def _service(settings: Settings, systemd: int) -> Service:
    return Service(
        python=Path(sys.executable),
        checkout=ROOT,
        drain_s=settings.drain_s,
        environment={**_where(settings), "PYTHONUNBUFFERED": "1"},
        systemd=systemd,
    )


def _where(settings: Settings) -> Mapping[str, str]:
    """The variables that lead the daemon to where this shell would look; the manager's own environment may differ."""
    if settings.folders is None:
        return {"NIGHTSHIFT_HOME": str(settings.home)}
    own = settings.folders
    bases = {"CONFIG": own.config, "DATA": own.data, "STATE": own.state, "CACHE": own.cache}
    return {"NIGHTSHIFT_LAYOUT": "xdg", **{f"XDG_{name}_HOME": str(path.parent) for name, path in bases.items()}}


def _refuse_foreign(path: Path) -> None:
    try:
        ours = path.read_text(encoding="utf-8", errors="replace").startswith(MARK)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {error.strerror}"]) from error
    if not ours:
        raise ConfigError([f"{path} was not written by --install-service; move it away first"])


def _say_commands(session: Session, when: str, commands: Sequence[str]) -> None:
    session.out.note(f"{when}:")
    for command in commands:
        session.out.note(f"  {command}")
