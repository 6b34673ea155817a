"""Reads a sandbox's output: the answer that the trusted parent signed, with the child's events in it.

The signature proves that the answer is the parent's own. The child's events are claims of a process in which untrusted
code ran: this module parses them leniently, and `verdict.native` weighs them.
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
"""Characters shown of the end of a failed service's output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The fault of a test or a file.

    Frames are (path, line, function), outermost first; paths in the tree are relative.
    """

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """A test that ended, with its first fault.

    `is_marked` is true if a constant mark skips the test. `output` is the end of the test's output if it did not pass.
    """

    id: str
    result: Result
    fault: Fault | None = None
    duration_s: float = 0.0
    is_marked: bool = False
    output: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The events of one test run.

    `how` is exited, timeout, flood or memory; `exit_code` is None unless the run exited. `items` are the collected
    tests, `collection` the files that could not be collected, `skipped` the files that were skipped as a whole, and
    `left` the paths of the files that the run left for another run. `running` is the test that started and did not end.
    `at` is the test that began last, if the recorder reports beginnings separately. `finishes` are the exit statuses
    that the runner reported. `garbled` is true if some event was not written by the recorder. `cpu_s` is the processor
    time of the run's processes. `limit` is the limit that was reached: processor, idle or clock for a timeout, output
    or report for a flood. `read` maps the files of the tree that tests opened to the test file that opened them.
    `modules` are the imported modules, and `changed` the functions outside of the tree that had been replaced by the
    end.

    `printed` is the beginning and the end of a command's output, and the number of bytes between them. `reports` are
    the path and text of the report files that the command wrote; the text is None if the file was not read.
    """

    how: str
    exit_code: int | None
    tests: tuple[CaseReport, ...] = ()
    items: tuple[str, ...] = ()
    collection: tuple[tuple[str, Fault], ...] = ()
    skipped: tuple[tuple[str, Fault], ...] = ()
    left: tuple[str, ...] = ()
    internal: str = ""
    running: str | None = None
    at: str | None = None
    finishes: tuple[int, ...] = ()
    garbled: bool = False
    read: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output: Mapping[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
    cpu_s: float = 0.0
    limit: str = ""
    printed: tuple[str, str, int] = ("", "", 0)
    reports: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parent's whole answer.

    `altered` are the test files that were written to. `gone` maps the services that ended during the tests to the end
    of their output.
    """

    python: str
    session: Session
    altered: tuple[str, ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The result of one call: `how` is value, raised or missing; `data` is the value or the error, unparsed."""

    how: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The results of a run's calls, by call number; `how` is as in `Session`.

    `garbled` is true if a child that exited normally reported a line that does not answer a call.
    """

    how: str
    exit_code: int | None
    replies: Mapping[int, Reply]
    garbled: bool = False


def read(result: SandboxResult, key: bytes, secret: str = "") -> Answer | None:
    """Return the answer, or None if the output has no valid signature.

    Args:
        result: the sandbox's result.
        key: the key that signs the answer.
        secret: the prefix of each line that the recorder writes; empty if a trusted process has already checked the
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
    """The lines that a program wrote, unparsed, and its output; `how` is as in `Session`."""

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
    """The result of a command; `how` is as in `Session`.

    `output` is the beginning and the end of the command's output, and `left_out` the number of bytes between them.
    `files` are the files that the command changed. `dropped` maps the files whose changes are ignored to the reason.
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

    The parent sends SIGKILL only at a limit, and then reports the limit instead of an exit.
    """
    reports = (_read_signed(result, key) or {}).values()
    ends = ((each.get("ended"), each.get("exit")) for each in reports if isinstance(each, dict))
    return ("exited", -signal.SIGKILL) in ends


def _read_signed(result: SandboxResult, key: bytes) -> Any:
    """Return the trusted parent's answer as data, or None without a valid signature.

    Raises:
        ServiceFailed: a service did not come up, so nothing was run.
    """
    signature, _, text = result.stdout.partition(b"\n")
    genuine = hmac.compare_digest(signature, hashlib.blake2b(text, key=key).hexdigest().encode())
    data = json.loads(text) if genuine else None
    if data and (fault := data.get("service")):
        printed = printable(fault["output"])[-SAID:].strip()
        raise ServiceFailed(
            f"the service {fault['name']} did not come up: {fault['why']}; it printed: {printed or 'nothing'}"
        )
    return data


def _replies(lines: str) -> Iterator[tuple[int, Reply]]:
    """Read the child's reply to each call. The first reply to a call counts; lines of another form are ignored."""
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
    reader = _Events()
    for line in data["events"].splitlines():
        if line.startswith(secret):
            reader.take(line.removeprefix(secret))
        else:
            reader.garbled = True
    return Session(
        how=data["ended"],
        exit_code=data["exit"],
        tests=tuple(reader.tests),
        items=tuple(reader.items),
        collection=tuple(reader.collection),
        skipped=tuple(reader.skipped),
        left=tuple(reader.left),
        internal=reader.internal,
        running=next(iter(reader.running), None),
        at=reader.at,
        finishes=tuple(reader.finishes),
        garbled=reader.garbled,
        read=reader.read,
        modules=tuple(sorted(reader.modules)),
        changed=tuple(dict.fromkeys(reader.changed)),
        notes=tuple(reader.notes),
        output=data["output"],
        duration_s=data["duration_s"],
        cpu_s=data["cpu_s"],
        limit=data["limit"],
        printed=tuple(data.get("printed", ("", "", 0))),
        reports=tuple((path, text) for path, text in data.get("reports", ())),
    )


class _Events:
    """Collects events one by one. A line that is not in the recorder's form marks the stream as garbled."""

    def __init__(self) -> None:
        self.tests: list[CaseReport] = []
        self.items: list[str] = []
        self.collection: list[tuple[str, Fault]] = []
        self.skipped: list[tuple[str, Fault]] = []
        self.finishes: list[int] = []
        self.left: list[str] = []
        self.changed: list[str] = []
        self.notes: list[str] = []
        self.read: dict[str, str] = {}
        self.modules: set[str] = set()
        self.internal, self.garbled = "", False
        self.running: dict[str, None] = {}
        self.at: str | None = None

    def take(self, line: str) -> None:
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
        self.running[str(event["id"])] = None

    def _note_left(self, event: Mapping[str, Any]) -> None:
        self.left += map(str, event["files"])

    def _now(self, event: Mapping[str, Any]) -> None:
        self.at = str(event["id"])

    def _end(self, event: Mapping[str, Any]) -> None:
        self.running.pop(str(event["id"]), None)
        self.tests.append(
            CaseReport(
                id=str(event["id"]), result=Result(event["result"]), fault=_fault(event["fail"]), lines=_lines(event),
                duration_s=float(event.get("s", 0.0)), is_marked=event.get("marked") is True,
                output=str(event.get("output", "")),
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
        self.modules |= set(map(str, event["modules"]))
        self.changed += map(str, event["changed"])

    def _note(self, event: Mapping[str, Any]) -> None:
        self.notes.append(str(event["text"])[:200])


def _lines(event: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, event.get("lines", ())))


def _fault(data: Any) -> Fault | None:
    if data is None:
        return None
    frames = tuple((str(path), int(line), str(function)) for path, line, function in data["frames"])
    return Fault(kind=str(data["kind"]), message=str(data["message"]), frames=frames)
