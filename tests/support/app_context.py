"""The services behind the API on a database in a test's folder, and a real HTTP server in front of them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from nightshift.attempt.verify import Judgement, ok
from nightshift.attempt.verifying import UnderWay, Verified
from nightshift.config.reloaded import Later, Reloaded
from nightshift.core.clock import utc_now
from nightshift.core.errors import (
    BranchRefused,
    ConfigError,
    ExtraMissing,
    HookRefused,
    NotReverted,
    NotVerified,
    UnknownExtra,
    UnknownTask,
    UnknownWorker,
)
from nightshift.core.events import Event, Kind, Level
from nightshift.core.status import DaemonStatus, ModelStatus, Restart, WorkerStatus
from nightshift.core.tasks.commit_message import Discarded, Integrated, Reverted
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.queue.manager import QueueManager
from nightshift.report.weekly import summarise, write_report
from nightshift.report.weeks import choose_span
from nightshift.server.context import AppContext
from nightshift.server.serving.host import Host
from nightshift.server.serving.listen import Listen
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import Commit
from nightshift.storage.db.step_store import StepStore
from nightshift.storage.memory.embedders import choose
from nightshift.storage.memory.store import LongTermMemory
from tests.support.ready_database import ready

A = TypeVar("A")


class Reloads:
    """Answers requests to reload the settings: with a change, or with a `ConfigError` if `faults` is not empty."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def __call__(self) -> Future[Reloaded]:
        answer: Future[Reloaded] = Future()
        if self.faults:
            answer.set_exception(ConfigError(self.faults))
        else:
            later = (Later(name="flask_port", holds="5000"),)
            answer.set_result(Reloaded(changed=("worker_count",), later=later, overruled=("log_keep",)))
        return answer


class Slot:
    """Answers like a daemon in which the verification of a commit runs until it is cancelled.

    `now` is the running verification, and `last` is the result of the cancelled verification.
    """

    def __init__(self) -> None:
        self.now: UnderWay | None = None
        self.last: Verified | None = None

    def begin(self, entry: Commit) -> None:
        if self.now and self.now.commit != entry.commit:
            raise NotVerified("another commit is being verified")
        checks = (ok("note", "format 2, of task 1"),)
        self.now = UnderWay(commit=entry.commit, task_id=1, since=utc_now(), doing="runs 2 tests again", checks=checks)

    def cancel(self, entry: Commit) -> None:
        if self.now is None:
            raise NotVerified(f"commit {entry.commit[:10]} is not being verified, so there is nothing to cancel")
        self.last = Verified(
            commit=entry.commit, judgement=Judgement.HOLDS, sentence="holds", at=utc_now(), took_s=0.5,
            checks=self.now.checks,
        )  # fmt: skip
        self.now = None

    def standing(self, _entry: Commit) -> tuple[UnderWay | None, Verified | None]:
        return self.now, self.last


class Reporting:
    """Writes a report on a given week or on the last seven days, as the daemon does."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database, self._folder = database, folder

    def __call__(self, week: str) -> Path:
        return write_report(summarise(self._database, *choose_span(self._database, week, utc_now(), 7)), self._folder)


def make_desk(folder: Path) -> AppContext:
    """Create the daemon's services on a new database. `mask.learn` makes all of these services mask a secret."""
    database, mask = Database(ready(folder / "db.sqlite")), Masker()
    events = EventLog(database, mask=mask)
    queue = QueueManager(database, events, mask=mask)

    def status() -> DaemonStatus:
        return DaemonStatus(
            state=queue.pause_state().state,
            holds=queue.pause_state().reasons,
            uptime_s=3725.5,
            version="0.1.0",
            workers=(
                WorkerStatus(name="worker-1", task_id=1, description="Add a test", phase=Phase.CODING, iteration=2),
                WorkerStatus(name="worker-2"),
            ),
            queue={status: count for status, count in queue.counts().items() if count},
            models=(
                ModelStatus(
                    name="ollama",
                    model="qwen2.5-coder:7b",
                    available=True,
                    calls=3,
                    latency_s=1.5,
                    measured="library 3 of 4",
                ),
            ),
            next_checkpoint_at=datetime(2026, 11, 28, 6, 0, tzinfo=UTC),
            sandbox="bubblewrap",
            embedder="hashed",
            workspace=str(folder / "workspace"),
            pid=4711,
        )

    memory = LongTermMemory(database, choose("hashed"), emit=events.emit, masker=mask, control_share=0.0)
    return AppContext(
        database=database, queue=queue, events=events, mask=mask, steps=StepStore(database, events, mask=mask),
        status=status,
        loop_lag_s=lambda: 0.001, commit_actions=Actions(), reload=Reloads(), restart=restart,
        install_extra=install, check_models=check, verifying=Slot(), forge_hook=hook,
        memory=lambda: memory, reports_dir=lambda: folder / "reports", report=Reporting(database, folder / "reports"),
    )  # fmt: skip


def install(name: str) -> None:
    """Act as a daemon whose only installable extra is the embedder."""
    if name not in {"embedder", "docker"}:
        raise UnknownExtra(name, ["embedder", "docker"])
    if name == "docker":
        raise ExtraMissing("not installed (EXTRAS=off)")


def check() -> Future[Sequence[ModelStatus]]:
    """Act as a daemon whose model is available."""
    done: Future[Sequence[ModelStatus]] = Future()
    done.set_result((ModelStatus(name="ollama", model="qwen2.5-coder:7b", available=True),))
    return done


def hook(headers: Mapping[str, str], _body: bytes) -> Sequence[str]:
    """Act as a daemon that follows one GitLab repository, whose webhooks carry the token `right`."""
    if headers.get("x-gitlab-token") != "right":
        raise HookRefused("the webhook's signature is missing or wrong")
    return ("https://gitlab.com/octo/hello",)


def restart(name: str) -> Future[Restart]:
    """Act as a daemon that restarts its only worker, `worker-1`, which is running task 1."""
    if name != "worker-1":
        raise UnknownWorker(name, ["worker-1"])
    done: Future[Restart] = Future()
    done.set_result(Restart(name=name, task_id=1))
    return done


class Actions:
    """Answers like a daemon in which only task 1 can be reverted, integrated or discarded."""

    def revert(self, task_id: int, force: bool, reapply: bool) -> Future[Reverted]:
        if task_id == 99:
            raise UnknownTask(task_id)
        if task_id != 1:
            raise NotReverted(f"task {task_id} made no commit, so there is nothing to revert")
        return _settle(
            Reverted(
                task_id=1, commit="a" * 40, subject="Add", by="b" * 40, branch="main", repo="/r",
                judged="1 test passed.", forced=force, reapplied=reapply,
            )
        )  # fmt: skip

    def integrate(self, task_id: int, force: bool) -> Future[Integrated]:
        self._check(task_id)
        return _settle(
            Integrated(
                task_id=1, commit="b" * 40, waited="a" * 40, subject="Add", branch="agent/1-add", target="main",
                repo="/r", judged="1 test passed.", label="" if force else "tests_passed", forced=force,
            )
        )  # fmt: skip

    def discard(self, task_id: int) -> Future[Discarded]:
        self._check(task_id)
        undo = f"git -C /r branch agent/1-add {'a' * 40}"
        return _settle(
            Discarded(task_id=1, commit="a" * 40, subject="Add", branch="agent/1-add", repo="/r", undo=undo)
        )  # fmt: skip

    @staticmethod
    def _check(task_id: int) -> None:
        if task_id == 99:
            raise UnknownTask(task_id)
        if task_id != 1:
            raise BranchRefused(f"task {task_id} made no commit, so nothing waits on a branch")


def _settle(answer: A) -> Future[A]:
    done: Future[A] = Future()
    done.set_result(answer)
    return done


def fill(
    context: AppContext, count: int, *, size: int = 10, level: Level = Level.INFO, task_id: int | None = None
) -> None:
    """Store `count` events in one database transaction."""

    def job(conn: object) -> None:
        for _ in range(count):
            event = Event(kind=Kind.MODEL_CALLED, level=level, message="x" * size, task_id=task_id)
            context.events.append(conn, event)  # type: ignore[arg-type]

    context.database.write(job).result()


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """A response to an HTTP request."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """Speaks HTTP to the server; each request uses its own connection."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.host.port}"

    def request(
        self, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
    ) -> Got:
        connection = http.client.HTTPConnection("127.0.0.1", self.host.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Got(status=answer.status, headers=answer.headers, body=answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Got:
        return self.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, value: object = None) -> Got:
        return self.request("POST", path, json.dumps(value), {"Content-Type": "application/json"})


@contextmanager
def serving(context: AppContext, listen: Listen | None = None) -> Iterator[Client]:
    host = Host(context, listen or Listen(port=0))
    host.start()
    try:
        yield Client(host)
    finally:
        host.stop()
