"""A home for tests of the command line. Calls run in this process; a real server can hold the daemon's lock."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nightshift.__main__ import load_application
from nightshift.client.command import call
from nightshift.config.load import load_settings
from nightshift.core.status import DaemonStatus, ModelStatus, WorkerStatus
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.queue.manager import QueueManager
from nightshift.server.context import AppContext
from nightshift.server.serving.host import Host
from nightshift.server.serving.listen import Listen
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.db.step_store import StepStore
from tests.support.app_context import Reloads, install
from tests.support.ready_database import ready

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class CliResult:
    """The exit code of a call and its output."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A daemon's home: a folder with the settings, the database and the daemon's other files."""

    path: Path
    capture: pytest.CaptureFixture[str]

    def cli(self, *arguments: str) -> CliResult:
        """Call the command line in this process. Use `run` where a test depends on a real process."""
        self.capture.readouterr()
        code = call(load_application, [*arguments, "--home", str(self.path)])
        result = self.capture.readouterr()
        return CliResult(code=int(code), out=result.out, err=result.err)

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> CliResult:
        """Run cli.py as a process, with pipes instead of a terminal."""
        env = {"PATH": "/usr/bin:/bin", "NIGHTSHIFT_HOME": str(self.path), **environment}
        argv = [sys.executable, str(ROOT / "cli.py"), *arguments]
        done = subprocess.run(
            argv, env=env, cwd=self.path, input=stdin, capture_output=True, text=True, timeout=30, check=False
        )
        return CliResult(code=done.returncode, out=done.stdout, err=done.stderr)

    def context(self) -> AppContext:
        """Return the services behind the API on this home's database. The caller closes the database."""
        database = Database(ready(load_settings(home=self.path).db_path))
        events = EventLog(database)
        queue = QueueManager(database, events)

        def status() -> DaemonStatus:
            return DaemonStatus(
                state=queue.pause_state().state,
                holds=queue.pause_state().reasons,
                uptime_s=3725.5,
                version="0.1.0",
                workers=(
                    WorkerStatus(name="worker-1", task_id=1, phase=Phase.CODING, iteration=2, last_line="\x1b[31m!"),
                ),
                queue={status: count for status, count in queue.counts().items() if count},
                models=(ModelStatus(name="ollama", model="small", available=True, calls=3, latency_s=1.5),),
                next_checkpoint_at=datetime(2026, 11, 28, 6, tzinfo=UTC),
                sandbox="bubblewrap",
                notices=("no embedder",),
                pid=4711,
                unread=StateStore(database).unread_count(),
            )

        return AppContext(
            database=database,
            events=events,
            mask=Masker(),
            queue=queue,
            steps=StepStore(database, events),
            status=status,
            reload=Reloads(),
            install_extra=install,
        )

    @contextmanager
    def daemon(self, context: AppContext | None = None, **listen: Any) -> Iterator[AppContext]:
        """Serve this home's database, with the daemon's lock and port file but without workers."""
        settings, context = load_settings(home=self.path), context or self.context()
        with InstanceLock(settings.lock_file):
            host = Host(context, Listen(**{"port": 0, **listen}))
            host.start()
            settings.port_file.write_text(str(host.port))
            try:
                yield context
            finally:
                host.stop()
                settings.port_file.unlink()
                context.database.close()
