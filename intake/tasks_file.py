"""Reads `tasks.yaml`: a list of tasks, each with the fields that the API knows, or just a description.

    tasks:
      - Create a health check endpoint
      - description: Add tests for the payment module
        key: payment-tests
        priority: 2
      - description: Report what those tests cover
        depends_on: [payment-tests]

An entry is submitted once, under its own `key` or one made of its content. That key leaves fields at their default out
of account, so an upgrade that adds a field does not submit the file again. `depends_on` takes the ids of tasks and the
keys of entries further up. Either the whole file is good or none of it counts: half a list would run tasks whose
dependencies or neighbours the owner is still writing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.errors import InvalidTask
from core.faults import MOST, and_more
from core.submission import as_input, parse_spec
from core.tasks import TaskSpec
from intake.marked_yaml import BrokenFile, Fault, Marked, parse

MAX_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One task of the file. `spec.key` is always set; `after` are keys of entries above that it depends on."""

    spec: TaskSpec
    line: int
    after: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key it is submitted under."""
        assert self.spec.key is not None
        return self.spec.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A good reading: the entries in the file's order, and what its author may want to know."""

    entries: tuple[Entry, ...] = ()
    notices: tuple[str, ...] = ()


def load_file(path: Path) -> Reading:
    """Read the file; a missing one is empty.

    Raises:
        BrokenFile: it cannot be read, is too large, or holds faults.
    """
    try:
        return load_bytes(read_bytes(path))
    except BrokenFile as broken:
        raise BrokenFile(broken.faults, path.name) from None


def read_bytes(path: Path) -> bytes:
    """The bytes of the file; of a missing one, none.

    Raises:
        BrokenFile: it is no regular file, cannot be read or is too large.
    """
    try:
        if path.exists() and not path.is_file():
            raise BrokenFile([_top_fault("is not a regular file")])
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BrokenFile([_top_fault(f"cannot be read: {error.strerror or error}")]) from None
    if len(raw) > MAX_BYTES:
        raise BrokenFile([_top_fault(f"is larger than {MAX_BYTES >> 20} MB")])
    return raw


def load_bytes(raw: bytes) -> Reading:
    """Read the bytes of a tasks file, UTF-8 with or without a byte order mark.

    Raises:
        BrokenFile: lists every fault with its line and column.
    """
    return read_tasks(_decode(raw))


def read_tasks(text: str) -> Reading:
    """Read the text of a tasks file.

    Raises:
        BrokenFile: lists every fault with its line and column.
    """
    tree = parse(text)
    if tree is None or tree.value is None:
        return Reading()
    faults: list[Fault] = []
    reader = _Reader(faults)
    for item in _items(tree, faults):
        reader.take(item)
    if faults:
        raise BrokenFile(faults)
    return Reading(entries=tuple(reader.entries.values()), notices=_few(reader.notices))


def content_key(spec: TaskSpec, after: tuple[str, ...] = ()) -> str:
    """A key made of what the task says: SHA-256 of its fields that differ from their defaults."""
    text = json.dumps([as_input(replace(spec, key=None)), list(after)], sort_keys=True, ensure_ascii=False)
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


def _items(tree: Marked, faults: list[Fault]) -> list[Marked]:
    if not isinstance(tree.value, dict):
        faults.append(_fault_at(tree, "must be a mapping with the one key `tasks`"))
        return []
    unknown = (part for key, part in tree.parts.items() if key != "tasks")
    faults.extend(_fault_at(part, "unknown key at the top; only `tasks` is known") for part in unknown)
    tasks = tree.parts.get("tasks")
    if tasks is None or tasks.value is None:
        return []
    if not isinstance(tasks.value, list):
        faults.append(_fault_at(tasks, "tasks: must be a list, each entry begun by `- `"))
        return []
    return list(tasks.parts.values())


def _fault_at(part: Marked, message: str) -> Fault:
    return Fault(line=part.line, column=part.column, message=message)


@dataclass
class _Reader:
    """Takes the entries one after the other; knows those above."""

    faults: list[Fault]
    entries: dict[str, Entry] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def take(self, item: Marked) -> None:
        """Validate one entry and keep it, or note what is wrong with it."""
        data = {"description": item.value} if isinstance(item.value, str) else item.value
        data, after = self._split_depends_on(item, data)
        try:
            spec = parse_spec(data)
        except InvalidTask as invalid:
            # Without the keys of entries the numbers within depends_on are others than in the file.
            places = (
                (n, item.find("depends_on" if after and n.startswith("depends_on.") else n)) for n in invalid.fields
            )
            self.faults += [_fault_at(place, f"{name}: {invalid.fields[name]}") for name, place in places]
        else:
            self._keep(item, replace(spec, key=spec.key or content_key(spec, after)), after)

    def _split_depends_on(self, item: Marked, data: Any) -> tuple[Any, tuple[str, ...]]:
        listed = data.get("depends_on") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            return data, ()
        for part in item.parts["depends_on"].parts.values():
            if isinstance(part.value, str) and part.value not in self.entries:
                self.faults.append(_fault_at(part, f"depends_on: no entry above has the key {part.value!r}"))
        names = dict.fromkeys(name for name in listed if isinstance(name, str))
        return {**data, "depends_on": [x for x in listed if not isinstance(x, str)]}, tuple(names)

    def _keep(self, item: Marked, spec: TaskSpec, after: tuple[str, ...]) -> None:
        entry = Entry(spec=spec, line=item.line, after=after)
        first = self.entries.setdefault(entry.key, entry)
        if first is entry:
            return
        if replace(first, line=item.line) == entry:
            self.notices.append(f"line {item.line}: the same task as in line {first.line}; it is submitted once")
        else:
            message = f"key: {spec.key!r} stands in line {first.line} already, for another task"
            self.faults.append(_fault_at(item.find("key"), message))
