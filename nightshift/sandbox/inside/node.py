"""Runs tests with node:test, vitest or jest, as the owner does, with an additional reporter.

This module is part of the trusted parent. Reporters write to a named pipe, because Node.js passes no other descriptors
to its child processes. Each line begins with the run's secret, and is converted to an event in the form that `recorder`
describes.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH100, PTH103, PTH109, PTH110, PTH118, PTH119, PTH120

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from .channel import Pipe
from .child import Child
from .segments import KEPT as KEPT_OUTPUT

Job = dict[str, Any]
Outcome = dict[str, Any]

FORGED = "not from the recorder"
OUT_OF_MEMORY = "out of memory"
CODE = os.path.dirname(os.path.abspath(__file__))
JOINED = " > "
TSX = ("node_modules/tsx", "/node_modules/tsx")
MISSING = frozenset({"ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"})
_MISSING = re.compile(r"(?:Error: )?(?:Cannot find (?:module|package)|Failed to (?:load url|resolve import)) ")
_FRAME = re.compile(r" +at (?:async )?(?:(.*?) \()?(?:file://)?(/[^:()]*):(\d+)(?::\d+)?\)?")
_FIRST_FRAME = re.compile(r"(?:file://)?(/[^:()]*):(\d+)")
_THROWN = re.compile(r"(?m)^(?:Uncaught )?([A-Za-z$_][\w$]*)(?: \[(\w+)\])?: (.*(?:\n(?! +at |Node\.js v).*)*)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Channel(Pipe):
    """The named pipe to which the reporters of one run write.

    Args:
        job: the job of the run.
        secret: the prefix of each line.
        token: divides the output into the parts of files; empty if the output is not divided.
    """

    def __init__(self, job: Job, secret: str, token: str = "") -> None:
        super().__init__()
        self._node = job["node"]
        self._message = f"{secret} {self.path} {token}"

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables of a run, by which each Node.js process finds the reporter."""
        own = environ.get("NODE_OPTIONS", "")
        reporter = os.path.join(CODE, "node_reporter.mjs")
        words = [*self._node["flags"], f"--import={CODE}/lock.mjs", f"--test-reporter={reporter}"]
        words += ["--test-reporter-destination=stderr", *self._node["printing"]]
        path = os.pathsep.join((os.path.dirname(self._node["path"]), environ.get("PATH", "/usr/bin:/bin")))
        return {
            **environ,
            "NODE_OPTIONS": " ".join((own, *words)).strip(),
            "NIGHTSHIFT_NODE_OPTIONS": own,
            "NIGHTSHIFT_REPORT": self._message,
            "PATH": path,
            "npm_config_update_notifier": "false",
        }


def suite(job: Job) -> Outcome:
    """Run the test files of a job. The result has the same form as that of `Child.watch` for a session of pytest."""
    total, left = Total(job), job
    for words, folder in _runs(job):
        secret = secrets.token_hex(12)
        channel = Channel(job, secret, job["token"])
        child = Child(become, (words, channel.variables(os.environ), folder))
        channel.attach(child)
        outcome = child.watch(left)
        channel.close()
        left = less(left, outcome)
        total.take(outcome, secret)
        if total.stopped:
            break
    return total.answer(total.stopped or "exited")


def _runs(job: Job) -> Iterator[tuple[list[str], str]]:
    """Yield the command and the folder of each process to start.

    node:test needs one process; vitest and jest need one for each package with tests.
    """
    node, files = job["node"], job["session"]["files"]
    if not node["runner"]:
        loading = ["--import", "tsx"] if node["loads_types"] and any(map(os.path.isdir, TSX)) else []
        # A check that is made to fail may skip the code that closes a server, and the server would keep the process
        # alive.
        loading += ["--test-force-exit"] if job["must_fail"] else []
        # Files run one after the other, so that the order of events shows which file was running.
        yield [node["path"], *loading, "--test", "--test-concurrency=1", *files], "."
        return
    packages: dict[str, list[str]] = {}
    for path in files:
        packages.setdefault(node["roots"].get(path, ""), []).append(os.path.abspath(path))
    for root, paths in packages.items():
        folder = os.path.abspath(root)
        program = _program(folder, node["runner"])
        reporter = os.path.join(CODE, f"{node['runner']}_reporter")
        if node["runner"] == "vitest":
            # vite writes a compiled configuration into the nearest folder of this name.
            os.makedirs(os.path.join(folder, "node_modules"), exist_ok=True)
            yield [node["path"], program, "run", *paths, f"--reporter={reporter}.mjs"], folder
        else:
            yield [node["path"], program, "--ci", f"--reporters={reporter}.cjs", "--runTestsByPath", *paths], folder


def _program(folder: str, name: str) -> str:
    """Return the path of a package's program, searched as Node.js searches packages; if not found, its name."""
    while not os.path.exists(program := os.path.join(folder, "node_modules", ".bin", name)):
        if folder == os.path.dirname(folder):
            return name
        folder = os.path.dirname(folder)
    return os.path.realpath(program)


def become(_instructions: int, _reporting: int, argument: tuple[Sequence[str], Mapping[str, str], str]) -> NoReturn:
    """Become a program, in a forked child. `argument` has its command, its environment variables and its folder."""
    words, variables, folder = argument
    os.chdir(folder)
    os.execvpe(words[0], list(words), dict(variables))  # noqa: S606 (no shell is wanted)


def less(job: Job, outcome: Outcome) -> Job:
    """Return a job whose time limits are reduced by what a run has used."""
    used = {"wall_s": outcome["duration_s"], "cpu_s": outcome["cpu_s"]}
    return {**job, **{name: max(0.0, job[name] - seconds) for name, seconds in used.items()}}


class Report:
    """The events that the reporters of one process wrote.

    Args:
        text: all lines. Lines of another recorder, which have the secret but not the form of an event, are kept. Lines
            without the secret are replaced by `FORGED`.
        secret: the run's secret.
        node: facts about the files. `scripts` are files without tests, each of which counts as one test. `marked` are
            the ids of tests that their source always skips.
        printed: the output of the files, by path.
    """

    def __init__(self, text: str, secret: str, node: Mapping[str, Any], printed: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.failed: set[str] = set()
        self.changed: set[str] = set()
        self.has_ended = False
        self._scripts, self._marked, self._printed = frozenset(node["scripts"]), frozenset(node["marked"]), printed
        self._seen, self._reported = Counter[str](), set[str]()
        self._workspace = os.getcwd() + os.sep
        for line in text.splitlines():
            if not line.startswith(secret) or not self._take(line.removeprefix(secret)):
                self.lines.append(line.removeprefix(secret) if line.startswith(secret) else FORGED)

    def _take(self, line: str) -> bool:
        """Record one event; return False if the line does not have the form of a reporter's event."""
        try:
            event = json.loads(line)
            take = {
                "now": self._now, "test": self._test, "file": self._file, "changed": self._change, "end": self._end,
            }[event["e"]]  # fmt: skip
            if event["e"] == "end" and "id" in event:
                return False
            take(event, str(event.get("file", "")).removeprefix(self._workspace))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return False
        return True

    def _add(self, **event: object) -> None:
        self.lines.append(json.dumps(event))

    def _end(self, _event: dict[str, Any], _path: str) -> None:
        self.has_ended = True

    def _change(self, event: dict[str, Any], _path: str) -> None:
        self.changed |= {str(name) for name in event["names"]}

    def _now(self, event: dict[str, Any], path: str) -> None:
        self._add(e="now", id=f"{path}::{_name(event['titles'])}")

    def _test(self, event: dict[str, Any], path: str) -> None:
        nodeid = f"{path}::{_name(event['titles'])}"
        self._seen[nodeid] += 1
        self._reported.add(path)
        number = f" #{self._seen[nodeid]}" if self._seen[nodeid] > 1 else ""
        self._end_test(f"{nodeid}{number}", event["how"], float(event["seconds"]), event.get("error"))

    def _end_test(self, nodeid: str, how: str, seconds: float, error: dict[str, Any] | None) -> None:
        fail: dict[str, Any] | None = None
        if how == "skipped":
            message = "the test is skipped or still to be written"
            fail = {"kind": "Skipped", "message": message, "frames": []}
        elif how == "failed":
            self.failed.add(nodeid)
            fail = self._details(error or {})
        self._add(e="start", id=nodeid)
        self._add(e="end", id=nodeid, result=how, s=seconds, fail=fail, marked=nodeid in self._marked)

    def _file(self, event: dict[str, Any], path: str) -> None:
        """Record the result of a whole file, which is a script without tests, or has failed outside of its tests."""
        nodeid, printed = f"{path}::{os.path.basename(path)}", self._printed.get(path, "")
        if event["how"] == "failed":
            status = event.get("status") or ""
            error = event.get("error") or _read_thrown(printed, status)
            if path in self._scripts and path not in self._reported:
                self._end_test(nodeid, "failed", 0.0, error)
            elif path in self._reported and status:
                self._fail(path, f"Node.js ended with status {status}: something failed after its test had ended")
            else:
                self.failed.add(path)
                self._add(e="collect", id=path, fail=self._details(error))
        elif path not in self._reported:
            if path in self._scripts:
                self._end_test(nodeid, "passed", 0.0, None)
            else:
                self._fail(path, "no test of this file came to its end")

    def _fail(self, path: str, message: str) -> None:
        """Record that a file failed as a whole."""
        self.failed.add(path)
        self._add(e="collect", id=path, fail={"kind": "Error", "message": message, "frames": []})

    def _details(self, error: Mapping[str, Any]) -> dict[str, Any]:
        message = _COLOURS.sub("", error.get("message") or "it failed").replace("file://", "")
        kind = error.get("name") or "Error"
        if error.get("code") in MISSING or _MISSING.match(message):
            kind = "ModuleNotFoundError"
        elif "does not provide an export named" in message:
            kind = "ImportError"
        elif error.get("isCheck"):
            kind = "AssertionError"
        return {"kind": kind, "message": message, "frames": self._frames(error.get("stack") or "")}

    def _frames(self, stack: str) -> list[tuple[str, int, str]]:
        """Return the path, line and function of the stack frames in the workspace, outermost first."""
        matches = [match for line in stack.split("\n") if (match := _FRAME.fullmatch(line))]
        frames = [(match[2], int(match[3]), match[1] or "<module>") for match in reversed(matches)]
        if not frames and (first := _FIRST_FRAME.match(stack)):
            frames = [(first[1], int(first[2]), "<module>")]
        own = self._workspace
        return [(path.removeprefix(own), line, name) for path, line, name in frames if path.startswith(own)]


def _name(titles: Sequence[str]) -> str:
    """Return a test's name, joined from its titles. `[` is replaced, because it would begin parameters as in pytest."""
    return JOINED.join(title.replace("[", "\u27e6") for title in titles)


def _read_thrown(printed: str, status: str) -> dict[str, Any]:
    """Read from the output of Node.js how a file ended: the error that was thrown, or the status."""
    match = _THROWN.search(printed)
    if match is None or status.startswith("SIG"):
        return {"message": f"Node.js ended by itself ({status}): {printed.strip()[-1000:]}", "isCheck": False}
    name, code, message = match.groups()
    is_check = name == "AssertionError"
    return {"name": name, "code": code, "message": message.strip(), "stack": printed, "isCheck": is_check}


class Total:
    """The combined report of all processes. `stopped` is the reason why the run cannot continue; empty if it can."""

    def __init__(self, job: Job) -> None:
        self._node = job["node"]
        self._lines: list[str] = []
        self._changed: set[str] = set()
        self._output: dict[str, str] = {}
        self._left = KEPT_OUTPUT
        self._exit = 0
        self._duration_s = self._cpu_s = 0.0
        self._limit, self.stopped = "", ""

    def take(self, outcome: Outcome, secret: str) -> None:
        """Add the result of one process."""
        output = {os.path.relpath(name) if name else "": text for name, text in outcome["output"].items()}
        report = Report(outcome["events"], secret, self._node, output)
        if outcome["ended"] != "exited":
            self.stopped = outcome["ended"]
        elif OUT_OF_MEMORY in "".join(output.values()) and outcome["exit"]:
            self.stopped = "memory"
        elif not report.has_ended:
            self.stopped = "exited"
        self._exit = self._exit or outcome["exit"]
        self._lines += report.lines
        self._changed |= report.changed
        self._duration_s += outcome["duration_s"]
        self._cpu_s += outcome["cpu_s"]
        self._limit = outcome["limit"]
        self._keep("", output.get("", ""))
        for nodeid in sorted(report.failed):
            self._keep(nodeid, output.get(nodeid.partition("::")[0], ""))

    def _keep(self, name: str, text: str) -> None:
        if text and self._left > 0:
            self._output[name] = self._output.get(name, "") + text
            self._left -= len(text)

    def answer(self, how: str) -> Outcome:
        """Return the result of the whole run. Its report has an end only if the reports of all processes had one."""
        if not self.stopped:
            self._lines.append(json.dumps({"e": "finish", "exit": self._exit, "changed": sorted(self._changed)}))
        return {
            "ended": how,
            "exit": self._exit if how == "exited" else None,
            "events": "\n".join(self._lines),
            "output": self._output,
            "duration_s": self._duration_s,
            "cpu_s": self._cpu_s,
            "limit": self._limit,
        }


def events_of_command(text: str, secret: str, job: Job) -> str:
    """Return the events in the lines that a command's processes wrote. Each event begins with the secret."""
    report = Report(text, secret, job["node"], {})
    if report.changed:
        report.lines.append(json.dumps({"e": "seen", "read": {}, "modules": [], "changed": sorted(report.changed)}))
    return "\n".join(line if line == FORGED else f"{secret}{line}" for line in report.lines)
