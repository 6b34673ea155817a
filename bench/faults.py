"""Fault campaign: runs tasks against a model whose connections fail, under a daemon that is killed at random.

    .venv/bin/python bench/faults.py [--tasks N] [--workers N] [--seed N] [--rate P] [--kill-every S]

Each task has one right ending (see bench/fault_tasks.py) and must reach it exactly once. Requests fail with the
probability `--rate`. About every `--kill-every` seconds the daemon gets SIGKILL and is started again. At the end the
daemon is stopped, and the database, the repository and the machine are checked. The script prints a table, and exits
with 1 if any check failed.
"""

# ruff: noqa: E402  the path comes first: this folder's queue.py would hide the standard library's
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bench.fault_server import FaultyServer
from bench.fault_tasks import Fate, Job, jobs
from nightshift.core.tool_text import with_calls
from nightshift.core.tools import ToolCall
from nightshift.storage.db import prompts
from nightshift.storage.db.database import Database
from tests.support.daemon import git
from tests.support.fork_server import ForkServer
from tests.support.supervised import SupervisedDaemon

RIGHT = {Fate.GAVE_UP: {"gave_up", "stuck"}}
"""Maps an ending that a task must reach to the names of further endings that count as right."""
SETTINGS = {"MODEL_TIMEOUT_S": "3", "MODEL_MAX_WAIT_S": "2", "MODEL_PROBE_S": "1", "RETRY_BASE_S": "0.5"}


class Campaign:
    """One run of the campaign, and the checks of its result."""

    def __init__(
        self, supervised: SupervisedDaemon, server: FaultyServer, jobs: list[Job], dice: random.Random
    ) -> None:
        self.supervised, self.server, self.jobs, self._dice = supervised, server, jobs, dice
        self.ids: dict[int, int] = {}
        self.took_s = 0.0

    def run(self, kill_every_s: float, within_s: float) -> None:
        """Submit all tasks, and kill the daemon repeatedly until all have ended."""
        began = time.monotonic()
        for job in self.jobs:
            self._submit(job)
        while self._open():
            if time.monotonic() - began > within_s:
                print(f"not done within {within_s:g} s")
                break
            self._live(self._dice.expovariate(1 / kill_every_s))
            if self._open():
                self.supervised.daemon.kill()
                self.supervised.revive()
        self.took_s = time.monotonic() - began

    def _submit(self, job: Job) -> None:
        needs = {"depends_on": [self.ids[job.needs]]} if job.needs else {}
        priority = {"priority": 0 if job.fate is Fate.USER else 5}
        self.ids[job.n] = self.supervised.submit(**job.task, **needs, **priority)
        if job.fate is Fate.USER:
            self.supervised.ask("POST", f"/api/task/{self.ids[job.n]}/cancel")

    def _live(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._open():
            time.sleep(0.1)

    def _open(self) -> int:
        query = "SELECT COUNT(*) FROM tasks WHERE status NOT IN ('done', 'failed', 'cancelled')"
        return int(self.supervised.rows(query)[0][0])

    # The methods below list what went wrong in a finished campaign.

    def wrong_endings(self) -> list[str]:
        """List tasks with a wrong ending."""
        faults = []
        for job in self.jobs:
            (row,) = self.supervised.rows("SELECT status, ending, reason FROM tasks WHERE id = ?", self.ids[job.n])
            if row[1] not in RIGHT.get(job.fate, {str(job.fate)}):
                faults.append(f"job {job.n} (task {self.ids[job.n]}) has to end as {job.fate}, but is {row}")
        return faults

    def wrong_commits(self) -> list[str]:
        """List committed tasks that do not have exactly one commit, and other tasks that have a commit on main."""
        log = git(
            self.supervised.home / "workspace", "log", "--format=%(trailers:key=Task,valueonly,separator=)", "main"
        )
        counted = Counter(int(line) for line in log.split())
        wanted = {id_ for (id_,) in self.supervised.rows("SELECT id FROM tasks WHERE ending = 'committed'")}
        ledger = Counter(id_ for (id_,) in self.supervised.rows("SELECT task_id FROM git_commits"))
        faults = [
            f"task {id_} has {counted[id_]} commits" for id_ in wanted | set(counted) if counted[id_] != (id_ in wanted)
        ]
        return faults + [f"task {id_} is {ledger[id_]} times in the ledger" for id_ in wanted if ledger[id_] != 1]

    def find_doubled_endings(self) -> list[str]:
        """List tasks that did not end exactly once."""
        query = (
            "SELECT task_id, COUNT(*) FROM execution_logs WHERE json_extract(data, '$.to') IN "
            "('done', 'failed', 'cancelled') GROUP BY 1 HAVING COUNT(*) <> 1"
        )
        return [f"task {id_} ended {count} times" for id_, count in self.supervised.rows(query)]

    def find_paid_twice(self) -> list[str]:
        """List requests that were sent although a reply to the same prompt was already stored."""
        stored = dict(self._read_stored_prompts())
        late = []
        for request in self.server.requests:
            prompt = json.dumps([(turn["role"], _read_words(turn)) for turn in request.messages])
            if prompt in stored and request.began_at > stored[prompt]:
                late.append(f"{request.phase} was asked again after its reply was stored")
        return late

    def _read_stored_prompts(self) -> Iterator[tuple[str, float]]:
        """Yield each stored prompt with the time (POSIX) of its last reply."""
        query = "SELECT prompt, MAX((julianday(at) - 2440587.5) * 86400.0) FROM replies GROUP BY prompt"
        with Database(self.supervised.home / "db" / "agent_logs.sqlite", readonly=True) as database:
            for digest, at in self.supervised.rows(query):
                yield json.dumps(prompts.get(database.reader(), digest)), float(at)


def _read_words(turn: Mapping[str, Any]) -> str:
    """Return the text of one chat message as it appears in a stored prompt, with its tool calls."""
    calls = [ToolCall(name=call["name"], arguments=call["arguments"]) for call in turn.get("calls", ())]
    return with_calls(turn["content"], calls)


def faults_of(run: Campaign) -> list[str]:
    """List everything that went wrong in a campaign whose daemon was stopped."""
    supervised = run.supervised
    faults = [f"orphan: {line}" for line in supervised.orphans()] + supervised.faults()
    return faults + run.wrong_endings() + run.wrong_commits() + run.find_doubled_endings() + run.find_paid_twice()


def table(run: Campaign) -> str:
    supervised, server = run.supervised, run.server
    endings = Counter(ending for (ending,) in supervised.rows("SELECT ending FROM tasks"))
    tries = Counter(n for (n,) in supervised.rows("SELECT iterations FROM tasks WHERE ending = 'committed'"))
    attempts = Counter(n for (n,) in supervised.rows("SELECT attempt FROM tasks WHERE ending = 'committed'"))
    kinds = Counter(dict(supervised.rows("SELECT kind, COUNT(*) FROM execution_logs GROUP BY 1")))
    replies = supervised.rows("SELECT COUNT(*) FROM replies")[0][0]
    lines = [
        ("tasks", len(run.jobs)),
        ("endings", _describe(endings)),
        ("tries of those committed", _describe(tries)),
        ("attempts of those committed", _describe(attempts)),
        ("SIGKILLs", supervised.deaths),
        ("requests", len(server.requests)),
        ("faults injected", f"{server.injected.total()}: {_describe(server.injected)}"),
        ("replies with wrong code", server.wrong_first),
        ("replies stored, replayed", f"{replies}, {kinds['model_replayed']}"),
        ("tasks recovered, parked or retried", f"{kinds['task_recovered']}, {_park(supervised)}"),
        ("time", f"{run.took_s:.0f} s"),
    ]
    return "\n".join(["| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in lines)])


def _park(supervised: SupervisedDaemon) -> int:
    query = "SELECT COUNT(*) FROM execution_logs WHERE kind = 'task_moved' AND json_extract(data, '$.to') = 'scheduled'"
    return int(supervised.rows(query)[0][0])


def _describe(counted: Counter[object] | Counter[str] | Counter[int]) -> str:
    return ", ".join(
        f"{name} {count}" for name, count in sorted(counted.items(), key=lambda item: (-item[1], str(item[0])))
    )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--tasks", type=int, default=200)
    words.add_argument("--workers", type=int, default=4)
    words.add_argument("--seed", type=int, default=7)
    words.add_argument("--rate", type=float, default=0.3)
    words.add_argument("--kill-every", type=float, default=6.0, metavar="S")
    words.add_argument("--within", type=float, default=3000.0, metavar="S")
    options = words.parse_args()
    batch = jobs(options.tasks)
    with tempfile.TemporaryDirectory(prefix="nightshift-faults-", ignore_cleanup_errors=True) as folder:
        with ForkServer() as fork_server, FaultyServer(batch, seed=options.seed, rate=options.rate) as server:
            supervised = SupervisedDaemon(
                Path(folder), server, fork_server, WORKER_COUNT=str(options.workers), **SETTINGS
            )
            run = Campaign(supervised, server, batch, random.Random(options.seed))
            with supervised:
                run.run(options.kill_every, options.within)
        print(
            f"seed {options.seed}, {options.workers} workers, rate {options.rate:g}, "
            f"a kill about every {options.kill_every:g} s\n"
        )
        print(table(run))
        wrong = faults_of(run)
    print(
        "\n" + ("\n".join(wrong) or "Nothing was lost, doubled or left behind; git fsck and integrity_check are clean.")
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
