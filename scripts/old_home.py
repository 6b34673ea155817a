"""Makes the home for `tests/e2e/test_old_home.py`: a home in which an old version worked, as a compressed file.

    .venv/bin/python scripts/old_home.py CHECKOUT [--at /srv/nightshift-home] [--out tests/data/home-0.1.0.tar.xz]

CHECKOUT is a checkout of the old version, set up (`.venv` and `.runner`); version 0.1.0 is commit 18b692ac. Its real
daemon runs in the folder `--at`, which must not exist, with a scripted model. The database contains paths of this
folder. The reader replaces them by its own paths (`tests/support/old_home.py`), so the folder's name should reveal
nothing about this machine. At the end the daemon is killed while a task runs, as by a power cut.

The home has tasks in every status and with every ending, lessons with vectors, commits on `main` and on branches in the
workspace and on a branch of one of the owner's repositories, a revert, a weekly report and changed settings.
"""

# ruff: noqa: E402  the path comes first
from __future__ import annotations

import argparse
import json
import shutil
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.overhead import OtherDaemon
from nightshift.storage.db.sqlite import connect
from tests.support.answers import job
from tests.support.daemon import git, settings_for, until
from tests.support.old_home import ARCHIVE, DATABASE, FACTS, HOME, MADE_AT, OWNED, OldHomeModel
from tests.support.postgres import EMBEDDED, PostgresServer
from tests.support.seeded_home import FAR_AHEAD, MOON_TESTS, VAGUE, make_owned
from tests.support.wheelhouse import environ, wheel
from tests.support.wire_server import WireServer

WITHIN_S = 90.0
MOST_DEATHS = 8
MODEL_REST_S = 120
"""Seconds for which the model refuses calls, so that a task is parked until then."""
CONFIG = """\
# The home is opened months later: nothing is pruned, no checkpoint comes due, and no question is answered by itself.
keep_work_days: 36500
keep_events_days: 36500
checkpoint_days: 3650
clarify_wait_s: 3000000000
git_author_name: Owner
git_author_email: owner@example.org
"""
INBOX = """\
tasks:
  - description: "Write total() in job_11.py"
    key: from-the-inbox
"""
LEFT_OUT = {"backups", "cache", "hooks", "logs", "sqlite-shm", "lock", "port", "socket", "__pycache__", "daemon.out"}
"""Names, or ends of names, of files that are left out: they belong to a running process, can be made again, or are
large.
"""


class Maker:
    """Makes the old daemon work until the home has all wanted records. The public methods are the stages, in order."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.folder = checkout, folder
        self.home, self.owned = folder / HOME, folder / OWNED
        self.tasks: dict[str, int] = {}
        self.facts: dict[str, Any] = {}

    @contextmanager
    def daemon(self, server: WireServer, **more: str) -> Iterator[OtherDaemon]:
        """Run the old daemon on this home until the block ends, or until it is killed in the block."""
        pip = {name: value for name, value in environ(self.folder / "index").items() if name.startswith("PIP_")}
        neutral = {"HOME": str(self.folder / "user"), "RECALL_CONTROL_SHARE": "0"}
        with OtherDaemon(self.checkout, self.home, settings_for(server, **neutral, **pip, **more)) as daemon:
            yield daemon

    def share(self, server: WireServer) -> None:
        """Leave a task in a hub that the home no longer belongs to."""
        make_owned(self.folder / "remote")
        git(self.folder, "clone", "-q", "remote", "clone")
        with ExitStack() as stack:
            postgres = stack.enter_context(PostgresServer(EMBEDDED, self.folder))
            daemon = stack.enter_context(self.daemon(server, HUB_URL=postgres.ready(), NODE_NAME="old"))
            until(lambda: daemon.ask("POST", "/api/hub/pause", {})[0] == 200, WITHIN_S)
            self.add(daemon, "shared", **job(30), repo=str(self.folder / "clone"))
            until(lambda: bool(daemon.get("/api/hub/tasks")["tasks"]), WITHIN_S)
        (self.home / "tasks.yaml").write_text(INBOX)

    def work(self, server: WireServer) -> None:
        """Run the tasks that end, or wait, without intervention."""
        with self.daemon(server) as daemon:
            self.submit(daemon)
            self.fail(daemon, server)
            daemon.wait(*self.of("committed", "reviewed", "owned", "reverted", "stuck"), within_s=WITHIN_S)
            self.add(daemon, "recalling", **job(2))
            self.add(daemon, "no_change", **job(1))
            asked = {"models": [server.model]}
            status, answer = daemon.ask("POST", f"/api/task/{self.tasks['gave_up']}/forks", asked)
            assert status in {200, 201}, answer
            self.tasks["branch"] = answer["forks"][0]["task_id"]
            daemon.wait(*self.of("recalling", "no_change", "branch"), within_s=WITHIN_S)
            until(lambda: len(daemon.get("/api/approvals?open=1")["approvals"]) == 2, WITHIN_S)
            status, answer = daemon.ask("POST", f"/api/task/{self.tasks['reverted']}/revert", {}, timeout_s=120)
            assert status == 200, answer
            assert daemon.ask("PUT", "/api/settings", {"changes": {"max_iterations": 12}})[0] == 200
            daemon.ask("POST", "/api/checkpoint")
            until(lambda: any("is written" in hold["reason"] for hold in daemon.get("/api/status")["holds"]), WITHIN_S)
            daemon.ask("POST", "/api/resume")

    def submit(self, daemon: OtherDaemon) -> None:
        """Submit the tasks that need no intervention."""
        self.add(daemon, "committed", **job(10))
        self.add(daemon, "second_try", **job(1))
        self.add(daemon, "reviewed", **job(4), review=True, audit=True)
        self.add(daemon, "owned", **job(7), repo=str(self.owned))
        self.add(daemon, "reverted", **job(13))
        self.add(daemon, "stuck", **job(3))
        self.add(daemon, "dependency", **job(14), depends_on=self.of("stuck"))
        self.add(daemon, "gave_up", **job(20), limits={"iterations": 2, "attempts": 1})
        self.add(daemon, "timeout", **job(21), limits={"wall_s": 0.01, "attempts": 1})
        self.add(daemon, "package", description="Write full() in moon.py", tests=MOON_TESTS)
        self.add(daemon, "question", description=VAGUE, clarify=True)
        self.add(daemon, "scheduled", **job(5), not_before=FAR_AHEAD)
        self.add(daemon, "blocked", **job(15), depends_on=self.of("scheduled"))
        self.add(daemon, "cancelled", **job(6), not_before=FAR_AHEAD)
        daemon.ask("POST", f"/api/task/{self.tasks['cancelled']}/cancel")

    def fail(self, daemon: OtherDaemon, server: WireServer) -> None:
        """Submit the tasks that end badly only because of an intervention."""
        daemon.ask("POST", "/api/pause")
        for name in ("gone", "damaged"):
            make_owned(self.folder / name)
        server.fail_next("hold", phase="CODING", about="job_23")
        self.add(daemon, "refused", **job(8), repo=str(self.folder / "gone"))
        self.add(daemon, "error", **job(23), repo=str(self.folder / "damaged"), limits={"attempts": 1})
        shutil.rmtree(self.folder / "gone")
        daemon.ask("POST", "/api/resume")
        server.until(lambda: any(each.fault == "hold" for each in server.requests), WITHIN_S)
        shutil.rmtree(self.folder / "damaged")
        server.let_go()
        self.add(daemon, "budget", **job(22), limits={"model_calls": 1})
        until(lambda: self.ask_of(daemon, "budget") is not None, WITHIN_S)
        daemon.ask("POST", f"/api/approvals/{self.ask_of(daemon, 'budget')}", {"granted": False})
        ended = ("refused", "error", "budget", "gave_up", "timeout", "dependency")
        for name, task in zip(ended, daemon.wait(*self.of(*ended), within_s=WITHIN_S), strict=True):
            assert (task["status"], task["ending"]) == ("failed", name), (name, task["ending"], task["reason"])

    def ask_of(self, daemon: OtherDaemon, name: str) -> int | None:
        """Return the open question of a task; None if there is none."""
        asks = daemon.get("/api/approvals?open=1")["approvals"]
        return next((each["approval_id"] for each in asks if each["task_id"] == self.tasks[name]), None)

    def crash(self, server: WireServer) -> None:
        """Kill the daemon repeatedly while the same task runs, until a start sets the task aside."""
        server.fail_always("hang", phase="CODING", about="job_24")
        for death in range(MOST_DEATHS):
            asked = len(server.requests)
            with self.daemon(server) as daemon:
                if not death:
                    self.add(daemon, "crashed", **job(24))
                if daemon.get(f"/api/task/{self.tasks['crashed']}")["status"] == "failed":
                    return
                until(lambda asked=asked: any(each.fault for each in server.requests[asked:]), WITHIN_S)  # type: ignore[misc]
                daemon.kill()
        raise AssertionError(f"the task goes on after {MOST_DEATHS} deaths")

    def forget_paths(self, _server: WireServer) -> None:
        """Remove the traceback of a worker's error from the events, because it names files of this machine."""
        with closing(connect(self.home / DATABASE)) as conn, conn:
            conn.execute("UPDATE execution_logs SET data = json_remove(data, '$.trace') WHERE kind = 'worker_error'")
            conn.commit()
            conn.execute("VACUUM")  # free pages keep their old content

    def stop_in_the_middle(self, server: WireServer) -> None:
        """Leave a running, a parked and a queued task, and kill the daemon."""
        server.fail_next("hang", phase="TESTING", about="job_27")
        with self.daemon(server) as daemon:
            self.add(daemon, "running", description="Write total() in job_27.py, and tests of it")
            server.until(lambda: any(each.fault and "job_27" in str(each.body) for each in server.requests), WITHIN_S)
            server.fail_always("429", about="job_25", retry_after=MODEL_REST_S)
            self.add(daemon, "parked", **job(25))
            until(lambda: bool(daemon.get(f"/api/task/{self.tasks['parked']}")["status"] == "scheduled"), WITHIN_S)
            daemon.ask("POST", "/api/pause")
            self.add(daemon, "queued", **job(26))
            self.facts = {
                "tasks": self.tasks,
                "rows": self.pages(daemon, "tasks", "task_id", "status", "ending", "description", "commit", "branch"),
                "commits": self.pages(daemon, "commits", "task_id", "commit", "branch", "subject", "label", "reverts"),
                "lessons": self.pages(daemon, "lessons", "id", "kind"),
                "reports": self.pages(daemon, "reports", "name"),
            }
            daemon.kill()

    def pages(self, daemon: OtherDaemon, what: str, *fields: str) -> list[dict[str, Any]]:
        """Return these fields of the rows of a list in the API; the list must not be empty."""
        rows = daemon.get(f"/api/{what}?limit=100")[what]
        assert rows, what
        return [{name: row[name] for name in fields if name in row} for row in rows]

    def add(self, daemon: OtherDaemon, name: str, **task: Any) -> None:
        """Submit a task under a name."""
        self.tasks[name] = daemon.submit(**task)

    def of(self, *names: str) -> list[int]:
        """Return the ids of tasks by their names."""
        return [self.tasks[name] for name in names]


def pack(folder: Path, archive: Path) -> None:
    """Write the folder to a compressed file."""

    def without_rest(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        name = entry.name.rpartition("/")[2]
        if name in LEFT_OUT or name.rpartition(".")[2] in LEFT_OUT or not (entry.isfile() or entry.isdir()):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "owner"
        return entry

    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as file:
        for name in (HOME, OWNED, FACTS):
            file.add(folder / name, arcname=name, filter=without_rest)


def main() -> int:
    """Make the home and pack it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--at", type=Path, default=Path(MADE_AT))
    parser.add_argument("--out", type=Path, default=ARCHIVE)
    parser.add_argument("--keep", action="store_true", help="leave the folder for a look")
    asked = parser.parse_args()
    asked.at.mkdir(parents=True)
    try:
        maker = Maker(asked.checkout.resolve(), asked.at)
        for folder in (maker.home, asked.at / "user", asked.at / "index"):
            folder.mkdir()
        wheel(asked.at / "index", "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
        (maker.home / "config.yaml").write_text(CONFIG)
        make_owned(maker.owned)
        with WireServer(OldHomeModel()) as server:
            for stage in (maker.share, maker.work, maker.forget_paths, maker.crash, maker.stop_in_the_middle):
                print(stage.__doc__ or stage.__name__, flush=True)
                stage(server)
        (asked.at / FACTS).write_text(json.dumps(maker.facts, indent=1) + "\n")
        git(maker.owned, "gc", "-q", "--prune=now")
        pack(asked.at, asked.out)
        print(f"{asked.out}: {asked.out.stat().st_size >> 10} KB")
    finally:
        if not asked.keep:
            shutil.rmtree(asked.at)
    return 0


if __name__ == "__main__":
    sys.exit(main())
