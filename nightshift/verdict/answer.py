"""Reads what came out of the sandbox: the signed answer of the trusted parent, and in it what the child reported.

The parent's words are known to be its own by their signature. The child's events are claims of a process in which
untrusted code ran: they are read leniently here, and weighed in `verdict.native`.
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
class Fault:
    """The fault of a test or a file. Frames are (path, line, function), outermost first; own paths are relative."""

    kind: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """One test that ended, with its first fault.

    `is_marked` tells that a constant mark skips it, `output` is the end of what it printed, where it did not pass.
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
    """The events of one run of tests.

    `how` is exited, timeout, flood or memory; `exit_code` is None unless it exited. `items` are the tests that were
    collected, `collection` has the files that could not be, `skipped` those that were skipped as a whole, `left` the
    paths of those that it left for another run. `running` is the test that had started and not ended, `at` the one that
    was begun last, where a recorder tells of beginnings apart. `finishes` are the exit statuses that the runner
    reported. `garbled` tells that something in the events was not the recorder's. `cpu_s` is the processor time that
    its processes used, `limit` says what was reached: of a timeout processor, idle or clock, of a flood output or
    report. `read` has the files of the tree that tests opened, each with the file of tests, `modules` those that were
    imported, `changed` the functions outside of the tree that are others at the end.

    `printed` has the beginning and the end of what a command printed and the number of bytes between, `reports` path
    and text of the report files that it wrote; a text is None that was not read.
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

    `altered` are files of tests that were written to, `gone` has the services that ended while the tests ran, with the
    end of what they printed.
    """

    python: str
    session: Session
    altered: tuple[str, ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The result of one call: `how` is value, raised or missing, `data` the value or error as it came."""

    how: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The results of the calls of a run, by their numbers; `how` is as in `Session`.

    `garbled` tells that a child which came to its end reported what is no answer to a call.
    """

    how: str
    exit_code: int | None
    replies: Mapping[int, Reply]
    garbled: bool = False


def read(result: SandboxResult, key: bytes, secret: str = "") -> Answer | None:
    """The answer, or None when there is none that bears the signature.

    Args:
        result: what the isolation says.
        key: signs the answer.
        secret: begins each line of the recorder's; empty where a trusted process has looked at the lines already.
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
    """The lines that a run of a program wrote, as they came, and its output; `how` is as in `Session`."""

    how: str
    exit_code: int | None
    lines: tuple[str, ...]
    output: str


def read_program(result: SandboxResult, key: bytes) -> ProgramAnswer | None:
    """The answer of a run of a program, or None when there is none that bears the signature."""
    if (data := _read_signed(result, key)) is None:
        return None
    report = data["program"]
    printed = "".join(report["output"].values())
    lines = tuple(report["events"].splitlines())
    return ProgramAnswer(how=report["ended"], exit_code=report["exit"], lines=lines, output=printed)


def read_calls(result: SandboxResult, key: bytes) -> Calls | None:
    """The answer of a run of calls, or None when there is none that bears the signature."""
    if (data := _read_signed(result, key)) is None:
        return None
    report = data["calls"]
    replies, lines = dict(_replies(report["events"])), len(report["events"].splitlines())
    garbled = report["ended"] == "exited" and report["exit"] == 0 and lines != len(replies)
    return Calls(how=report["ended"], exit_code=report["exit"], replies=replies, garbled=garbled)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """The result of a command; `how` is as in `Session`.

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
    """Tell whether a child of the trusted parent was ended by SIGKILL, which that one sends at a limit alone."""
    reports = (_read_signed(result, key) or {}).values()
    ends = ((each.get("ended"), each.get("exit")) for each in reports if isinstance(each, dict))
    return ("exited", -signal.SIGKILL) in ends


def _read_signed(result: SandboxResult, key: bytes) -> Any:
    """The trusted parent's words, or None without its signature.

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
    """Read the replies of the child to each call; the first word counts, and what has another form is passed over."""
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
    """Takes events one by one; what does not have the recorder's form marks the stream as garbled."""

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
