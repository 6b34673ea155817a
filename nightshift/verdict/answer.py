"""Reads the output of a sandbox: the signed answer of the trusted parent, with the events of its child.

The trusted parent is Nightshift's own process inside the sandbox. It starts a child process, in which the untrusted
code runs. The signature proves that the answer comes from the parent. The child's events are only claims: this module
parses them leniently, and `verdict.native` weighs them.
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
"""Maximum number of characters from the end of a failed service's output that the error message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The reason why a test did not pass, or why a test file was skipped or could not be collected.

    `frames` is the traceback, outermost frame first. Each frame is (path, line, function); files in the tree have
    relative paths.
    """

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """The report of one test that ended.

    Attributes:
        fault: the first fault of the test; None if the test has no fault.
        is_marked: true if the test was skipped and its source marks it as skipped or expected to fail.
        output: the end of the output that the test printed; empty for a test that passed.
        lines: the lines of test files that the test ran.
    """

    id: str
    result: Result
    fault: Fault | None = None
    duration_s: float = 0.0
    is_marked: bool = False
    output: str = ""
    lines: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Session:
    """The events of one test run, which `take` records one by one.

    Attributes:
        how: the way in which the run ended: exited, timeout, flood or memory.
        exit_code: the exit status; None unless the run exited.
        tests: the reports of the tests that ended.
        items: the collected tests.
        collection: the files that could not be collected, each with its fault.
        skipped: the files that were skipped as a whole, each with its fault.
        left: the paths of the files that the run left for another run.
        internal: the message of an internal error of the test runner.
        begun: the tests that started and did not end.
        at: the test that began last, if the recorder reports beginnings separately.
        finishes: the exit statuses that the test runner reported.
        garbled: true if some event was not written by the recorder.
        read: the files of the tree that tests opened, each mapped to the test file that opened it.
        opened: the files of the tree that other modules of the tree opened.
        modules: the imported modules.
        changed: the functions outside of the tree that had been replaced by the end of the run.
        notes: remarks on the run.
        output: test id to the output of the test.
        duration_s: clock time of the run, in seconds.
        cpu_s: processor time of the run's processes, in seconds.
        limit: the limit that was reached. For a timeout it is processor, idle or clock; for a flood it is output or
            report.
        printed: the beginning of a command's output, its end, and the number of bytes between them.
        reports: the path and text of each report file that the command wrote. The text is None if the file was not
            read.
    """

    how: str
    exit_code: int | None
    tests: list[CaseReport] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    collection: list[tuple[str, Fault]] = field(default_factory=list)
    skipped: list[tuple[str, Fault]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    internal: str = ""
    begun: dict[str, None] = field(default_factory=dict)
    at: str | None = None
    finishes: list[int] = field(default_factory=list)
    garbled: bool = False
    read: dict[str, str] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    output: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
    cpu_s: float = 0.0
    limit: str = ""
    printed: tuple[str, str, int] = ("", "", 0)
    reports: tuple[tuple[str, str | None], ...] = ()

    @property
    def running(self) -> str | None:
        """The test that started and did not end."""
        return next(iter(self.begun), None)

    def take(self, line: str) -> None:
        """Record one event. A line that the recorder cannot have written marks the session as garbled."""
        try:
            event = json.loads(line)
            {
                "item": self._item, "start": self._start, "end": self._end, "collect": self._collect,
                "internal": self._internal, "finish": self._finish, "now": self._now, "left": self._note_left,
                "seen": self._note_seen, "note": self._note,
            }[event["e"]](event)  # fmt: skip
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            self.garbled = True

    def _item(self, event: Mapping[str, Any]) -> None:
        self.items.append(str(event["id"]))

    def _start(self, event: Mapping[str, Any]) -> None:
        self.begun[str(event["id"])] = None

    def _note_left(self, event: Mapping[str, Any]) -> None:
        self.left += map(str, event["files"])

    def _now(self, event: Mapping[str, Any]) -> None:
        self.at = str(event["id"])

    def _end(self, event: Mapping[str, Any]) -> None:
        self.begun.pop(str(event["id"]), None)
        self.tests.append(
            CaseReport(
                id=str(event["id"]), result=Result(event["result"]), fault=_fault(event["fail"]),
                duration_s=float(event.get("s", 0.0)), is_marked=event.get("marked") is True,
                output=str(event.get("output", "")), lines=tuple(map(str, event.get("lines", ()))),
            )
        )  # fmt: skip

    def _collect(self, event: Mapping[str, Any]) -> None:
        if fault := _fault(event.get("fail", event)):
            (self.skipped if event.get("skipped") else self.collection).append((str(event["id"]), fault))

    def _internal(self, event: Mapping[str, Any]) -> None:
        self.internal = str(event["message"])

    def _finish(self, event: Mapping[str, Any]) -> None:
        self.finishes.append(int(event["exit"]))
        self.changed += map(str, event.get("changed", ()))

    def _note_seen(self, event: Mapping[str, Any]) -> None:
        self.read |= {str(path): str(by) for path, by in event["read"].items()}
        self.opened |= set(map(str, event.get("opened", ())))
        self.modules |= set(map(str, event["modules"]))
        self.changed += map(str, event["changed"])

    def _note(self, event: Mapping[str, Any]) -> None:
        self.notes.append(str(event["text"])[:200])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The trusted parent's whole answer to a test run.

    Attributes:
        python: the version of the interpreter.
        session: the events of the run.
        altered: the test files that were written to during the run.
        gone: the services that ended during the tests, each mapped to the end of its output.
    """

    python: str
    session: Session
    altered: tuple[str, ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The result of one call of a function.

    Attributes:
        how: `value` if the function returned, `raised` if it raised an error, or `missing` if it could not be loaded.
        data: the returned value or the error, in packed form.
    """

    how: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The results of a run that calls functions instead of running tests.

    Attributes:
        how: the way in which the run ended, as in `Session`.
        exit_code: the exit status; None unless the run exited.
        replies: call number to the result of the call.
        garbled: true if the child exited normally, but reported a line that does not answer a call.
    """

    how: str
    exit_code: int | None
    replies: Mapping[int, Reply]
    garbled: bool = False


def read(result: SandboxResult, key: bytes, secret: str = "") -> Answer | None:
    """Return the answer to a test run, or None if the output has no valid signature.

    Args:
        result: the sandbox's result.
        key: the key that the answer must be signed with.
        secret: the prefix of each line that the recorder writes. Empty if a trusted process has already checked the
            lines.
    """
    if (data := _read_signed(result, key)) is None:
        return None
    return Answer(
        python=data["python"],
        session=_session(data["suite"], secret),
        altered=tuple(data.get("altered", ())),
        gone=data.get("gone", {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramAnswer:
    """The result of a run of a program that writes lines instead of test events.

    Attributes:
        how: the way in which the run ended, as in `Session`.
        exit_code: the exit status; None unless the run exited.
        lines: the lines that the program reported, unparsed.
        output: the program's printed output.
    """

    how: str
    exit_code: int | None
    lines: tuple[str, ...]
    output: str


def read_program(result: SandboxResult, key: bytes) -> ProgramAnswer | None:
    """Return the answer of a program run, or None if the output has no valid signature."""
    if (data := _read_signed(result, key)) is None:
        return None
    report = data["program"]
    printed = "".join(report["output"].values())
    lines = tuple(report["events"].splitlines())
    return ProgramAnswer(how=report["ended"], exit_code=report["exit"], lines=lines, output=printed)


def read_calls(result: SandboxResult, key: bytes) -> Calls | None:
    """Return the answer of a run of calls, or None if the output has no valid signature."""
    if (data := _read_signed(result, key)) is None:
        return None
    report = data["calls"]
    replies, lines = dict(_replies(report["events"])), len(report["events"].splitlines())
    garbled = report["ended"] == "exited" and report["exit"] == 0 and lines != len(replies)
    return Calls(how=report["ended"], exit_code=report["exit"], replies=replies, garbled=garbled)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """The result of a command that a model asked for.

    Attributes:
        how: the way in which the run ended, as in `Session`.
        exit_code: the exit status; None unless the run exited.
        output: the beginning and the end of the command's output.
        left_out: the number of bytes between that beginning and end.
        files: the files that the command changed, each mapped to its new text, or to None if the command removed the
            file.
        dropped: the files whose changes are ignored, each mapped to the reason.
        duration_s: clock time of the command, in seconds.
    """

    how: str
    exit_code: int | None
    output: tuple[str, str]
    left_out: int
    files: Mapping[str, str | None]
    dropped: Mapping[str, str]
    duration_s: float


def read_command(result: SandboxResult, key: bytes) -> CommandAnswer | None:
    """Return the answer of a command run, or None if the output has no valid signature."""
    if (data := _read_signed(result, key)) is None:
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
    """Check whether a child of the trusted parent was ended by a SIGKILL that the parent did not send.

    The parent itself sends SIGKILL only when a limit is reached, and then reports that limit instead of an exit.
    """
    reports = (_read_signed(result, key) or {}).values()
    ends = ((each.get("ended"), each.get("exit")) for each in reports if isinstance(each, dict))
    return ("exited", -signal.SIGKILL) in ends


def _read_signed(result: SandboxResult, key: bytes) -> Any:
    """Return the trusted parent's answer as parsed JSON, or None if the output has no valid signature.

    Raises:
        ServiceFailed: a service did not start, so nothing was run.
    """
    signature, _, text = result.stdout.partition(b"\n")
    genuine = hmac.compare_digest(signature, hashlib.blake2b(text, key=key).hexdigest().encode())
    data = json.loads(text) if genuine else None
    if data and (fault := data.get("service")):
        printed = printable(fault["output"])[-SAID:].strip()
        raise ServiceFailed(
            f"the service {fault['name']} did not start: {fault['why']}; it printed: {printed or 'nothing'}"
        )
    return data


def _replies(lines: str) -> Iterator[tuple[int, Reply]]:
    """Yield each call's number and the child's reply.

    Only the first reply to a call counts. Malformed lines are ignored.
    """
    seen = set[int]()
    for line in lines.splitlines():
        try:
            number, how, data = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if type(number) is int and number not in seen and isinstance(how, str):
            seen.add(number)
            yield number, Reply(how=how, data=data)


def _session(data: Mapping[str, Any], secret: str) -> Session:
    session = Session(
        how=data["ended"], exit_code=data["exit"], output=data["output"], duration_s=data["duration_s"],
        cpu_s=data["cpu_s"], limit=data["limit"], printed=tuple(data.get("printed", ("", "", 0))),
        reports=tuple((path, text) for path, text in data.get("reports", ())),
    )  # fmt: skip
    for line in data["events"].splitlines():
        if line.startswith(secret):
            session.take(line.removeprefix(secret))
        else:
            session.garbled = True
    return session


def _fault(data: Any) -> Fault | None:
    if data is None:
        return None
    frames = tuple((str(path), int(line), str(function)) for path, line, function in data["frames"])
    return Fault(kind=str(data["kind"]), message=str(data["message"]), frames=frames)
