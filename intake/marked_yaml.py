"""YAML as plain values that remember where they stood, so that every fault can name a line and a column.

Only what JSON has comes out: texts, numbers, booleans, null, lists and mappings with texts as keys; dates stay texts.
Aliases are refused, so a reading can never be larger than its text. The depth is checked on the parser's events, before
the composer (which recurses) sees the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import Reader

from core import faults
from core.errors import UnusableFile
from core.plain_data import MAX_DEPTH, MAX_VALUES

MAX_NUMBER_CHARS = 100
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_TEXTS = {_TAG + name for name in ("str", "timestamp", "value", "merge")}
_NUMBERS = {_TAG + name for name in ("int", "float")}
_CONSTANTS = {_TAG + name for name in ("bool", "null")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a file, and where; line and column count from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class BrokenFile(UnusableFile):
    """The file cannot be used; names the faults, the first ones of many, with the file's name where it is known."""

    def __init__(self, found: Iterable[Fault], name: str = "") -> None:
        self.faults = bounded(sorted(found, key=lambda f: (f.line, f.column)))
        super().__init__("\n".join(f"{name}:{fault}" if name else str(fault) for fault in self.faults))


def bounded(found: Sequence[Fault]) -> tuple[Fault, ...]:
    """The first faults, each cut, and in place of the others how many there are; once bounded they stay as they are."""
    first = found if len(found) <= faults.MOST + 1 else found[: faults.MOST]
    shown = tuple(replace(fault, message=faults.cut(fault.message, faults.WHY_CHARS)) for fault in first)
    rest = found[len(first) :]
    return (*shown, replace(rest[0], message=faults.and_more(len(rest)))) if rest else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A value and where it stands: a mapping's parts at their keys, a list's at themselves."""

    value: Any
    line: int
    column: int
    parts: Mapping[str, Marked] = field(default_factory=dict)

    def find(self, name: str) -> Marked:
        """The deepest part on the dotted way `name`, for example `limits.tokens`; names may hold dots themselves."""
        ways = [key for key in self.parts if name == key or name.startswith(key + ".")]
        if not name or not ways:
            return self
        key = max(ways, key=len)
        return self.parts[key].find(name[len(key) + 1 :])


def parse(text: str) -> Marked | None:
    """Read one document; None when there is nothing in it.

    Raises:
        BrokenFile: not YAML, or YAML with what plain values do not have.
    """
    if bad := Reader.NON_PRINTABLE.search(text):
        before = text[: bad.start()]
        line = before.count("\n") + 1
        raise BrokenFile([_at(line, bad.start() - before.rfind("\n"), f"unprintable character {bad[0]!a}")])
    try:
        _check_events(text)
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise BrokenFile([_syntax_fault(error)]) from None
    if root is None:
        return None
    builder = _Builder()
    tree = builder.build(root, root)
    if builder.faults:
        raise BrokenFile(builder.faults)
    return tree


def _at(line: int, column: int, message: str) -> Fault:
    return Fault(line=line, column=column, message=message)


def _fault(node: Any, message: str) -> Fault:
    return _at(node.start_mark.line + 1, node.start_mark.column + 1, message)


def _check_events(text: str) -> None:
    depth = count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise BrokenFile([_fault(event, "aliases (*name) are not allowed here; write the value out")])
        if isinstance(event, yaml.NodeEvent) and (count := count + 1) > MAX_VALUES:
            raise BrokenFile([_fault(event, f"the file holds more than {MAX_VALUES:,} values; split it")])
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise BrokenFile([_fault(event, f"nested more than {MAX_DEPTH} deep")])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _syntax_fault(error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    message = ", ".join(part for part in (error.problem, error.context) if part)
    return _at(mark.line + 1, mark.column + 1, message) if mark else _at(1, 1, message)


class _Builder:
    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._scalars = SafeConstructor()

    def build(self, node: yaml.Node, place: yaml.Node) -> Marked:
        """The value of `node`, said to stand at `place`."""
        parts: dict[str, Marked] = {}
        value: Any = None
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            parts = {key: self.build(below, at) for key, at, below in self._pairs(node)}
            value = {key: part.value for key, part in parts.items()}
        elif isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            parts = {str(i): self.build(below, below) for i, below in enumerate(node.value)}
            value = [part.value for part in parts.values()]
        elif isinstance(node, yaml.ScalarNode):
            value = self._scalar(node)
        else:
            self._tag_fault(node)
        return Marked(value=value, line=place.start_mark.line + 1, column=place.start_mark.column + 1, parts=parts)

    def _pairs(self, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        seen: set[str] = set()
        for key, below in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _TEXTS:
                self.faults.append(_fault(key, "a key must be a text; put it in quotes"))
            elif key.value in seen:
                self.faults.append(_fault(key, f"the key {key.value!r} stands here twice"))
            else:
                seen.add(key.value)
                yield key.value, key, below

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag in _TEXTS:
            return node.value
        if node.tag not in _NUMBERS | _CONSTANTS:
            return self._tag_fault(node)
        try:
            if node.tag in _CONSTANTS:
                return self._scalars.construct_object(node)
            if len(node.value) <= MAX_NUMBER_CHARS:
                return self._scalars.construct_object(node)
        except (ValueError, LookupError, yaml.YAMLError):  # what the constructor raises for `!!int x` and the like
            pass
        kind = node.tag.removeprefix(_TAG)
        return self.faults.append(_fault(node, f"{node.value[:40]!r} is not a value of the kind {kind}"))

    def _tag_fault(self, node: yaml.Node) -> None:
        self.faults.append(_fault(node, f"the tag {node.tag.replace(_TAG, '!!')} is not allowed here"))
