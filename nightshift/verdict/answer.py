"""Reads what came out of the sandbox: the signed answer of the trusted parent, and in it what the child reported.

The parent's words are known to be its own by their signature. The child's events are claims of a process in which
untrusted code ran: they are read leniently here, and weighed in `verdict.judging`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nightshift.core.errors import ServiceFailed
from nightshift.core.isolation import SandboxResult
from nightshift.core.tasks.verdicts import Result
from nightshift.core.text.masking import printable

SAID = 1500
"""So much of the end of what a service printed is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One phase of one test. `raised` names the exception, `genuine` tells that it was a real AssertionError."""

    when: str
    outcome: str
    xfail: bool
    subtest: bool
    raised: str | None
    genuine: bool
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a test or a file failed of. Frames are (path, line, function), outermost first; own paths are relative."""

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """One test that ended, with its reports and its first fault."""

    id: str
    reports: tuple[Report, ...]
    fault: Fault | None

    @property
    def outcome(self) -> Result:
        """How it ended by all its reports: passed only if each phase did, with nothing raised and nothing expected."""
        for report in self.reports:
            if report.outcome == "failed":
                return Result.FAILED if report.when == "call" else Result.ERROR
        if any(report.outcome != "passed" or report.xfail for report in self.reports):
            return Result.SKIPPED
        phases = [report.when for report in self.reports if not report.subtest]
        silent = all(report.raised is None for report in self.reports)
        return Result.PASSED if silent and phases == ["setup", "call", "teardown"] else Result.ERROR

    @property
    def failed_by_assertion(self) -> bool:
        """Tell whether the test itself failed by a genuine AssertionError."""
        return any(r.when == "call" and r.outcome == "failed" and r.genuine and not r.xfail for r in self.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What one child did.

    `how` is exited, timeout, flood or memory; `exit_code` is None unless it exited. `collection` has
    the files that could not be collected, `skipped` those that were skipped as a whole, `left` the
    paths of those that it left for another run. `running` is the test that had
    started and not ended, `at` the one that was begun last, where a recorder tells of beginnings apart. `finishes` are
    the exit statuses that pytest reported, `changed` the framework functions found changed. `garbled` tells that
    something in the events was not the recorder's. `cpu_s` is the processor time that its processes used, `limit` says
    what was reached: of a timeout processor, idle or clock, of a flood output or report.

    Of a command that is no known runner, `printed` has the beginning and the end of what it printed and the number of
    bytes between, `reports` path and text of the report files that it wrote; a text is None that was not read.
    """

    how: str
    exit_code: int | None
    tests: tuple[CaseReport, ...] = ()
    collection: tuple[tuple[str, Fault], ...] = ()
    skipped: tuple[tuple[str, Fault], ...] = ()
    left: tuple[str, ...] = ()
    internal: str = ""
    running: str | None = None
    at: str | None = None
    finishes: tuple[int, ...] = ()
    changed: tuple[str, ...] = ()
    garbled: bool = False
    output: Mapping[str, str]
    duration_s: float = 0.0
    cpu_s: float = 0.0
    limit: str = ""
    printed: tuple[str, str, int] = ("", "", 0)
    reports: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What the test side of a split run reported: test id to result and a text on it.

    A test has passed, failed by an assertion, raised (the tested code did, or ended), or is unjudged.

    `how`, `cpu_s` and `limit` are as in `Session`.
    """

    how: str
    exit_code: int | None
    results: Mapping[str, tuple[str, str]]
    duration_s: float
    cpu_s: float = 0.0
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parent's whole answer. `split` is None where there was no split run.

    `gone` has the services that ended while the tests ran, with the end of what they printed.
    """

    python: str
    session: Session
    altered: tuple[str, ...] = ()
    split: Split | None = None
    gone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one call came to: `how` is value, raised or missing, `data` what was said of it, as it came."""

    how: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What the calls of a run came to, by their numbers; `how` is as in `Session`.

    `garbled` tells that a child which came to its end reported what is no answer to a call.
    """

    how: str
    exit_code: int | None
    replies: Mapping[int, Reply]
    garbled: bool = False


def read(result: SandboxResult, key: bytes) -> Answer | None:
    """The answer, or None when there is none that bears the signature."""
    if (data := _signed(result, key)) is None:
        return None
    split = data.get("split")
    return Answer(
        python=data["python"],
        session=_session(data.get("suite") or data["command"]),
        altered=tuple(data.get("altered", ())),
        split=_split(split) if split else None,
        gone=data.get("gone", {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramAnswer:
    """What a run of a program wrote, line by line as it came, and printed; `how` is as in `Session`."""

    how: str
    exit_code: int | None
    lines: tuple[str, ...]
    output: str


def read_program(result: SandboxResult, key: bytes) -> ProgramAnswer | None:
    """The answer of a run of a program, or None when there is none that bears the signature."""
    if (data := _signed(result, key)) is None:
        return None
    report = data["program"]
    printed = "".join(report["output"].values())
    lines = tuple(report["events"].splitlines())
    return ProgramAnswer(how=report["ended"], exit_code=report["exit"], lines=lines, output=printed)


def read_calls(result: SandboxResult, key: bytes) -> Calls | None:
    """The answer of a run of calls, or None when there is none that bears the signature."""
    if (data := _signed(result, key)) is None:
        return None
    report = data["calls"]
    replies, lines = dict(_replies(report["events"])), len(report["events"].splitlines())
    garbled = report["ended"] == "exited" and report["exit"] == 0 and lines != len(replies)
    return Calls(how=report["ended"], exit_code=report["exit"], replies=replies, garbled=garbled)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What became of a command; `how` is as in `Session`.

    `output` has the beginning and the end of what it printed, `left_out` counts the bytes between them. `files` are
    those that it left otherwise than they were, `dropped` says why others do not count.
    """

    how: str
    exit_code: int | None
    output: tuple[str, str]
    left_out: int
    files: Mapping[str, str | None]
    dropped: Mapping[str, str]
    duration_s: float


def read_command(result: SandboxResult, key: bytes) -> CommandAnswer | None:
    """The answer of a run of a command, or None when there is none that bears the signature."""
    if (data := _signed(result, key)) is None:
        return None
    report, (head, tail, left_out) = data["command"], data["output"]
    return CommandAnswer(
        how=report["ended"],
        exit_code=report["exit"],
        output=(head, tail),
        left_out=left_out,
        files=data["files"],
        dropped=data["dropped"],
        duration_s=report["duration_s"],
    )


def was_killed(result: SandboxResult, key: bytes) -> bool:
    """Tell whether a child of the trusted parent was ended by SIGKILL, which that one sends at a limit alone."""
    reports = (_signed(result, key) or {}).values()
    ends = ((each.get("ended"), each.get("exit")) for each in reports if isinstance(each, dict))
    return ("exited", -signal.SIGKILL) in ends


def _signed(result: SandboxResult, key: bytes) -> Any:
    """The trusted parent's words, or None without its signature.

    Raises:
        ServiceFailed: a service did not come up, so nothing was run.
    """
    signature, _, text = result.stdout.partition(b"\n")
    genuine = hmac.compare_digest(signature, hashlib.blake2b(text, key=key).hexdigest().encode())
    data = json.loads(text) if genuine else None
    if data and (fault := data.get("service")):
        said = printable(fault["output"])[-SAID:].strip()
        raise ServiceFailed(
            f"the service {fault['name']} did not come up: {fault['why']}; it printed: {said or 'nothing'}"
        )
    return data


def _replies(lines: str) -> Iterator[tuple[int, Reply]]:
    """What the child said of each call; the first word counts, and what has another form is passed over."""
    seen = set[int]()
    for line in lines.splitlines():
        try:
            number, how, data = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if type(number) is int and number not in seen and isinstance(how, str):
            seen.add(number)
            yield number, Reply(how=how, data=data)


def _session(data: Mapping[str, Any]) -> Session:
    reader = _Events()
    for line in data["events"].splitlines():
        reader.take(line)
    return Session(
        how=data["ended"],
        exit_code=data["exit"],
        tests=tuple(reader.tests),
        collection=tuple(reader.collection),
        skipped=tuple(reader.skipped),
        left=tuple(reader.left),
        internal=reader.internal,
        running=reader.running,
        at=reader.at,
        finishes=tuple(reader.finishes),
        changed=tuple(reader.changed),
        garbled=reader.garbled,
        output=data["output"],
        duration_s=data["duration_s"],
        cpu_s=data["cpu_s"],
        limit=data["limit"],
        printed=tuple(data.get("printed", ("", "", 0))),
        reports=tuple((path, text) for path, text in data.get("reports", ())),
    )


class _Events:
    """Takes events one by one; what does not have the recorder's form marks the stream as garbled."""

    def __init__(self) -> None:
        self.tests: list[CaseReport] = []
        self.collection: list[tuple[str, Fault]] = []
        self.skipped: list[tuple[str, Fault]] = []
        self.finishes: list[int] = []
        self.left: list[str] = []
        self.changed: list[str] = []
        self.internal, self.garbled = "", False
        self.running: str | None = None
        self.at: str | None = None

    def take(self, line: str) -> None:
        try:
            event = json.loads(line)
            {
                "start": self._start, "end": self._end, "collect": self._collect, "internal": self._internal,
                "finish": self._finish, "now": self._now, "left": self._left,
            }[event["e"]](event)  # fmt: skip
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            self.garbled = True

    def _start(self, event: Mapping[str, Any]) -> None:
        self.garbled |= self.running is not None or bool(self.finishes)
        self.running = str(event["id"])

    def _left(self, event: Mapping[str, Any]) -> None:
        self.left += map(str, event["files"])

    def _now(self, event: Mapping[str, Any]) -> None:
        self.at = str(event["id"])

    def _end(self, event: Mapping[str, Any]) -> None:
        self.garbled |= event["id"] != self.running
        self.running = None
        reports = tuple(_report(row) for row in event["rows"])
        self.tests.append(CaseReport(id=str(event["id"]), reports=reports, fault=_fault(event["fail"])))

    def _collect(self, event: Mapping[str, Any]) -> None:
        if fault := _fault(event):
            (self.skipped if event.get("skipped") else self.collection).append((str(event["id"]), fault))

    def _internal(self, event: Mapping[str, Any]) -> None:
        self.internal = str(event["message"])

    def _finish(self, event: Mapping[str, Any]) -> None:
        self.finishes.append(int(event["exit"]))
        self.changed += map(str, event["changed"])


def _report(row: Any) -> Report:
    when, outcome, xfail, subtest, raised, genuine, duration = row
    return Report(
        when=str(when), outcome=str(outcome), xfail=bool(xfail), subtest=bool(subtest),
        raised=None if raised is None else str(raised), genuine=genuine is True, duration_s=float(duration),
    )  # fmt: skip


def _fault(data: Any) -> Fault | None:
    if data is None:
        return None
    frames = tuple((str(path), int(line), str(function)) for path, line, function in data["frames"])
    return Fault(kind=str(data["kind"]), message=str(data["message"]), frames=frames)


def _split(data: Mapping[str, Any]) -> Split:
    results = dict[str, tuple[str, str]]()
    for line in data["events"].splitlines():
        try:
            name, result, why = json.loads(line)
        except (ValueError, TypeError):
            continue
        if (before := results.get(str(name))) is None or before[0] == "passed":
            results[str(name)] = str(result), str(why)
    return Split(
        how=data["ended"], exit_code=data["exit"], results=results, duration_s=data["duration_s"],
        cpu_s=data["cpu_s"], limit=data["limit"],
    )  # fmt: skip
