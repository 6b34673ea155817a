"""Where everything lies: the checkout unless told otherwise."""

from __future__ import annotations

from pathlib import Path

from pydantic_settings import BaseSettings

ROOT = Path(__file__).resolve().parent.parent


class Places(BaseSettings):
    """The files and folders of one home."""

    home: Path = ROOT

    @property
    def db_path(self) -> Path:
        """The database."""
        return self.home / "db" / "agent_logs.sqlite"

    @property
    def tasks_file(self) -> Path:
        """The watched inbox."""
        return self.home / "tasks.yaml"

    @property
    def log_file(self) -> Path:
        """The log as JSON lines."""
        return self.home / "logs" / "agent.log"

    @property
    def workspace(self) -> Path:
        """The daemon's own repository, for tasks without one."""
        return self.home / "workspace"

    @property
    def reports_dir(self) -> Path:
        """Where the weekly reports go."""
        return self.home / "reports"

    @property
    def state_file(self) -> Path:
        """The hourly crash-recovery state."""
        return self.home / "state.json"

    @property
    def state_dir(self) -> Path:
        """Staging, locks and sockets."""
        return self.home / "state"

    @property
    def lock_file(self) -> Path:
        """Held by the daemon of this home as long as it lives."""
        return self.state_dir / "lock"

    @property
    def packages_dir(self) -> Path:
        """Packages that tasks may use, as they are shown inside the sandbox."""
        return self.state_dir / "packages"

    @property
    def port_file(self) -> Path:
        """The port that the daemon got, for those on this machine who want to speak to it."""
        return self.state_dir / "port"

    @property
    def token_file(self) -> Path:
        """The token of the API where the daemon has to make one of its own; only the owner can read it."""
        return self.state_dir / "token"

    @property
    def seal_file(self) -> Path:
        """The key that seals the evidence of commits; only the owner can read it."""
        return self.state_dir / "seal"

    @property
    def runner_dir(self) -> Path:
        """The test libraries shown inside the sandbox; made at set-up, shared by all homes of a checkout."""
        return ROOT / ".runner"
