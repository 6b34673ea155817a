"""The evidence of a verdict, stored as a git note: enough to run the tests again and to say which claims still hold.

A note is JSON that anyone with write access to the repository can change. Therefore nothing in it is trusted: its
claims about a run are compared with a new run, its claims about the commit with git, and a seal shows whether the text
is as this home wrote it.

The seal is a keyed digest that only the home that wrote the note can make. The key is stored beside the daemon's
database, where nothing in the sandbox can read it. A note that was changed in the repository cannot be sealed again
without the key. For a note of another home, the seal only shows that another home wrote it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from nightshift.core.errors import NightshiftError
from nightshift.core.isolation import RunLimits
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.projects import Scope, name_fault, start_of
from nightshift.core.tasks.remarks import Remark, mask_remarks
from nightshift.core.tasks.revisions import Commit
from nightshift.core.tasks.task import Files, Language, Task
from nightshift.core.tasks.verdicts import Evidence, Result, Verdict
from nightshift.storage.db.codec import decode, to_json_value
from nightshift.storage.files.whole import write_once

FORMAT = 2
"""The version of the note's format. Format 1 lacked the language, the changed and start files, the limits, and the
model.
"""


class UnreadableNote(NightshiftError):
    """The note is not readable as evidence in any known format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedLimits:
    """The limits of a run, as a note states them (`core.isolation.RunLimits`). None means that the note has no value.

    Notes from before CPU time was measured have `wall_s` instead of `cpu_s`.
    """

    cpu_s: float | None = None
    wall_s: float | None = None
    memory_mb: int | None = None
    cpus: float | None = None
    pids: int | None = None
    work_mb: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note. `commit`, `tree` and `base` are full git ids."""

    format: int
    task: int
    commit: str
    tree: str
    base: str
    passed: int
    """Number of passed tests."""
    evidence: Evidence
    tests: tuple[str, ...] = ()
    """Paths of the tests that came with the task."""
    own_tests: tuple[str, ...] = ()
    """Paths of the tests that the agent wrote or changed."""
    changed_tests: tuple[str, ...] = ()
    """Paths of the tests in `own_tests` that are changed tests of the base."""
    removed_tests: tuple[str, ...] = ()
    """Paths of the base's test files that were removed together with the code that they tested."""
    command: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    """Rules of the checker that `command` may break."""
    language: Language = Language.PYTHON
    project: str | None = None
    """The part of the repository that the run saw; all paths are relative to it (`core.tasks.projects.Scope`)."""
    moved: tuple[str, ...] = ()
    """Projects whose files the task moved into its own, as version 0.1.0 did. Such a commit is not judged again."""
    changed: tuple[str, ...] = ()
    """Paths of the judged change, without tests."""
    start: Mapping[str, str] = field(default_factory=dict)
    """The files that the owner gave with the task: the SHA-256 digest of each text, by path."""
    limits: NotedLimits = field(default_factory=NotedLimits)
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    """Digest of the declared environment that the run used (`core.code.environments`); empty if it needed none."""
    environment_from: tuple[str, ...] = ()
    """The files that declare the environment, by their full paths."""
    held: HeldOut = field(default_factory=HeldOut)
    """The held-out cases, which no prompt showed, and the oracle that computes their results."""
    model: str = ""
    """The models that were used, as in the commit's trailers."""
    iterations: int = 0
    """The number of tries, as in the commit's trailers."""
    remarks: tuple[Remark, ...] = ()
    """Grave findings of review and audit that were still open when the change was committed."""
    failing: tuple[str, ...] = ()
    """Ids of the tests that fail, for a draft."""
    reason: str = ""
    """The reason why a draft did not pass."""
    strange: tuple[str, ...] = ()
    """Names of fields that this version does not know."""

    @property
    def scope(self) -> Scope:
        """The part of the repository that the note is about."""
        return Scope(project=self.project, given=(*self.tests, *self.start))


def to_note(  # noqa: PLR0913 (what was committed, and three keywords with a default)
    task: Task,
    state: AttemptState,
    commit: Commit,
    verdict: Verdict,
    limits: RunLimits,
    held: HeldOut | None = None,
    *,
    changed: Collection[str] | None = None,
    key: bytes = b"",
    mask: Callable[[str], str] = str,
) -> str:
    """Return the text of a commit's note: JSON with sorted keys.

    Args:
        task: the task that was worked on.
        state: the attempt's final state.
        commit: the commit.
        verdict: the last verdict on what was committed.
        limits: the limits of the verdict's runs.
        held: the held-out part of the task's tests, which no prompt showed.
        changed: the changed paths as the commit names them; None if the attempt uses the same names.
        key: the key that seals the note; without a key there is no seal.
        mask: removes secrets from reviewers' texts.
    """
    spec = task.spec
    note = Note(
        format=FORMAT,
        task=task.id,
        commit=commit.id,
        tree=commit.tree,
        base=commit.parent,
        passed=verdict.count(Result.PASSED),
        evidence=verdict.evidence,
        tests=tuple(sorted(spec.tests)),
        own_tests=tuple(sorted(state.own_tests)),
        changed_tests=tuple(sorted(state.changed_tests)),
        removed_tests=state.removed_tests,
        command=spec.test_command,
        allow=spec.allow,
        language=spec.language,
        project=state.project,
        changed=tuple(sorted(state.change if changed is None else changed)),
        start=digests(start_of(spec.files, state.project, state.change)),
        limits=NotedLimits(**asdict(limits)),
        packages=state.packages,
        environment=state.environment,
        environment_from=state.environment_from,
        held=_unseen(held or HeldOut()),
        model=", ".join(dict.fromkeys(state.models)),
        iterations=state.iteration,
        remarks=mask_remarks(state.open_remarks, mask),
        failing=tuple(sorted(verdict.failing)),
        reason="" if verdict.passed else verdict.reason,
    )
    return note_text(note, key)


def note_text(note: Note, key: bytes) -> str:
    """Format a note as JSON with sorted keys, sealed if there is a key."""
    data: dict[str, Any] = {name: to_json_value(getattr(note, name)) for name in _NAMES}
    return json.dumps(data | seal_of(data, key), indent=1, sort_keys=True) + "\n"


def _unseen(held: HeldOut) -> HeldOut:
    """Return only the part of the held-out tests that a new run needs: the cases that no prompt has shown."""
    return replace(held, shown={}, cases=tuple(case for case in held.cases if not case.shown))


def digests(files: Files) -> dict[str, str]:
    """Return the SHA-256 digest of each text, by path."""
    return {path: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for path, text in files.items()}


def read_note(text: str) -> Note:
    """Parse a note. The names of unknown fields are stored in `strange`.

    Raises:
        UnreadableNote: the text is not a note.
    """
    try:
        data = json.loads(text)
        note_data = {name: data[name] for name in _NAMES if name in data}
        note = decode(Note, json.dumps(note_data))
        for case in note.held.cases:
            case.check()
        for name in filter(None, (note.project, *note.moved)):
            if why := name_fault(name):
                raise ValueError(f"project: {why}")
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableNote(f"the note cannot be read as evidence: {' '.join(str(error).split())[:200]}") from None
    if note.format not in {1, FORMAT}:
        raise UnreadableNote(f"the note has format {note.format}; this version reads 1 and {FORMAT}")
    evidence = data["evidence"].keys() - {each.name for each in fields(Evidence)}
    strange = (*sorted(data.keys() - {*_NAMES, SEAL_FIELD}), *(f"evidence.{name}" for name in sorted(evidence)))
    return _with_strange(note, strange)


def _with_strange(note: Note, strange: tuple[str, ...]) -> Note:
    values = {name: getattr(note, name) for name in _NAMES}
    return Note(**values, strange=strange)


_NAMES = tuple(each.name for each in fields(Note) if each.name != "strange")


# The seal of a note: its key, and how it is made and checked.


SEAL_FIELD = "seal"
_KEY_BYTES = 32


class Sealed(StrEnum):
    """The result of checking a seal: intact, broken, made by another home, or missing."""

    OURS = "ours"
    BROKEN = "broken"
    ANOTHER = "another"
    NONE = "none"


def seal_of(data: Mapping[str, Any], key: bytes) -> dict[str, str]:
    """Return the seal of these data as a JSON field; empty without a key."""
    return {SEAL_FIELD: f"{_key_name(key)}:{_digest_with_key(data, key)}"} if key else {}


def check_seal(text: str, key: bytes) -> Sealed:
    """Check a note's seal against this home's key."""
    try:
        data = json.loads(text)
        seal = str(data.pop(SEAL_FIELD, ""))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Sealed.BROKEN
    if not seal:
        return Sealed.NONE
    name, _, digest = seal.partition(":")
    if not key or name != _key_name(key):
        return Sealed.ANOTHER
    return Sealed.OURS if hmac.compare_digest(digest.encode(), _digest_with_key(data, key).encode()) else Sealed.BROKEN


def read_or_make_key(file: Path) -> bytes:
    """Return the key of this home; it is created on first use, and only the owner can read it."""
    write_once(file, secrets.token_hex(_KEY_BYTES), mode=0o600)
    return read_key(file)


def read_key(file: Path) -> bytes:
    """Return the key of this home; empty if there is none yet."""
    try:
        return bytes.fromhex(file.read_text())
    except (OSError, ValueError):
        return b""


def home_id(key: bytes) -> str:
    """Return the id of the home with this key; empty without a key.

    The id has eight hexadecimal characters, and the home's commits name it.
    """
    return _key_name(key)[:8] if key else ""


def _key_name(key: bytes) -> str:
    return hashlib.sha256(b"name\0" + key).hexdigest()[:12]


def _digest_with_key(data: Mapping[str, Any], key: bytes) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
