"""Measure the cost of the daemon: tasks through the complete daemon, compared with bare pytest on the same suites.

    .venv/bin/python bench/overhead.py [--items FILE] [--tasks 40] [--after 1000] [--beside CHECKOUT]

A scripted server answers each task's first request for code wrongly and its second rightly, at once. Each task is
therefore judged twice, and all other time is Nightshift's own: queue, durable steps, HTTP, sandbox, verdict with its
must-fail copies, reflection, commit and integration. Bare pytest runs the same two answers with the same tests,
interpreter and parallelism, one process per run, in a plain virtual environment with pytest and hypothesis. Daemon and
bare pytest take turns; the figures are the medians of the rounds' ratios.

`--items` names a file with lines of JSON. Each line has `description`, and `test_files`, `wrong` and `right`, which map
one path to its text. Without `--items` small tasks are generated. Every task gets names of its own, so items may be
repeated. `--after` runs that many tasks before anything is measured. `--beside` takes turns with the daemon of another
checkout, which has an environment of its own and a copy of the same home.

Processor time is measured by a control group of version 2 that contains everything below the daemon. Making the group
needs root; without it, only wall time is printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle, islice

from nightshift.sandbox.runtime import Runtime, open_runtime
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer

AT_ONCE = 100
GROUPS = next((path for path in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")) if path.is_dir()), Path("/"))
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A task with a wrong and a right answer; `name` is the name of the answer's module."""

    name: str
    description: str
    tests: str
    wrong: str
    right: str

    def rename(self, number: int) -> Item:
        """Return the same task under another name."""
        name = f"{self.name}_{number}"

        def other(text: str) -> str:
            return re.sub(rf"\b{re.escape(self.name)}\b", name, text)

        return Item(
            name=name,
            description=other(self.description),
            tests=other(self.tests),
            wrong=other(self.wrong),
            right=other(self.right),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Wall time and processor time of some tasks, in seconds.

    `daemon_s` is the processor time of the daemon itself. `started_s` is that of the programs that the daemon started
    and waited for. `total_s` is that of everything in the control group.
    """

    wall_s: float
    daemon_s: float = 0.0
    started_s: float = 0.0
    total_s: float = 0.0

    def of(self, tasks: int) -> str:
        """Format the costs of one task, in milliseconds."""
        wall, daemon, started, total = (
            round(s / tasks * 1000) for s in (self.wall_s, self.daemon_s, self.started_s, self.total_s)
        )
        split = f" (daemon {daemon}, git and others {started}, sandboxes {total - daemon - started})"
        return f"{wall}, processors {total}{split if daemon and total else ''}"


def read_items(path: Path) -> list[Item]:
    """Read the items of a file."""
    items = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        (name, right), *_ = row["right"].items()
        (wrong, *_), (tests, *_), name = row["wrong"].values(), row["test_files"].values(), Path(name).stem
        items.append(Item(name=name, description=row["description"], tests=tests, wrong=wrong, right=right))
    return items


def make_up() -> list[Item]:
    """Make items that differ only in a number."""
    code = "def total(numbers):\n    return sum(number for number in numbers if number {sign} {n})\n"
    lists = ("[]", "[{n} - 1]", "[{n}]", "[{n} + 1]", "[{n} + 1, {n} + 2, -5]")
    sums = ("0", "0", "0", "{n} + 1", "2 * {n} + 3")
    tests = "from above_{n} import total\n" + "".join(
        f"\n\ndef test_{number}():\n    assert total({given}) == {wanted}\n"
        for number, (given, wanted) in enumerate(zip(lists, sums, strict=True))
    )
    return [
        Item(
            name=f"above_{n}",
            description=f"Write total() in a new file above_{n}.py: the sum of the numbers above {n}.",
            tests=tests.format(n=n),
            wrong=code.format(n=n, sign=">="),
            right=code.format(n=n, sign=">"),
        )
        for n in range(5, 45)
    ]


class Script:
    """The scripted model: it answers an item wrongly once, and rightly from then on."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self._asked: Counter[str] = Counter()

    def begin(self, items: list[Item]) -> None:
        """Add items; the next answer to each is wrong."""
        for item in items:
            self.items[item.name] = item
            del self._asked[item.name]

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        """Return the answer to a request."""
        if phase == "REFLECTING":
            return json.dumps({
                "error_pattern": "wrong result for an edge case", "root_cause": "a condition is off by one",
                "hypothesis": "the boundary takes the wrong branch", "suggested_fix": "correct the comparison",
            })  # fmt: skip
        if phase != "CODING":
            return "1. Write the function.\n2. Run the tests."
        item = self._find_item("\n".join(message["content"] for message in messages))
        self._asked[item.name] += 1
        code = item.wrong if self._asked[item.name] == 1 else item.right
        return f"```python path={item.name}.py\n{code}```"

    def _find_item(self, text: str) -> Item:
        """Return the item whose description is in a prompt; recalled lessons may mention other items."""
        names = dict.fromkeys(re.findall(r"\b(\w+)\.py\b", text))
        return next(item for name in names if (item := self.items.get(name)) and item.description.strip()[:200] in text)


def through_the_daemon(daemon: Daemon, items: list[Item], script: Script, group: Path | None) -> Cost:
    """Run items through the daemon; return the cost from the first submission to the last end."""
    assert daemon.process
    script.begin(items)
    before, began = processors(daemon.process.pid, group), time.perf_counter()
    ids = [daemon.submit(description=i.description, tests={f"test_{i.name}.py": i.tests}) for i in items]
    ended = wait(daemon.home, ids)
    wall_s = time.perf_counter() - began
    after = processors(daemon.process.pid, group)
    wrong = [task for task in ended if task[1:] != ("committed", 2)]
    assert not wrong, wrong[:3]
    daemon_s, started_s, total_s = (b - a for a, b in zip(before, after, strict=True))
    return Cost(wall_s=wall_s, daemon_s=daemon_s, started_s=started_s, total_s=total_s)


def books(home: Path) -> closing[sqlite3.Connection]:
    """Open the daemon's database."""
    return closing(sqlite3.connect(home / "db" / "agent_logs.sqlite"))


def wait(home: Path, ids: list[int]) -> list[tuple[int, str, int]]:
    """Wait until all tasks have ended; return id, ending and iterations.

    Reads the database, because API answers cost the daemon time.
    """
    query = "SELECT id, ending, iterations FROM tasks WHERE id BETWEEN ? AND ? AND status IN ('done', 'failed')"
    while True:
        with books(home) as db:
            ended = db.execute(query, (ids[0], ids[-1])).fetchall()
        if len(ended) == len(ids):
            return ended
        time.sleep(0.05)


def processors(pid: int, group: Path | None) -> tuple[float, float, float]:
    """Return the processor seconds so far of the daemon's process, of its ended children and of its control group."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, waited = (sum(map(int, fields[at : at + 2])) / TICKS for at in (11, 13))
    usage = (group / "cpu.stat").read_text() if group else "usage_usec 0"
    return own, waited, int(re.findall(r"usage_usec (\d+)", usage)[0]) / 1e6


def memory(pid: int) -> str:
    """Return the daemon process's memory, current and peak, in MB."""
    kb = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
    return f"{int(kb['VmRSS']) // 1000} MB, at most {int(kb['VmHWM']) // 1000} MB"


@dataclass(slots=True, kw_only=True)
class Side:
    """A measured daemon and its results.

    `ratios` has one pair for each round: wall time and processor time, relative to bare pytest.
    """

    name: str
    daemon: Daemon
    group: Path | None
    ratios: list[tuple[float, float]] = field(default_factory=list)

    def describe(self) -> str:
        """Format the medians of the ratios."""
        wall, processors = (statistics.median(each) for each in zip(*self.ratios, strict=True))
        return f"wall {wall:.2f}, processors {f'{processors:.2f}' if processors else 'not known'}"


class OtherDaemon(Daemon):
    """The daemon of another checkout, in that checkout's environment."""

    def __init__(self, checkout: Path, home: Path, settings: dict[str, str]) -> None:
        super().__init__(home, settings)
        self.program = [str(checkout / ".venv" / "bin" / "python"), str(checkout / "main.py")]


@contextmanager
def processor_group(daemon: Daemon, start_s: float = 90) -> Iterator[Path | None]:
    """Start a daemon in a control group of its own, and yield the group's folder.

    Yields None if no group can be made. The daemon may take `start_s` seconds to start.
    """
    group: Path | None = GROUPS / f"nightshift-overhead-{os.getpid()}-{daemon.home.name}"
    assert group
    own = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        group = None
    try:
        daemon.start(start_s)
        if group:
            (GROUPS / own.lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))
        yield group
    finally:
        daemon.stop()
        for _ in range(100):
            with suppress(OSError):
                if group:
                    group.rmdir()
                break
            time.sleep(0.05)


def plain_environment(folder: Path, runtime: Runtime) -> Path:
    """Make a virtual environment with the sandbox's interpreter, pytest and hypothesis; return its interpreter."""
    subprocess.run([*runtime.python, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    shutil.copytree(runtime.mounts[0].host, packages, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([folder / "bin" / "python", "-m", "compileall", "-q", packages], check=False)
    return folder / "bin" / "python"


def bare(python: Path, items: list[Item], workers: int) -> Cost:
    """Run the same suites with bare pytest."""
    with tempfile.TemporaryDirectory() as folder:

        def judge(item: Item) -> None:
            suite = Path(folder, item.name)
            suite.mkdir()
            (suite / f"test_{item.name}.py").write_text(item.tests)
            for day, code, wanted in ((1, item.wrong, {1, 2}), (2, item.right, {0})):
                (suite / f"{item.name}.py").write_text(code)
                os.utime(suite / f"{item.name}.py", (day * 86400, day * 86400))  # else Python may use stale bytecode
                done = subprocess.run(
                    [python, "-m", "pytest", "-q"], cwd=suite, env={"PATH": "/usr/bin:/bin"}, check=False,
                    stdout=subprocess.DEVNULL,
                )  # fmt: skip
                assert done.returncode in wanted, item.name

        before, began = os.times(), time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(judge, items))
        wall_s, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall_s=wall_s, total_s=used)


PARTS = {
    "whole": "SELECT (julianday(ended_at) - julianday(started_at)) * 86400 FROM tasks WHERE id {ids}",
    "model": "SELECT sum(latency_s) FROM replies WHERE task_id {ids} GROUP BY task_id",
    "planning": "SELECT sum(duration_s) FROM steps WHERE task_id {ids} AND phase = 'PLANNING' GROUP BY task_id",
    "coding": "SELECT sum(duration_s) FROM steps WHERE task_id {ids} AND phase = 'CODING' GROUP BY task_id",
    "testing": "SELECT sum(duration_s) FROM steps WHERE task_id {ids} AND phase = 'TESTING' GROUP BY task_id",
    "of it suites": """SELECT sum(data ->> 'duration_s') FROM execution_logs
        WHERE task_id {ids} AND kind = 'suite_judged' AND data ->> 'duration_s' IS NOT NULL GROUP BY task_id""",
    "reflecting": "SELECT sum(duration_s) FROM steps WHERE task_id {ids} AND phase = 'REFLECTING' GROUP BY task_id",
    "landing": """SELECT (julianday(t.ended_at) - julianday(max(s.ended_at))) * 86400
        FROM tasks t JOIN steps s ON s.task_id = t.id WHERE t.id {ids} GROUP BY t.id""",
}


def parts_of_a_task(home: Path, tasks: int) -> str:
    """Return the time of each part of a task: medians over the last tasks in ms, from the daemon's own records."""
    with books(home) as db:
        last = db.execute("SELECT max(id) FROM tasks").fetchone()[0]
        ids = f"BETWEEN {last - tasks + 1} AND {last}"
        times = {name: [row[0] for row in db.execute(query.format(ids=ids))] for name, query in PARTS.items()}
    return ", ".join(f"{name} {statistics.median(each) * 1000:.0f}" for name, each in times.items() if each)


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=Path)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--beside", type=Path)
    a = parser.parse_args()
    script = Script()
    with tempfile.TemporaryDirectory() as folder, WireServer(script) as server:
        environment = plain_environment(Path(folder, "plain"), open_runtime(ROOT / ".runner"))
        settings = settings_for(
            server, WORKER_COUNT=str(a.workers), EMBEDDER="hashed", OLLAMA_BASE_URL=server.ollama_base_url
        )
        homes = [Path(folder, name) for name in ("now", "before")[: 2 if a.beside else 1]]
        began_with = Path(folder, "home")
        prepare(began_with, settings, script, a)
        for home in homes:
            shutil.copytree(began_with, home, symlinks=True)
        endless = number_items(a.items, a.after)
        with ExitStack() as stack:
            sides = []
            for home in homes:
                daemon = OtherDaemon(a.beside, home, settings) if home.name == "before" else Daemon(home, settings)
                group = stack.enter_context(processor_group(daemon))
                sides.append(Side(name=home.name, daemon=daemon, group=group))
            first = list(islice(endless, 6))
            for side in sides:
                through_the_daemon(side.daemon, first, script, side.group)
                sandboxes = side.daemon.get("/api/status")["sandbox_detail"].partition("\n")[0]
                if "nested, kept warm" not in sandboxes:
                    raise SystemExit(f"{side.name}: sandboxes that cost more than they must: {sandboxes}")
            bare(environment, first[:4], a.workers)
            for number in range(a.rounds):
                items = list(islice(endless, a.tasks))
                theirs = bare(environment, items, a.workers)
                print(f"round {number + 1}: ms a task: bare {theirs.of(a.tasks)}", flush=True)
                for side in sides[:: 1 if number % 2 else -1]:
                    ours = through_the_daemon(side.daemon, items, script, side.group)
                    side.ratios.append((ours.wall_s / theirs.wall_s, ours.total_s / theirs.total_s))
                    print(f"  {side.name} {ours.of(a.tasks)}", flush=True)
            for side in sides:
                assert side.daemon.process
                print(f"{side.name}: memory {memory(side.daemon.process.pid)}")
                print(f"  ms a task, medians by its books: {parts_of_a_task(side.daemon.home, a.tasks)}")
    for side in sides:
        print(
            f"{side.name}: median ratio: {side.describe()} "
            f"({a.tasks} tasks of two runs, {a.workers} at once, after {a.after} tasks; goal: at most 0.7)"
        )


def number_items(file: Path | None, begun: int) -> Iterator[Item]:
    """Yield items endlessly, each under a name of its own."""
    endless = cycle(read_items(file) if file else make_up())
    return (item.rename(number) for number, item in enumerate(endless, begun))


def prepare(home: Path, settings: dict[str, str], script: Script, a: argparse.Namespace) -> None:
    """Run `--after` tasks in a new home, by the daemon of `--beside` if there is one."""
    daemon = OtherDaemon(a.beside, home, settings) if a.beside else Daemon(home, settings)
    with daemon:
        for begun in range(0, a.after, AT_ONCE):
            items = list(islice(number_items(a.items, begun), min(AT_ONCE, a.after - begun)))
            cost = through_the_daemon(daemon, items, script, None)
            print(f"after {begun}: {cost.wall_s / len(items) * 1000:.0f} ms a task", flush=True)


if __name__ == "__main__":
    main()
