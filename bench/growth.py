"""Measures the cost of a task and the size of the daemon over many tasks; neither may grow with their number.

    .venv/bin/python bench/growth.py --home FOLDER [--tasks 1000] [--block 100] [--workers 2] [--fail-every 20]
                                     [--humaneval FILE] [--set NAME=VALUE …] [--out growth.jsonl]

One daemon does small generated tasks (`bench/overhead.py`), each with new files. The scripted model answers each task
wrongly once, then rightly. Every `--fail-every`-th task never gets a right answer and fails after three iterations.
`--humaneval` uses the 164 tasks of HumanEval (HumanEval.jsonl.gz) instead, repeatedly under new names, because an
owner's tasks have functions and words of their own. If the home already exists, the run adds tasks to it.

After each block of tasks one line of JSON is printed. It has the milliseconds of wall time and of processor time per
task (of the daemon itself, of the child processes that it waited for, and of its whole control group), the daemon's
memory, descriptors, threads and children, the folders of the home in MB, and milliseconds of some pages.

The exit code is 1 if the processor time of a task in the last quarter is more than `--most-ratio` times that of the
second block, or if memory grows by more than `--most-mb` for 1,000 tasks. With fewer than four blocks nothing is
checked.
"""

# ruff: noqa: E402  the path comes first: this folder's queue.py would hide the standard library's
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import gzip
import json
import re
import statistics
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import cycle, islice

from bench.overhead import Item, Script, books, make_up, processor_group, processors
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer

PAGES = ("/", "/tasks", "/review", "/inbox", "/logs", "/memory", "/api/status", "/api/brief", "/api/tasks?limit=50")
FOLDERS = ("db/backups", "workspace", "logs", "state")
DATABASE = "db/agent_logs.sqlite"
START_S = 600
"""Seconds that a daemon may take to start on a home with many tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Measurements after one block of tasks.

    `tasks` is the id of the block's last task. `done` is the number of its tasks that are done. Times in ms are per
    task. The keys of `folders_mb` are the names in FOLDERS, and the keys of `pages_ms` are the names in PAGES. A page
    that did not answer with 200 has its HTTP status instead of a time.
    """

    tasks: int
    done: int
    wall_ms: float
    daemon_ms: float
    started_ms: float
    all_ms: float
    memory_mb: float
    descriptors: int
    threads: int
    children: int
    database_mb: float
    log_mb: float
    folders_mb: dict[str, float]
    pages_ms: dict[str, float | str]


def read_humaneval(path: Path) -> list[Item]:
    """Read the tasks of HumanEval, each with a wrong answer that returns None."""
    items = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            function, head = row["entry_point"], row["prompt"].lstrip("\n")
            test = re.sub(r"METADATA = \{.*?\n\}\n", "", row["test"], flags=re.DOTALL).strip("\n")
            helpers = [name for name in re.findall(r"^def (\w+)", head, re.MULTILINE)
                       if name != function and re.search(rf"\b{name}\b", test)]  # fmt: skip
            imports = f"from {function} import {', '.join([function, *helpers])}"
            items.append(
                Item(
                    name=function,
                    description=f"Write the Python function `{function}` in a new file `{function}.py`. It has to do "
                    f"what this signature and docstring say:\n\n```python\n{head.strip()}\n```\n",
                    tests=f"{imports}\n\n\n{test}\n\n\ndef test_{function}():\n    check({function})\n",
                    wrong=f"{head}    return None\n",
                    right=head + row["canonical_solution"],
                )
            )
    return items


def number_items(items: list[Item], begun: int, fail_every: int) -> Iterator[Item]:
    """Yield the items endlessly under new names; every `fail_every`-th item has no right answer."""
    for number, item in enumerate(cycle(items), begun):
        named = item.rename(number)
        yield replace(named, right=named.wrong) if fail_every and number % fail_every == fail_every // 2 else named


def run_block(daemon: Daemon, items: list[Item], script: Script, group: Path | None) -> Block:
    """Submit a block of tasks, wait until all have ended, and measure."""
    assert daemon.process
    pid = daemon.process.pid
    script.begin(items)
    before, began = processors(pid, group), time.perf_counter()
    ids = [daemon.submit(description=item.description, tests={f"test_{item.name}.py": item.tests}) for item in items]
    done = wait_for_end(daemon.home, ids)
    wall_s, after = time.perf_counter() - began, processors(pid, group)
    daemon_ms, started_ms, all_ms = (
        round((end - start) * 1000 / len(ids), 1) for start, end in zip(before, after, strict=True)
    )
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
    return Block(
        tasks=ids[-1],
        done=done,
        wall_ms=round(wall_s * 1000 / len(ids)),
        daemon_ms=daemon_ms,
        started_ms=started_ms,
        all_ms=all_ms,
        memory_mb=round(int(status["VmRSS"].split()[0]) / 1024, 1),
        descriptors=len(list((process / "fd").iterdir())),
        threads=int(status["Threads"]),
        children=sum(len(file.read_text().split()) for file in process.glob("task/*/children")),
        database_mb=size_mb(daemon.home / DATABASE),
        log_mb=size_mb(daemon.home / f"{DATABASE}-wal"),
        folders_mb={folder: size_mb(daemon.home / folder) for folder in FOLDERS},
        pages_ms={page: time_page(daemon.url + page) for page in PAGES},
    )


def wait_for_end(home: Path, ids: list[int]) -> int:
    """Wait until these tasks have ended; return how many are done.

    Reads the database, because API answers cost the daemon time.
    """
    query = """SELECT count(*), coalesce(sum(status = 'done'), 0) FROM tasks
        WHERE id BETWEEN ? AND ? AND status IN ('done', 'failed', 'cancelled')"""
    while True:
        with books(home) as db:
            ended, done = db.execute(query, (ids[0], ids[-1])).fetchone()
        if ended == len(ids):
            return int(done)
        time.sleep(0.2)


def size_mb(path: Path) -> float:
    """Return the size of a file or folder on the disk, in MB; 0 if it does not exist."""
    total = 0
    for file in path.rglob("*") if path.is_dir() else (path,):
        try:
            total += file.lstat().st_blocks * 512
        except FileNotFoundError:  # the daemon has just removed the file
            continue
    return round(total / 2**20, 2)


def time_page(url: str) -> float | str:
    """Return the milliseconds of a complete answer, or the HTTP status if it is not 200."""
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        return str(error.code)
    return round((time.perf_counter() - began) * 1000, 1)


def judge(blocks: list[Block], most_ratio: float, most_mb: float) -> int:
    """Compare the last quarter of the blocks with the second block, and print the result; return the exit code."""

    def cost(block: Block) -> float:
        return block.daemon_ms + block.started_ms

    second, last = blocks[1], blocks[-1]
    ratio = statistics.median(map(cost, blocks[-(len(blocks) // 4) :])) / cost(second)
    growth_mb = (last.memory_mb - second.memory_mb) / (last.tasks - second.tasks) * 1000
    print(f"processor time of a task: {ratio:.2f} of the second block; memory {growth_mb:+.1f} MB for 1,000 tasks")
    return int(ratio > most_ratio or growth_mb > most_mb)


def main() -> int:
    """Run the blocks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--block", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fail-every", type=int, default=20)
    parser.add_argument("--humaneval", type=Path)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--most-ratio", type=float, default=1.15)
    parser.add_argument("--most-mb", type=float, default=5.0)
    asked = parser.parse_args()
    home, script, blocks = asked.home.resolve(), Script(), list[Block]()
    home.mkdir(parents=True, exist_ok=True)
    items = read_humaneval(asked.humaneval) if asked.humaneval else make_up()
    numbered = number_items(items, count_tasks(home), asked.fail_every)
    more = dict(each.split("=", 1) for each in asked.settings)
    with WireServer(script) as server:
        settings = settings_for(server, WORKER_COUNT=str(asked.workers), MAX_RETRIES="1", MAX_ITERATIONS="3", **more)
        daemon = Daemon(home, settings)
        with processor_group(daemon, START_S) as group:
            for begun in range(0, asked.tasks, asked.block):
                block = list(islice(numbered, min(asked.block, asked.tasks - begun)))
                blocks.append(run_block(daemon, block, script, group))
                server.requests.clear()
                text = json.dumps(asdict(blocks[-1]))
                print(text, flush=True)
                if asked.out:
                    with asked.out.open("a") as out:
                        out.write(text + "\n")
    return judge(blocks, asked.most_ratio, asked.most_mb) if len(blocks) >= 4 else 0


def count_tasks(home: Path) -> int:
    """Return the highest task id in a home; 0 for a new home."""
    if not (home / DATABASE).exists():
        return 0
    with books(home) as db:
        return int(db.execute("SELECT coalesce(max(id), 0) FROM tasks").fetchone()[0])


if __name__ == "__main__":
    sys.exit(main())
