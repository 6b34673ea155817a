"""Installation from a wheel into a separate environment, the way pipx and uv install a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.app import packages
from nightshift.core.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
UV = packages.uv_program(Path(sys.executable))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel of all files that git tracks.

    The wheel is built from a copy of the files, because a build writes into its tree.
    """
    folder = tmp_path_factory.mktemp("installed")
    source, venv = folder / "source", folder / "venv"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    source.mkdir()
    copying = ["tar", "--null", "--files-from=-", "-c"]
    packed = subprocess.run(copying, cwd=ROOT, input=files, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)
    environ = packages.uv_environ(Path(sys.executable), {"PATH": os.environ["PATH"], "HOME": str(folder)})

    def uv(*words: str | Path) -> None:
        subprocess.run([UV, *words], env=environ, check=True, stdin=subprocess.DEVNULL)

    uv("build", "-q", "--wheel", "-o", folder, source)
    (wheel,) = folder.glob("*.whl")
    uv("venv", "-q", "--python", sys.executable, venv)
    bounds = ["-c", "nightshift/requirements/constraints.txt"]
    uv("pip", "install", "-q", "--python", venv / "bin" / "python", *bounds, wheel)
    return venv


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "FLASK_PORT": "0", "EXTRAS": "off"}


def test_the_wheel_adds_two_packages_and_no_other_name(installed: Path) -> None:
    code = (
        "from importlib.metadata import distribution;"
        "names = {file.parts[0] for file in distribution('nightshift-agent').files if file.suffix == '.py'};"
        "print(*sorted(names))"
    )
    argv = [str(installed / "bin" / "python"), "-I", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nightshift", "nightshift_engine"]


def test_it_serves_a_daemon_that_works_in_the_users_folders(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environ = environment(home)

    def nightshift(*words: str) -> str:
        argv = [str(installed / "bin" / "nightshift"), *words]
        done = subprocess.run(argv, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert nightshift("--version") == f"Nightshift {VERSION}\n"
    daemon = subprocess.Popen(
        [installed / "bin" / "nightshift-daemon"], env=environ, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert daemon.stdout
        assert any("is up" in line for line in daemon.stdout)
        status = json.loads(nightshift("--json", "status"))
        assert status["pid"] == daemon.pid
        assert "repair" in {model["name"] for model in status["models"]}
    finally:
        daemon.terminate()
        daemon.communicate()
    assert daemon.returncode == 0
    assert (home / ".local" / "share" / "nightshift" / "db").is_dir()
