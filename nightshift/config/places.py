"""The paths of all files: below one home (by default the checkout) or in the user's XDG folders.

The paths follow from the environment alone, so this module needs neither the other settings nor the libraries that read
them.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from nightshift.config.layout import Folders, xdg_folders
from nightshift.core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
IS_CHECKOUT = (ROOT / "Makefile").exists()
"""True for a checkout, False if the package is installed in an environment."""


class Layout:
    """The files and folders of one daemon. `folders` is None if everything is below `home`."""

    home: Path = ROOT
    folders: Folders | None = None

    @property
    def config_dir(self) -> Path:
        """The folder of `config.yaml`, `settings.overrides.yaml` and `.env`."""
        return self.folders.config if self.folders else self.home

    @property
    def config_file(self) -> Path:
        """The owner's settings."""
        return self.config_dir / "config.yaml"

    @property
    def overrides_file(self) -> Path:
        """The file that the settings page writes; it overrides `config.yaml`."""
        return self.config_dir / "settings.overrides.yaml"

    @property
    def dotenv_file(self) -> Path:
        """A file of environment variables, which override both settings files."""
        return self.config_dir / ".env"

    @property
    def db_path(self) -> Path:
        """The database."""
        return self.home / "db" / "agent_logs.sqlite"

    @property
    def benchmark_db_path(self) -> Path:
        """The database of the benchmark: items, arms and results."""
        return self.db_path.with_name("benchmark.sqlite")

    @property
    def benchmark_dir(self) -> Path:
        """The folder with a home for each arm of the benchmark, while a run lasts."""
        return self.state_dir / "benchmark"

    @property
    def benchmark_lock_file(self) -> Path:
        """Lock file of a run of the benchmark."""
        return self.benchmark_dir / "lock"

    @property
    def backups_dir(self) -> Path:
        """The folder of the database's backups: the newest ones, and daily ones of earlier days."""
        return self.db_path.parent / "backups"

    @property
    def tasks_file(self) -> Path:
        """The file `tasks.yaml`, from which the daemon takes new tasks."""
        return self.home / "tasks.yaml"

    @property
    def log_file(self) -> Path:
        """The log as JSON lines."""
        return (self.folders.state if self.folders else self.home) / "logs" / "agent.log"

    @property
    def workspace(self) -> Path:
        """The daemon's own repository, for tasks that name no repository."""
        return self.home / "workspace"

    @property
    def reports_dir(self) -> Path:
        """The folder of the weekly reports."""
        return self.home / "reports"

    @property
    def state_file(self) -> Path:
        """The state for recovery after a crash, written hourly."""
        return (self.folders.state if self.folders else self.home) / "state.json"

    @property
    def state_dir(self) -> Path:
        """The folder for keys, and for files that are prepared for the sandbox."""
        return self.folders.state if self.folders else self.home / "state"

    @property
    def lock_file(self) -> Path:
        """Lock file that the daemon of this home holds while it lives."""
        return self._open_dir / "lock"

    @property
    def db_lock_file(self) -> Path:
        """Second lock file of the daemon, beside the database.

        If two paths lead to the same database, for example through a symbolic link, both lead to this one lock file.
        """
        return self.db_path.resolve().with_name(self.db_path.name + ".lock")

    @property
    def packages_dir(self) -> Path:
        """Packages that tasks may use, in the same layout as inside the sandbox."""
        return (self.folders.cache if self.folders else self.state_dir) / "packages"

    @property
    def environments_dir(self) -> Path:
        """The environments of repositories, in the same layout as inside the sandbox."""
        return (self.folders.cache if self.folders else self.state_dir) / "environments"

    @property
    def port_file(self) -> Path:
        """The file with the daemon's port, for programs on this machine."""
        return self._open_dir / "port"

    @property
    def access_file(self) -> Path:
        """The cache of settings for the command line, written after a reading without faults (`config.access`)."""
        return (self.folders.cache if self.folders else self.state_dir) / "access.json"

    @property
    def token_file(self) -> Path:
        """The file with the API token, if the daemon has to create a token. Only the owner can read it."""
        return self.state_dir / "token"

    @property
    def seal_file(self) -> Path:
        """The file with the key that seals the evidence of commits.

        Only the owner can read the file. Without the key, old evidence cannot be checked.
        """
        return (self.folders.data if self.folders else self.state_dir) / "seal"

    @property
    def hub_dir(self) -> Path:
        """The folder for this machine as a node of a hub: its key, and clones of other nodes' repositories."""
        return (self.folders.data if self.folders else self.state_dir) / "hub"

    @property
    def runner_dir(self) -> Path:
        """The test libraries that are visible inside the sandbox.

        The folder is created at set-up, and shared by all homes of a checkout.
        """
        if IS_CHECKOUT:
            return ROOT / ".runner"
        return (self.folders.cache if self.folders else self.state_dir) / "runner"

    @property
    def _open_dir(self) -> Path:
        """The folder of files that exist only while a daemon runs."""
        return self.folders.runtime if self.folders else self.state_dir

    def make_folders(self) -> None:
        """Create the XDG folders. Only the owner can access them, as the specification requires.

        Nothing is created for a home, because it exists already.

        Raises:
            OSError: A folder cannot be created.
        """
        if self.folders is None:
            return
        own = self.folders
        for folder in (own.config, own.data, own.state, own.cache, own.runtime):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True, kw_only=True)
class Places(Layout):
    """The files and folders of one daemon, without its settings."""

    home: Path = ROOT
    folders: Folders | None = None


def find_places(home: Path | None = None, layout: str | None = None) -> Places:
    """Return the paths of `home`, or of the home that the environment names; none of the paths needs to exist.

    Args:
        home: The folder of `config.yaml`, the database and the other files.
        layout: `home` or `xdg`.

    Raises:
        ConfigError: The environment contradicts itself.
    """
    asked = os.environ.get("NIGHTSHIFT_HOME", "") if home is None else str(home)
    if layout is None:
        layout = "home" if home else os.environ.get("NIGHTSHIFT_LAYOUT", "")
    if layout not in {"", "home", "xdg"}:
        raise ConfigError([f"NIGHTSHIFT_LAYOUT: {layout!r} is neither home nor xdg"])
    if layout == "xdg" and asked:
        raise ConfigError([f"NIGHTSHIFT_LAYOUT: xdg contradicts NIGHTSHIFT_HOME={asked}; unset one of them"])
    if layout == "xdg" or not (layout or asked or (IS_CHECKOUT and os.access(ROOT, os.W_OK))):
        folders = user_folders()
        return Places(home=folders.data, folders=folders)
    return Places(home=(Path(asked) if asked else ROOT).expanduser().resolve(), folders=None)


def place_is_given() -> bool:
    """Return True if an environment variable sets the home or the layout."""
    return bool(os.environ.get("NIGHTSHIFT_HOME") or os.environ.get("NIGHTSHIFT_LAYOUT"))


def user_folders() -> Folders:
    """Return the XDG folders of the user who runs this process."""
    return xdg_folders(os.environ, Path.home(), os.getuid())


def is_held(*paths: Path) -> bool:
    """Return True if a living process holds one of the locks. A lock file can exist without a holder."""
    return any(map(_is_one_held, paths))


def _is_one_held(path: Path) -> bool:
    try:
        with path.open("r", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
