"""Installed from a wheel into an environment of its own, as pipx and uv do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from nightshift.app import packages
from nightshift.core.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
UV = packages.uv_program(Path(sys.executable))


def test_a_wheel_brings_the_command_line_and_a_daemon_that_works_in_the_users_folders(tmp_path: Path) -> None:
    source, home, venv = tmp_path / "source", tmp_path / "home", tmp_path / "venv"
    home.mkdir()
    environ = packages.uv_environ(Path(sys.executable), {"PATH": os.environ["PATH"], "HOME": str(home)})
    # A copy of what git knows: a build writes into its tree.
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    source.mkdir()
    copying = ["tar", "--null", "--files-from=-", "-c"]
    packed = subprocess.run(copying, cwd=ROOT, input=files, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)

    def uv(*words: str | Path) -> None:
        subprocess.run([UV, *words], env=environ, check=True, stdin=subprocess.DEVNULL)

    uv("build", "-q", "--wheel", "-o", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")
    uv("venv", "-q", "--python", sys.executable, venv)
    uv(
        "pip",
        "install",
        "-q",
        "--python",
        venv / "bin" / "python",
        "-c",
        "nightshift/requirements/constraints.txt",
        wheel,
    )

    def nightshift(*words: str) -> str:
        argv = [str(venv / "bin" / "nightshift"), *words]
        done = subprocess.run(argv, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert nightshift("--version") == f"Nightshift {VERSION}\n"
    daemon = subprocess.Popen(
        [venv / "bin" / "nightshift-daemon"],
        env={**environ, "FLASK_PORT": "0", "EXTRAS": "off"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert daemon.stdout
        assert any("is up" in line for line in daemon.stdout)
        assert json.loads(nightshift("--json", "status"))["pid"] == daemon.pid
    finally:
        daemon.terminate()
        daemon.communicate()
    assert daemon.returncode == 0
    assert (home / ".local" / "share" / "nightshift" / "db").is_dir()
