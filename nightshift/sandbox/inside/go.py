"""Builds and runs Go tests: one program for each package, each built before any tested code has run.

This is part of the trusted parent. A recorder is put into each package for the build: it reports with the run's secret
over a descriptor of its own when a test begins and ends. Sources of tests, recorder and builds are gone from the disk
when the programs run, which the parent keeps in memory until then; so what tells a must-fail copy from a test is in
machine code alone. From all programs comes one report in the language of `session.py`.
"""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH102, PTH103, PTH108, PTH109, PTH110, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208, PTH211

import json
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from typing import Any, NoReturn

from .child import Child, Ends
from .node import FORGED, KEPT, less
from .segments import KEPT as KEPT_OUTPUT

Job = dict[str, Any]
Found = dict[str, Any]
PRINTED = 1 << 20
SEGMENT = 3000
MESSAGE = 4000
HOW = frozenset({"passed", "failed", "skipped"})
AGAIN = 20
"""So many tests of a package may end its program before the rest is left."""
DESCRIPTOR = 200
BUILD_FLAGS = ("-ldflags=-s -w",)
RUN_FLAGS = ("-test.v", "-test.paniconexit0", "-test.count=1", "-test.timeout=0")
RECORDER = """package PACKAGE

import (
	"strconv"
	"syscall"
	"testing"
	"time"
)

func init() {
	syscall.CloseOnExec(DESCRIPTOR)
}

func NAMEsay(words string) {
	text := []byte("SECRET" + words + "\\n")
	for len(text) > 0 {
		n, err := syscall.Write(DESCRIPTOR, text)
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		if err != nil {
			return
		}
		text = text[n:]
	}
}

func NAME(t testing.TB) func() {
	began, name, ended := time.Now(), t.Name(), "returned"
	NAMEsay("start " + name)
	t.Cleanup(func() {
		how := "passed"
		if t.Failed() || ended == "panicked" {
			how = "failed"
		} else if t.Skipped() {
			how = "skipped"
		}
		NAMEsay("end " + name + " " + how + " " + ended + " " + strconv.FormatInt(time.Since(began).Microseconds(), 10))
	})
	return func() {
		if found := recover(); found != nil {
			ended = "panicked"
			panic(found)
		}
	}
}
"""
_RUNNING = re.compile(r"=== (?:RUN|CONT|NAME|PAUSE) +(\S+)")
_ENDED = re.compile(r" *--- (?:PASS|FAIL|SKIP|BENCH): (\S+) \(.*\)")
_TRACE = re.compile(r"\t(/\S+\.go):(\d{1,7})(?: .*)?")
_LINE = re.compile(r"\s*([\w.-]+\.go):(\d{1,7})(?::\d+)?: ?(.*)")


def suite(job: Job) -> Found:
    """Build all packages and run them in turn; returns what `Child.watch` does for a session of pytest."""
    told = placed({**job["go"], "env": {**job["variables"], **job["go"]["env"]}})
    total = Total()
    packages = _packages(job)
    home, work = os.environ["HOME"], work_folder()
    recorder = Recorder()
    written = recorder.put_into(packages)
    env = environment(told, work)
    left, programs = job, list[tuple[Package, int]]()
    for number, package in enumerate(packages):
        program = os.path.join(work, str(number))
        words = [told["path"], "test", "-c", *BUILD_FLAGS, "-o", program, "."]
        output = Ends(SEGMENT)
        found = Child(_build, (words, env, package.folder)).watch(left, output=output)
        left = less(left, found)
        total.used(found)
        if found["ended"] != "exited":
            total.stopped = found["ended"]
            return total.answer(found)
        if found["exit"] or not os.path.exists(program):
            total.refuse(package, _text(output, told))
        else:
            programs.append((package, os.open(program, os.O_RDONLY | os.O_CLOEXEC)))
            os.unlink(program)
    for path in written:
        os.unlink(path)
    for package in packages:
        package.put_back()
    shutil.rmtree(work)
    for package, descriptor in programs:
        program = os.path.join(home, f"go{secrets.token_hex(4)}", f"{package.name}.test")
        with os.fdopen(descriptor, "rb") as source:
            found = _run(package, program, source.read(), left, told, recorder, total)
        left = less(left, found)
        if total.stopped:
            return total.answer(found)
    return total.answer(None)


def placed(told: dict[str, Any]) -> dict[str, Any]:
    """What we are told, with the places of the toolchain that are there."""
    place = next(place for place in told["places"] if os.path.isdir(place["cache"]))
    return {**told, **place}


def work_folder() -> str:
    """A new path for what builds make."""
    return os.path.join(os.environ.get("TMPDIR", "/tmp"), f"go{secrets.token_hex(4)}")  # noqa: S108 (the job's own)


class Package:
    """The tests of one folder: which of its files are run, and under which names."""

    def __init__(self, folder: str) -> None:
        self.folder, self.name = folder, os.path.basename(folder) or "root"
        self.files: dict[str, dict[str, Any]] = {}
        self.before: dict[str, bytes] = {}
        self.of_test: dict[str, str] = {}
        self.examples: list[str] = []
        self.clauses: set[str] = set()

    @property
    def is_broken(self) -> bool:
        """Tell whether a file may not parse, as one without a package does."""
        return any(mark["broken"] for mark in self.files.values())

    def replace(self, path: str, text: bytes) -> None:
        """Give a file another text for the build."""
        with open(path, "rb") as file:
            self.before[path] = file.read()
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(text)

    def put_back(self) -> None:
        """Give files that keep their names their texts again; the others are nobody's, and go."""
        for path, text in self.before.items():
            os.unlink(path)
            if not self.files[path]["fresh"]:
                with open(path, "wb") as file:
                    file.write(text)

    def add(self, path: str, mark: dict[str, Any], without: Sequence[str]) -> None:
        """Take a file."""
        self.files[path] = mark
        self.clauses.add(mark["package"])
        self.examples += mark["examples"]
        for _, name, _ in mark["tests"]:
            if f"{path}::{name}" not in without:
                self.of_test[name] = path


class Recorder:
    """What is put into packages for their build, under names of its own in each run."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(12)
        self._name = f"r{secrets.token_hex(5)}"

    def put_into(self, packages: Sequence[Package]) -> list[str]:
        """Write the recorder beside the tests and call it in each of them; returns what is there besides now."""
        written = []
        for package in packages:
            for path, mark in package.files.items():
                package.replace(path, self._marked(path, mark))
            for clause in sorted(package.clauses - {""}):
                path = os.path.join(package.folder, f"{secrets.token_hex(6)}r_test.go")
                text = RECORDER.replace("PACKAGE", clause).replace("NAME", self._name)
                text = text.replace("SECRET", self.secret).replace("DESCRIPTOR", str(DESCRIPTOR))
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                written.append(path)
        return written

    def _marked(self, path: str, mark: dict[str, Any]) -> bytes:
        with open(path, "rb") as file:
            text = file.read()
        for place, _, handle in sorted(mark["tests"], reverse=True):
            text = text[:place] + f" defer {self._name}({handle})();".encode() + text[place:]
        return text


def _packages(job: Job) -> list[Package]:
    session, found = job["session"], dict[str, Package]()
    for path in session["files"]:
        mark = job["go"]["files"].get(path)
        if mark is not None:
            folder = os.path.dirname(path)
            package = found.setdefault(folder, Package(folder))
            package.add(path, mark, session["without"])
    return [package for package in found.values() if package.of_test or package.examples or package.is_broken]


def _linked(built: str, cache: str) -> str:
    """A folder for builds that has all of another one, by links: what is built besides is this run's alone."""
    os.makedirs(cache)
    for name in os.listdir(built):
        if len(name) == 2:
            os.mkdir(os.path.join(cache, name))
            for entry in os.listdir(os.path.join(built, name)):
                os.symlink(os.path.join(built, name, entry), os.path.join(cache, name, entry))
    return cache


def _env(told: dict[str, Any], **more: str) -> dict[str, str]:
    env = {name: os.environ[name] for name in (*KEPT, "GOMODCACHE") if name in os.environ}
    path = os.pathsep.join((os.path.dirname(told["path"]), os.environ.get("PATH", "/usr/bin:/bin")))
    return {**env, **told["env"], "PATH": path, "GOROOT": told["root"], **more}


def environment(told: dict[str, Any], work: str) -> dict[str, str]:
    """The environment variables of a build that keeps what it makes in a new folder."""
    told = placed(told)
    return _env(told, GOCACHE=_linked(told["cache"], os.path.join(work, "cache")), GOTMPDIR=work)


def _build(_told: int, _reporting: int, argument: tuple[list[str], dict[str, str], str]) -> NoReturn:
    """In a forked child: build one package."""
    words, env, folder = argument
    if folder:
        os.chdir(folder)
    os.execve(words[0], words, env)  # noqa: S606 (no shell is wanted)


def _start(_told: int, reporting: int, argument: tuple[list[str], dict[str, str], str]) -> NoReturn:
    """In a forked child: become the program of a package's tests, in its folder as `go test` has it."""
    words, env, folder = argument
    os.dup2(reporting, DESCRIPTOR, inheritable=True)
    if folder:
        os.chdir(folder)
    os.execve(words[0], words, env)  # noqa: S606 (no shell is wanted)


def _run(
    package: Package, program: str, content: bytes, job: Job, told: dict[str, Any], recorder: Recorder, total: "Total"
) -> Found:
    """Run a package's program, and again without the test that ended it, as long as there is one."""
    waiting, env = dict(package.of_test), _env(told)
    used = {"duration_s": 0.0, "cpu_s": 0.0}
    for _ in range(AGAIN):
        os.makedirs(os.path.dirname(program))
        descriptor = os.open(program, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        names = "|".join([*waiting, *package.examples])
        words = [program, *RUN_FLAGS, f"-test.run=^({names})$"]
        output = Ends(PRINTED)
        found = Child(_start, (words, env, package.folder)).watch(less(job, used), output=output)
        shutil.rmtree(os.path.dirname(program), ignore_errors=True)
        used = {name: used[name] + found[name] for name in used}
        report = Report(found["events"], recorder.secret)
        ended = total.take(package, report, found, _text(output, told))
        if total.stopped or not ended:
            break
        waiting = {name: path for name, path in waiting.items() if name not in report.ends and name != ended}
        if not waiting:
            break
    return {**found, **used}


class Report:
    """What the recorder said: the tests that began, and how those ended that did."""

    def __init__(self, text: str, secret: str) -> None:
        self.began: list[str] = []
        self.ends: dict[str, tuple[str, str, float]] = {}
        self.forged = 0
        for line in text.splitlines():
            words = line.removeprefix(secret).split(" ") if line.startswith(secret) else []
            if not self._take(words):
                self.forged += 1

    def _take(self, words: Sequence[str]) -> bool:
        if len(words) == 2 and words[0] == "start" and words[1] not in self.began:
            self.began.append(words[1])
            return True
        if len(words) == 5 and words[0] == "end" and words[1] in self.began and words[1] not in self.ends:
            if words[2] not in HOW or not words[4].isdigit() or len(words[4]) > 15:
                return False
            self.ends[words[1]] = words[2], words[3], int(words[4]) / 1e6
            return True
        return False

    @property
    def open(self) -> str:
        """The test that began last and has no end."""
        return next((name for name in reversed(self.began) if name not in self.ends), "")


class Total:
    """The report of all programs together; `stopped` says why the run cannot go on."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._output: dict[str, str] = {}
        self._left = KEPT_OUTPUT
        self._exit: int | None = None
        self._duration_s = self._cpu_s = 0.0
        self._limit, self._failed = "", False
        self._running = ""
        self.stopped = ""

    def used(self, found: Found) -> None:
        """Count what a process used."""
        self._duration_s += found["duration_s"]
        self._cpu_s += found["cpu_s"]
        self._limit = found["limit"]
        self._exit = found["exit"]

    def refuse(self, package: Package, printed: str) -> None:
        """Add that a package could not be built: all its files are at fault."""
        self._failed = True
        frames = [[os.path.join(package.folder, os.path.basename(p)), n, ""] for p, n, _ in _places(printed)]
        for path in package.files:
            own = [frame for frame in frames if frame[0] == path] or frames
            self._add(e="collect", id=path, kind="BuildError", message=printed[-MESSAGE:], frames=own[:1])

    def take(self, package: Package, report: Report, found: Found, printed: str) -> str:
        """Add what one program did; returns the test that ended it, if one did."""
        self.used(found)
        self._lines += [FORGED] * report.forged
        texts = _by_test(printed)
        over = found["ended"] == "exited" and found["exit"] in (0, 1) and not report.open
        failed = [name for name, (how, _, _) in report.ends.items() if how == "failed"]
        blamed = "" if over else report.open or (failed[-1] if failed else "")
        for name in report.began:
            if name in report.ends:
                self._end(package, name, report.ends[name], texts.get(name, ""), crashed=name == blamed)
        if found["ended"] != "exited":
            self.stopped = found["ended"]
            self._running = self._id(package, report.open) if report.open else ""
            self._note(self._running, texts.get(report.open, texts[""]))
            return ""
        if over:
            if found["exit"] and not failed:
                text = (texts[""] or printed)[-MESSAGE:].strip()
                self._collect(package, "Error", f"something failed that is no test:\n{text}")
            return ""
        if blamed:
            if blamed not in report.ends:
                died = f"the test process ended in this test, by {_how(found['exit'])}"
                self._end(package, blamed, ("failed", "", 0.0), f"{texts.get(blamed, '')}\n{died}", crashed=True)
            return blamed
        text = printed[-MESSAGE:].strip() or f"the test process ended by {_how(found['exit'])} before any test"
        self._collect(package, "Crash", text)
        return ""

    def _collect(self, package: Package, kind: str, message: str) -> None:
        self._failed = True
        for path in package.files:
            self._add(e="collect", id=path, kind=kind, message=message, frames=[])

    def _end(self, package: Package, name: str, end: tuple[str, str, float], text: str, *, crashed: bool) -> None:
        how, ended, seconds = end
        crashed = crashed or ended == "panicked"
        self._failed |= how == "failed"
        nodeid = self._id(package, name)
        fail = None
        if how != "passed":
            places = _places(text)
            message = "\n".join(line for _, _, line in places) or text.strip()
            kind = "panic" if crashed else "Skipped" if how == "skipped" else "Failure"
            frames = [[os.path.join(package.folder, path), line, name] for path, line, _ in places[:1]]
            if crashed:
                message, frames = _panic(text)
            fail = {"when": "call", "kind": kind, "message": message[:MESSAGE], "frames": frames}
            self._note(nodeid, text)
        row = ["call", how, False, False, None if how == "passed" else how, how == "failed" and not crashed, seconds]
        rows = [[when, "passed", False, False, None, False, 0.0] for when in ("setup", "teardown")]
        self._add(e="start", id=nodeid)
        self._add(e="end", id=nodeid, rows=[rows[0], row, rows[1]], fail=fail)

    def _id(self, package: Package, name: str) -> str:
        top = name.partition("/")[0]
        return f"{package.of_test.get(top, package.folder)}::{name}"

    def _note(self, name: str, text: str) -> None:
        if text.strip() and self._left > 0:
            self._output[name] = text[-SEGMENT:]
            self._left -= len(text[-SEGMENT:])

    def _add(self, **event: object) -> None:
        self._lines.append(json.dumps(event))

    def answer(self, found: Found | None) -> Found:
        """The whole run; its report has an end only if every program came to its own."""
        if self._running:
            self._add(e="start", id=self._running)
        if not self.stopped:
            self._exit = 1 if self._failed else 0
            self._add(e="finish", exit=self._exit, changed=[])
        return {
            "ended": self.stopped or "exited",
            "exit": None if self.stopped else self._exit,
            "events": "\n".join(self._lines),
            "output": self._output,
            "duration_s": self._duration_s,
            "cpu_s": self._cpu_s,
            "limit": found["limit"] if found else self._limit,
        }


def _text(output: Ends, told: dict[str, Any]) -> str:
    """What was printed, without the names of packages and the folder of the standard library."""
    text = b"".join(output.ends).decode("utf-8", "replace").replace(f"{told['root']}/src/", "")
    return "\n".join(line for line in text.split("\n") if not line.startswith("# "))


def _by_test(printed: str) -> dict[str, str]:
    """What each test printed, those inside of it as well; what no test did under an empty name.

    It is for people: tested code can print such lines too.
    """
    found: dict[str, list[str]] = {"": []}
    current = ""
    for line in printed.split("\n"):
        if running := _RUNNING.match(line):
            current = running[1].partition("/")[0]
        elif ended := _ENDED.match(line):
            current = ended[1].partition("/")[0]
        elif line.startswith(("panic: ", "FAIL", "PASS")):
            current = current if line.startswith("panic") else ""
            found.setdefault(current, []).append(line)
        else:
            found.setdefault(current, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _places(text: str) -> list[tuple[str, int, str]]:
    """Lines that name a place in a file of the package: file, line, and what is said."""
    found = (_LINE.match(line.removeprefix("./")) for line in text.split("\n"))
    return [(one[1], int(one[2]), one[3]) for one in found if one]


def _panic(text: str) -> tuple[str, list[list[object]]]:
    """What a panic says, and the innermost place of the workspace in its trace."""
    said = [line for line in text.split("\n") if line.lstrip("\t").startswith(("panic: ", "fatal error: "))]
    message = said[0].removeprefix("panic: ").removesuffix(" [recovered]") if said else text.strip()
    workspace = os.getcwd() + os.sep
    places = [(one[1], int(one[2])) for one in map(_TRACE.match, text.split("\n")) if one]
    own = [[path.removeprefix(workspace), line, "panic"] for path, line in places if path.startswith(workspace)]
    return message, [found for found in own if not re.fullmatch(r"(?:.*/)?[0-9a-f]{12}r_test\.go", str(found[0]))][:1]


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"
