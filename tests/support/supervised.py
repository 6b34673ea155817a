"""A home whose daemon is restarted whenever it dies, as a service manager would do, with access to its state."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.support.daemon import ENDED, Daemon, git, settings_for
from tests.support.fork_server import ForkServer
from tests.support.wire_server import WireServer

PR_SET_CHILD_SUBREAPER = 36
GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A durable point, identified by its name and by how often that name had occurred since the run began."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name} #{self.number}"

    @property
    def moments(self) -> tuple[str, ...]:
        return ("before", "sent", "after") if self.name.startswith(("git:", "ref:")) else ("before", "after")

    @property
    def tells_only(self) -> bool:
        """True if only log lines become durable here."""
        parts = self.name.removeprefix("db: ").split("; ")
        return self.name.startswith("db:") and all(part.startswith("insert execution_logs") for part in parts)

    @property
    def incidental(self) -> bool:
        """True if the point's time depends on the clock, as when a lease is renewed or the state file is saved."""
        return self.name in {"db: update tasks", "file: state.json"} or "agent_logs-" in self.name


def adopt_orphans() -> None:
    """Become the parent of every process that a dead daemon leaves behind, so that tests can find the process."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def children() -> set[int]:
    """Return the ids of this process's children, including those that have ended but were not reaped yet."""
    pids = set()
    for file in Path("/proc/self/task").glob("*/children"):
        pids |= {int(pid) for pid in file.read_text().split()}
    return pids


class ForkedDaemon(Daemon):
    """A daemon that the fork server starts."""

    def __init__(self, home: Path, settings: Mapping[str, str], fork_server: ForkServer) -> None:
        super().__init__(home, settings)
        self._fork_server, self.pids = fork_server, set[int]()

    def begin(self) -> None:
        """Start the daemon without waiting until it answers."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.process = self._spawn()

    def _spawn(self) -> Any:
        forked = self._fork_server.start(self.environment(), self.home, self.home / "daemon.out")
        self.pids.add(forked.pid)
        return forked


class SupervisedDaemon:
    """The home, its daemon, and its scripted model.

    Args:
        folder: an empty folder.
        server: the model.
        fork_server: starts the daemon.
        settings: settings of the daemon, on top of the usual ones.
    """

    def __init__(self, folder: Path, server: WireServer, fork_server: ForkServer, **settings: str) -> None:
        self.folder, self.server = folder, server
        self.home, self._crashes, self._tmp = folder / "home", folder / "crashes", folder / "tmp"
        for path in (self._crashes, self._tmp):
            path.mkdir(parents=True)
        # An attempt's number decides whether it sees no lessons (the control share), so two runs would differ.
        fixed = {"CRASH_DIR": str(self._crashes), "TMPDIR": str(self._tmp), "RECALL_CONTROL_SHARE": "0"}
        more = {**fixed, **settings}
        self.daemon = ForkedDaemon(self.home, settings_for(server, **more), fork_server)
        self.deaths = 0
        self._next = ""
        self._before: set[int] = set()

    def __enter__(self) -> Self:
        adopt_orphans()
        self._before = children()
        self.daemon.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            assert self.stop() == 0
        elif self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()

    # The methods below order the daemon to kill itself at durable points.

    def order(self, label: str, point: Point | None = None, moment: str = "") -> None:
        """Start a new count of points under a label, and order the daemon to die at a point if one is given."""
        self._give(_orders(label, point, moment))

    def order_next(self, label: str, point: Point | None = None, moment: str = "") -> None:
        """Keep these orders for the daemon that starts after the next death."""
        self._next = _orders(label, point, moment)

    def _give(self, orders: str) -> None:
        draft = self._crashes / "draft"
        draft.write_text(orders)
        draft.replace(self._crashes / "orders.json")

    def points(self, label: str) -> list[Point]:
        """List the points that the run with that label passed."""
        rows = (line.split("\t", 2) for line in (self._crashes / "points.log").read_text().splitlines())
        return [Point(name=name, number=int(number)) for point_label, number, name in rows if point_label == label]

    # The methods below use the daemon and restart it.

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Repeat a request until it gets a response, even if the daemon dies meanwhile.

        Return the status and the answer.
        """
        while True:
            try:
                status, answer = self.daemon.ask(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                self.revive()
                continue
            return (status, answer)

    def revive(self) -> None:
        """Start the daemon again after it was killed; any other end is an error."""
        process = self.daemon.process
        assert process
        assert process.wait(20) == -signal.SIGKILL, self.daemon.output()[-3000:]
        (self._crashes / "orders.json").unlink(missing_ok=True)
        self.deaths += 1
        if self._next:
            self._give(self._next)
            self._next = ""
        self.start()

    def start(self) -> None:
        """Start the daemon. If a crash that a test ordered kills it during the start, start it again."""
        try:
            self.daemon.start()
        except AssertionError:
            if self.daemon.process is None or self.daemon.process.poll() != -signal.SIGKILL:
                raise
            self.revive()

    def submit(self, **task: Any) -> int:
        """Submit a task. Its idempotency key makes a repeated request safe."""
        status, answer = self.ask("POST", "/api/task", task)
        assert status in {200, 201}, answer
        return int(answer["task_id"])

    def task(self, task_id: int) -> dict[str, Any]:
        status, answer = self.ask("GET", f"/api/task/{task_id}")
        assert status == 200, answer
        return dict(answer)

    def until(self, task_id: int, *statuses: str, within_s: float = 60) -> dict[str, Any]:
        """Wait until a task has one of these statuses."""
        end = time.monotonic() + within_s
        while (task := self.task(task_id))["status"] not in statuses:
            assert time.monotonic() < end, f"task {task_id} is {task['status']}: {task}\n{self.daemon.output()[-3000:]}"
            time.sleep(0.02)
        return task

    def ended(self, *task_ids: int) -> list[dict[str, Any]]:
        return [self.until(task_id, *ENDED) for task_id in task_ids]

    def doomed(self, within_s: float = 10) -> None:
        """Wait at most `within_s` until the daemon has killed itself as ordered, and start it again."""
        process = self.daemon.process
        assert process
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(within_s)
            self.revive()

    def stop(self) -> int:
        return self.daemon.stop()

    # The methods below find what dead daemons left behind.

    def orphans(self, within_s: float = 20) -> list[str]:
        """List the command lines of processes that dead daemons left behind and that do not end within the timeout."""
        end = time.monotonic() + within_s
        mine = {self.daemon.process.pid} if self.daemon.process else set()
        while True:
            left = children() - self._before - mine
            for pid in list(left):
                with contextlib.suppress(ChildProcessError):
                    if os.waitpid(pid, os.WNOHANG)[0]:
                        left.discard(pid)
            if not left or time.monotonic() > end:
                return [_command(pid) for pid in left]
            time.sleep(0.02)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the daemon's database."""
        with contextlib.closing(sqlite3.connect(f"file:{self.home}/db/agent_logs.sqlite?mode=ro", uri=True)) as db:
            return [tuple(row) for row in db.execute(query, values)]

    def faults(self, *repos: Path) -> list[str]:
        """List the faults in the database, repositories, folders and control groups of a stopped daemon."""
        pids = self.daemon.pids
        problems = [row for (row,) in self.rows("PRAGMA integrity_check") if row != "ok"]
        problems += [str(row) for row in self.rows("PRAGMA foreign_key_check")]
        for repo in (repo for repo in (self.home / "workspace", *repos) if (repo / ".git").exists()):
            if text := git(repo, "fsck", "--strict", "--no-dangling"):
                problems.append(f"{repo}: {text}")
            problems += [f"lock: {path}" for path in (repo / ".git").rglob("*.lock")]
        problems += [
            f"left: {path}" for folder in ("staging", "trials") for path in self._below(self.home / "state" / folder)
        ]
        problems += [
            f"group: {path}" for path in GROUPS.glob("**/nightshift/*-*") if int(path.name.split("-")[0]) in pids
        ]
        return problems + [f"left: {path}" for path in self._below(self._tmp)]

    @staticmethod
    def _below(folder: Path) -> Sequence[Path]:
        """List the files in a folder, except for packed trees, which are kept for the next job on the same commit."""
        return sorted(path for path in folder.iterdir() if path.suffix != ".tree") if folder.is_dir() else ()


def _orders(label: str, point: Point | None, moment: str) -> str:
    wanted = {"point": point.name, "number": point.number, "moment": moment} if point else {}
    return json.dumps({"run": label, **wanted})


def _command(pid: int) -> str:
    try:
        return f"{pid}: " + Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return str(pid)
