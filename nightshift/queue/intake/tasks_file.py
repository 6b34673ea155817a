"""Reads `tasks.yaml`: a list of tasks, each with the fields that the API accepts, or only a description.

    tasks:
      - Create a health check endpoint
      - description: Add tests for the payment module
        key: payment-tests
        priority: 2
      - description: Report what those tests cover
        depends_on: [payment-tests]

An entry is submitted once, under its own `key` or a key made from its content. A key made from the content ignores
fields with default values, so an upgrade of Nightshift that adds a field does not submit all entries again.
`depends_on` accepts the ids of tasks and the keys of entries further up. An entry with a fault only delays itself and
the entries that depend on it. A file that is not YAML, or not a list of tasks, is refused completely, because it is
unknown where its entries begin and end.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.submission import TaskIn, as_input, parse_spec
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.core.text.faults import MOST, and_more
from nightshift.queue.intake.marked_yaml import QUOTES, BrokenFile, Fault, Marked, limit_faults, parse

MAX_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One task of the file. `spec.key` is always set; `after` are the keys of earlier entries that it depends on.

    `marked` contains the positions of the task's fields.
    """

    spec: TaskSpec
    line: int
    after: tuple[str, ...] = ()
    marked: Marked | None = field(default=None, compare=False, repr=False)

    def faults(self, fields: Mapping[str, str]) -> list[Fault]:
        """List the faults of the entry's fields, at their positions in the file."""
        here = self.marked or Marked(value=None, line=self.line, column=1)
        return [_fault_at(here.find(name), f"{name}: {why}") for name, why in fields.items()]

    @property
    def key(self) -> str:
        """The key under which the entry is submitted."""
        assert self.spec.key is not None
        return self.spec.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Result of reading the file: its valid entries in order, faults of the others, and notices.

    The notices are for the author of the file. `total` counts valid and invalid entries.
    """

    entries: tuple[Entry, ...] = ()
    faults: tuple[Fault, ...] = ()
    notices: tuple[str, ...] = ()
    total: int = 0


def load_file(path: Path) -> Reading:
    """Read the file; a missing file has no entries.

    Raises:
        BrokenFile: the file cannot be read, is too large, or is not a list of tasks in YAML.
    """
    try:
        return load_bytes(read_bytes(path))
    except BrokenFile as broken:
        raise BrokenFile(broken.faults, path.name) from None


def read_bytes(path: Path) -> bytes:
    """Return the bytes of the file; empty if the file is missing.

    Raises:
        BrokenFile: the file is not a regular file, cannot be read or is too large.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise BrokenFile([_top_fault("is not a regular file")])
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BrokenFile([_top_fault(f"cannot be read: {error.strerror or error}")]) from None
    if len(raw) > MAX_BYTES:
        raise BrokenFile([_top_fault(f"is larger than {MAX_BYTES >> 20} MB")])
    return raw


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without blocking, because opening a pipe would otherwise wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def load_bytes(raw: bytes) -> Reading:
    """Parse the bytes of a tasks file, which are UTF-8 with or without a byte order mark.

    Raises:
        BrokenFile: the bytes are not a list of tasks in YAML.
    """
    return read_tasks(_decode(raw))


def read_tasks(text: str) -> Reading:
    """Parse the text of a tasks file.

    Raises:
        BrokenFile: the text is not a list of tasks in YAML.
    """
    tree = parse(text)
    if tree is None or tree.value is None:
        if tree and tree.faults:
            raise BrokenFile(tree.faults)
        return Reading()
    reader = _Reader()
    for item in _items(tree):
        reader.take(item)
    return Reading(
        entries=tuple(reader.entries.values()),
        faults=limit_faults(sorted(reader.faults, key=lambda fault: (fault.line, fault.column))),
        notices=_few(reader.notices),
        total=len(reader.entries) + reader.bad,
    )


def content_key(spec: TaskSpec, after: tuple[str, ...] = (), language: Language = Language.PYTHON) -> str:
    """Return a key made from the task's content: SHA-256 of the fields that differ from their defaults.

    `language` is the owner's explicit choice; an automatically chosen language has never been part of the key.
    """
    fields = as_input(replace(spec, key=None))
    fields.pop("language", None)
    content = fields if language is Language.PYTHON else {**fields, "language": str(language)}
    text = json.dumps([content, list(after)], sort_keys=True, ensure_ascii=False)
    return "file:" + hashlib.sha256(text.encode()).hexdigest()[:32]


def _few(notices: Sequence[str]) -> tuple[str, ...]:
    rest = and_more(len(notices) - MOST) if len(notices) > MOST else ""
    return tuple(filter(None, (*notices[:MOST], rest)))


def _top_fault(message: str) -> Fault:
    return Fault(line=1, column=1, message=message)


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].rpartition(b"\n")
        line, column = raw.count(b"\n", 0, error.start) + 1, len(before[2].decode("utf-8", "replace")) + 1
        raise BrokenFile([Fault(line=line, column=column, message="is not UTF-8 text")]) from None


def _items(tree: Marked) -> list[Marked]:
    """Return the entries; raise BrokenFile if the file has faults outside the entries."""
    if not isinstance(tree.value, dict):
        raise BrokenFile([*tree.all_faults(), _fault_at(tree, "must be a mapping with the one key `tasks`")])
    unknown = (part for key, part in tree.parts.items() if key != "tasks")
    file_faults = [
        *tree.faults,
        *(_fault_at(part, "unknown key at the top; only `tasks` is known") for part in unknown),
    ]
    tasks = tree.parts.get("tasks")
    if tasks is not None:
        file_faults += tasks.faults
        if tasks.value is not None and not isinstance(tasks.value, list):
            file_faults.append(_fault_at(tasks, "tasks: must be a list, each entry starting with `- `"))
    if file_faults:
        raise BrokenFile(file_faults)
    return list(tasks.parts.values()) if tasks else []


def _fault_at(part: Marked, message: str) -> Fault:
    return Fault(line=part.line, column=part.column, message=message)


@dataclass
class _Reader:
    """Validates the entries one after the other, and knows the entries further up."""

    faults: list[Fault] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    """Maps the keys of entries with faults to their lines."""
    bad: int = 0

    def take(self, item: Marked) -> None:
        """Validate one entry, and store the entry or its faults."""
        entry_faults, misread = list[Fault](), list(item.all_faults())
        data = {"description": item.value} if isinstance(item.value, str | int | float) else item.value
        data, after = self._split_depends_on(item, data, entry_faults)
        spec: TaskSpec | None = None
        try:
            # Skip validation, which would report unreadable values a second time, as missing or of a wrong type.
            spec = None if misread else parse_spec(data)
        except InvalidTask as invalid:
            # The keys of entries were removed from depends_on, so the remaining indexes differ from those in the file.
            places = (
                (n, item.find("depends_on" if after and n.startswith("depends_on.") else n)) for n in invalid.fields
            )
            if isinstance(data, dict) and data and not data.keys() & TaskIn.model_fields.keys():
                entry_faults.append(_fault_at(item, f"{next(iter(data))!r} is not a field of a task; {QUOTES}"))
            else:
                entry_faults += [_fault_at(part, f"{name}: {invalid.fields[name]}") for name, part in places]
        entry_faults += misread
        if comment := item.parts.get("description", item).comment:
            self.notices.append(f"line {item.line}: {comment!r} is a comment, and not part of the task")
        if spec is not None and not entry_faults:
            language = spec.language if isinstance(data, dict) and "language" in data else Language.PYTHON
            self._keep(item, replace(spec, key=spec.key or content_key(spec, after, language)), after, entry_faults)
        self.faults += entry_faults
        self.bad += bool(entry_faults)
        key = item.value.get("key") if isinstance(item.value, dict) else None
        if entry_faults and isinstance(key, str):
            self.refused.setdefault(key, item.line)

    def _split_depends_on(self, item: Marked, data: Any, entry_faults: list[Fault]) -> tuple[Any, tuple[str, ...]]:
        listed = data.get("depends_on") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            return data, ()
        for part in item.parts["depends_on"].parts.values():
            if isinstance(part.value, str) and part.value not in self.entries:
                why = f"no entry above has the key {part.value!r}"
                if line := self.refused.get(part.value):
                    why = f"waits for the entry {part.value!r} in line {line}, which has faults of its own"
                entry_faults.append(_fault_at(part, f"depends_on: {why}"))
        names = dict.fromkeys(name for name in listed if isinstance(name, str))
        return {**data, "depends_on": [x for x in listed if not isinstance(x, str)]}, tuple(names)

    def _keep(self, item: Marked, spec: TaskSpec, after: tuple[str, ...], entry_faults: list[Fault]) -> None:
        entry = Entry(spec=spec, line=item.line, after=after, marked=item)
        first = self.entries.setdefault(entry.key, entry)
        if first is entry:
            return
        if replace(first, line=item.line) == entry:
            self.notices.append(f"line {item.line}: the same task as in line {first.line}; it is submitted once")
        else:
            message = f"key: {spec.key!r} is in line {first.line} already, for another task"
            entry_faults.append(_fault_at(item.find("key"), message))
