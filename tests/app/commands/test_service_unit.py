"""The generated systemd unit is one that systemd accepts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nightshift.app.commands.service import Service, unit_text
from nightshift.core.errors import ConfigError

STRANGE = '/srv/night shift/100%s/$HOME "q" \\ ü'


def service(**more: object) -> Service:
    given = {"python": Path("/srv/venv/bin/python"), "checkout": Path("/srv/nightshift"), "drain_s": 20.0, **more}
    return Service(**given)  # type: ignore[arg-type]  # the fields by name


def lines(**more: object) -> list[str]:
    return unit_text(service(**more)).splitlines()


def test_no_option_takes_away_what_sandboxes_need() -> None:
    """The unit sets no option that would prevent sandboxes.

    In user services, each of these options implies NoNewPrivileges, a user namespace or a system call filter.
    """
    keys = {line.partition("=")[0] for line in lines()}
    harmful = {"NoNewPrivileges", "SystemCallFilter", "MemoryDenyWriteExecute"}
    assert not harmful & keys
    assert not [key for key in keys if key.startswith(("Restrict", "Protect", "Private", "Lock"))]


def test_paths_that_systemd_would_read_otherwise_are_written_so_that_it_does_not() -> None:
    unit = lines(checkout=Path(STRANGE), environment={"NIGHTSHIFT_HOME": STRANGE})
    assert 'ExecStart="/srv/venv/bin/python" -m nightshift daemon' in unit
    assert 'WorkingDirectory=/srv/night shift/100%%s/$HOME "q" \\ ü' in unit
    assert r'Environment="NIGHTSHIFT_HOME=/srv/night shift/100%%s/$HOME \"q\" \\ ü"' in unit


def test_a_line_break_is_refused() -> None:
    with pytest.raises(ConfigError, match="line break"):
        lines(environment={"NIGHTSHIFT_HOME": "/srv\nExecStartPre=/bin/evil"})


def test_systemd_itself_finds_no_fault(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        return  # a machine without systemd needs no unit
    odd, python = tmp_path / 'a b 100%s $HOME "q" \\ ü', tmp_path / "a b 100%s ü" / "python"
    (odd / "docs" / "manual").mkdir(parents=True)
    python.parent.mkdir()
    python.touch(mode=0o755)
    unit = tmp_path / "nightshift.service"
    text = unit_text(service(python=python, checkout=odd, environment={"A": str(odd)}, systemd=0))
    unit.write_text(text)
    assert _verify(program, unit, tmp_path) == ""
    unit.write_text(text.replace("Type=notify", "Type=notified"))
    assert "Failed to parse service type" in _verify(program, unit, tmp_path), "it looks at what it is given"


def _verify(program: str, unit: Path, runtime: Path) -> str:
    env = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(runtime), "HOME": str(runtime), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [program, "--user", "verify", str(unit)], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr
