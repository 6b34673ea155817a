"""Runs suites of node:test, a process of its own for each file, and of vitest and jest by their own processes.

This is part of the trusted parent. Each line that a process reports must bear the run's secret, its report must have
an end, and its exit status must be what its report says; from all of them comes one report in the language of
`session.py`.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH100, PTH103, PTH109, PTH118, PTH120

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from . import shut_off
from .child import Child
from .segments import KEPT as KEPT_OUTPUT

Job = dict[str, Any]
Found = dict[str, Any]

KEPT = ("HOME", "TMPDIR", "LANG", "NIGHTSHIFT_JOB")
FORGED = "not from the recorder"
OUT_OF_MEMORY = "out of memory"
DONE_AT = {"vitest": 99, "jest": 0}
"""From which of a test's parameters on the last one may be a callback."""
TSX = ("node_modules/tsx", "/node_modules/tsx")
CODE = os.path.dirname(os.path.abspath(__file__))


def suite(job: Job) -> Found:
    """Run each file in turn; returns what `Child.watch` does for a session of pytest."""
    if job["node"]["runner"]:
        return _by_runner(job)
    total, left = Total(), job
    for path in job["session"]["files"]:
        found = _run(job, path, left, flags(job, is_must_fail=job["must_fail"]))
        left = less(left, found)
        total.take(path, found, job)
        if total.stopped:
            break
    return total.answer(total.stopped or "exited")


def _by_runner(job: Job) -> Found:
    """All files by vitest or jest: a process for each package of the repository that has some."""
    total, left, node = Total(), job, job["node"]
    packages: dict[str, list[str]] = {}
    for path in job["session"]["files"]:
        packages.setdefault(node["roots"].get(path, ""), []).append(path)
    for root, files in packages.items():
        # vite writes a configuration that it has compiled into the nearest such folder.
        os.makedirs(os.path.join(root, "node_modules"), exist_ok=True)
        words = [node["path"], *node["flags"], os.path.join(CODE, f"{node['runner']}.mjs")]
        child = Child(become, (words, job["variables"]))
        child.send(json.dumps(_for_runner(job, os.path.join(os.getcwd(), root), files)).encode())
        found = child.watch(left)
        left = less(left, found)
        total.take(files[0], found, job)
        if total.stopped:
            break
    return total.answer(total.stopped or "exited")


def _for_runner(job: Job, root: str, files: Sequence[str]) -> dict[str, Any]:
    """What the runner's process is told, with what it tells those that it forks for the tests."""
    node = job["node"]
    worker = {
        "helper": node["told"]["helper"],
        "must_fail": job["must_fail"],
        "done_at": DONE_AT[node["runner"]],
        "is_context": node["runner"] == "jest",
    }
    return {
        "secret": node["told"]["secret"],
        "workspace": os.getcwd() + os.sep,
        "root": os.path.normpath(root),
        "files": files,
        "forks": {
            "words": shut_off.words(sys.executable, CODE),
            "environment": shut_off.environment(),
            "flags": node["flags"],
        },
        "worker": worker,
    }


def less(job: Job, found: Found) -> Job:
    """A job with the time that is left of its own after a run."""
    used = {"wall_s": found["duration_s"], "cpu_s": found["cpu_s"]}
    return {**job, **{name: max(0.0, job[name] - seconds) for name, seconds in used.items()}}


def _run(job: Job, path: str, left: Job, words: list[str]) -> Found:
    """One file in a process of its own, within what is left of the run's time."""
    if job["node"]["loads_types"]:
        words = [*_types_loaded(), *words]
    child = Child(become, ([job["node"]["path"], *words], job["variables"]))
    told = {**job["node"]["told"], "token": job["token"], "path": path, "workspace": os.getcwd() + os.sep}
    child.send(json.dumps(told).encode())
    return child.watch(left)


def _types_loaded() -> list[str]:
    """The words that have TypeScript loaded by the tsx of the project, where it has one."""
    return ["--import", "tsx"] if any(map(os.path.isdir, TSX)) else []


def flags(job: Job, *, is_must_fail: bool) -> list[str]:
    """The words between the program and its script."""
    recorder = os.path.join(CODE, "harness.mjs")
    words = [*job["node"]["flags"], f"--test-reporter={recorder}", "--test-reporter-destination=stdout"]
    # A check that fails on purpose may leave a server open that the test would have closed.
    return [*words, *(["--test-force-exit"] if is_must_fail else []), os.path.join(CODE, "start.mjs")]


def become(told: int, reporting: int, argument: tuple[Sequence[str], Mapping[str, str]]) -> NoReturn:
    """In a forked child: turn into Node.js."""
    words, variables = argument
    for descriptor in (told, reporting):
        os.set_inheritable(descriptor, True)
    execute([*words, str(told), str(reporting)], variables)


def execute(words: Sequence[str], variables: Mapping[str, str]) -> NoReturn:
    """Become Node.js, with little of the environment besides some variables."""
    env = {**variables} | {name: os.environ[name] for name in KEPT if name in os.environ}
    env["PATH"] = os.pathsep.join(dict.fromkeys((os.path.dirname(words[0]), "/usr/bin", "/bin")))
    os.execve(words[0], list(words), env)  # noqa: S606 (no shell is wanted)


class Report:
    """What one process reported, in whole lines; those that do not bear the secret are kept as what they are."""

    def __init__(self, text: str, secret: str) -> None:
        self.lines: list[str] = []
        self.changed: list[str] = []
        self.passed: set[str] = set()
        self.finish: int | None = None
        self.tests = 0
        self.broken = self.failed = False
        for line in text.splitlines():
            mine = line.startswith(secret) and self.finish is None
            if not (mine and self._take(line.removeprefix(secret))):
                self.lines.append(FORGED)

    def _take(self, line: str) -> bool:
        """Note one event; false when it has not the form of the recorder's."""
        try:
            event = json.loads(line)
            if event["e"] == "finish":
                self.finish, self.changed = event["exit"], list(event["changed"])
                return True
            if event["e"] == "collect":
                self.broken = self.failed = True
            elif event["e"] == "end":
                self.tests += 1
                failed = any(row[1] == "failed" for row in event["rows"])
                self.failed |= failed
                self.passed |= set() if failed else {str(event["id"])}
        except (ValueError, TypeError, KeyError, IndexError, RecursionError):
            return False
        self.lines.append(line)
        return True

    def fail(self, path: str, message: str) -> None:
        """Add that a file as a whole is at fault."""
        self.failed = True
        event = {"e": "collect", "id": path, "kind": "Error", "message": message, "frames": []}
        self.lines.append(json.dumps(event))


class Total:
    """The report of all processes together.

    `stopped` says why the run cannot go on.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._changed: list[str] = []
        self._output: dict[str, str] = {}
        self._left = KEPT_OUTPUT
        self._exit: int | None = None
        self._duration_s = self._cpu_s = 0.0
        self._limit, self._failed = "", False
        self.stopped = ""

    def take(self, path: str, found: Found, job: Job) -> None:
        """Add what one process did."""
        report = Report(found["events"], job["node"]["told"]["secret"])
        if found["ended"] != "exited":
            self.stopped = found["ended"]
        else:
            self._weigh(path, report, found)
        self._lines += report.lines
        self._changed += report.changed
        self._duration_s += found["duration_s"]
        self._cpu_s += found["cpu_s"]
        self._limit = found["limit"]
        self._failed |= report.failed
        for name, text in found["output"].items():
            if name not in report.passed and (self._left > 0 or self.stopped):
                self._output[name] = self._output.get(name, "") + text
                self._left -= len(text)

    def _weigh(self, path: str, report: Report, found: Found) -> None:
        """Hold a report against the exit status; a process that left without an end of its report ends the run."""
        if report.finish is None and not report.broken:
            self._exit = found["exit"]
            gave_up = found["exit"] < 0 and OUT_OF_MEMORY in "".join(found["output"].values())
            self.stopped = "memory" if gave_up else "exited"
        elif report.finish == 0 and found["exit"] != 0:
            report.fail(path, f"Node.js ended with status {found['exit']}: something failed after its test had ended")
        elif report.finish is not None and found["exit"] != report.finish:
            report.lines.append(FORGED)
        elif not report.tests and not report.broken:
            report.fail(path, "this file holds no test")

    def answer(self, how: str) -> Found:
        """The whole run; its report has an end only if that of every process had one."""
        if not self.stopped and how == "exited":
            self._exit = 1 if self._failed else 0
            self._lines.append(json.dumps({"e": "finish", "exit": self._exit, "changed": sorted(set(self._changed))}))
        return {
            "ended": how,
            "exit": self._exit,
            "events": "\n".join(self._lines),
            "output": self._output,
            "duration_s": self._duration_s,
            "cpu_s": self._cpu_s,
            "limit": self._limit,
        }
