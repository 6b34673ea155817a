"""Reads YAML as plain values with their positions, so that every fault can name a line and a column.

The result has only JSON's types: texts, numbers, booleans, null, lists, and mappings with texts as keys. Dates stay
texts, and so does everything that JSON would not read as a number: `010` is not 8, and `1:30` is not 90. Aliases are
refused, so the result can never be larger than its text. An anchor, or a comment directly after a text, counts as a
fault, because its author probably meant it as a part of the text. The nesting depth is checked on the parser's events,
before the text reaches the composer, which is recursive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import Reader

from nightshift.core.errors import UnusableFile
from nightshift.core.text import faults
from nightshift.core.text.plain_data import MAX_DEPTH, MAX_VALUES

MAX_NUMBER_CHARS = 100
_TAG = "tag:yaml.org,2002:"
QUOTES = "if this is part of a text, put the text in quotes"
_COMMENT = re.compile(r"[ \t]+(#[^\r\n]*)")
_NO_COMMENT = re.compile(r"#\w")
"""Pattern of a `#` that probably belongs to the text before it, such as the number of an issue."""
_TEXTS = {_TAG + name for name in ("str", "timestamp", "value", "merge")}
_NUMBERS = {_TAG + name for name in ("int", "float")}
_CONSTANTS = {_TAG + name for name in ("bool", "null")}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # one of two base classes
    """A YAML loader that recognises numbers as JSON does."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {
        first: [(tag, form) for tag, form in forms if tag not in _NUMBERS]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(_TAG + "int", re.compile(r"[-+]?(0|[1-9]\d*)$", re.ASCII), "-+0123456789")
_Loader.add_implicit_resolver(
    _TAG + "float", re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$", re.ASCII), "-0123456789"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault in a file, with its position; the line and the column count from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class BrokenFile(UnusableFile):
    """The file cannot be used. The message contains the first faults, and the file's name if it is known."""

    def __init__(self, all_faults: Iterable[Fault], name: str = "") -> None:
        self.faults = limit_faults(sorted(all_faults, key=lambda f: (f.line, f.column)))
        super().__init__("\n".join(f"{name}:{fault}" if name else str(fault) for fault in self.faults))


def limit_faults(all_faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the first faults, each shortened, and a fault that counts the others.

    Applying this twice changes nothing.
    """
    first = all_faults if len(all_faults) <= faults.MOST + 1 else all_faults[: faults.MOST]
    shown = tuple(replace(fault, message=faults.cut(fault.message, faults.WHY_CHARS)) for fault in first)
    rest = all_faults[len(first) :]
    return (*shown, replace(rest[0], message=faults.and_more(len(rest)))) if rest else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A value with its position.

    The parts of a mapping have the positions of their keys, and the items of a list have their own positions. `faults`
    are those of the value itself, such as a key that appears twice; `all_faults` includes those of its parts. `comment`
    is the comment after the value on its line.
    """

    value: Any
    line: int
    column: int
    parts: Mapping[str, Marked] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    comment: str = ""

    def all_faults(self) -> Iterator[Fault]:
        """Yield the faults of the value and of its parts."""
        yield from self.faults
        for part in self.parts.values():
            yield from part.all_faults()

    def find(self, name: str) -> Marked:
        """Return the deepest part that exists on the dotted path `name`, for example `limits.tokens`.

        Keys may contain dots themselves.
        """
        ways = [key for key in self.parts if name == key or name.startswith(key + ".")]
        if not name or not ways:
            return self
        key = max(ways, key=len)
        return self.parts[key].find(name[len(key) + 1 :])


def parse(text: str) -> Marked | None:
    """Parse one document; None if it is empty. Anything that is not a plain value becomes a fault at its position.

    Raises:
        BrokenFile: the text is not YAML, or exceeds a limit.
    """
    if bad := Reader.NON_PRINTABLE.search(text):
        before = text[: bad.start()]
        line = before.count("\n") + 1
        raise BrokenFile([_at(line, bad.start() - before.rfind("\n"), f"unprintable character {bad[0]!a}")])
    try:
        anchors = _check_events(text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise BrokenFile([_syntax_fault(error)]) from None
    if root is None:
        return None
    return _Builder(text, anchors).build(root, root)


def _at(line: int, column: int, message: str) -> Fault:
    return Fault(line=line, column=column, message=message)


def _fault(node: Any, message: str) -> Fault:
    return _at(node.start_mark.line + 1, node.start_mark.column + 1, message)


def _check_events(text: str) -> dict[int, str]:
    """Refuse aliases, too deep nesting and all else that the composer must not receive.

    Returns the anchors by the positions of their values in the text.
    """
    depth = count = 0
    anchors = dict[int, str]()
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            why = f"aliases (*name) are not allowed here; write the value out, and {QUOTES}"
            raise BrokenFile([_fault(event, why)])
        if isinstance(event, yaml.NodeEvent):
            if (count := count + 1) > MAX_VALUES:
                raise BrokenFile([_fault(event, f"the file contains more than {MAX_VALUES:,} values; split it")])
            if event.anchor and event.start_mark:
                anchors[event.start_mark.index] = event.anchor
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise BrokenFile([_fault(event, f"nested more than {MAX_DEPTH} deep")])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return anchors


def _syntax_fault(error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    message = ", ".join(part for part in (error.problem, error.context) if part) + f"; {QUOTES}"
    return _at(mark.line + 1, mark.column + 1, message) if mark else _at(1, 1, message)


class _Builder:
    def __init__(self, text: str, anchors: Mapping[int, str]) -> None:
        self._text, self._anchors = text, anchors
        self._scalars = SafeConstructor()

    def build(self, node: yaml.Node, position: yaml.Node) -> Marked:
        """Return the value of `node`, marked with the position of the node `position` instead of its own."""
        parts: dict[str, Marked] = {}
        value: Any = None
        comment = ""
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            pairs, node_faults = self._pairs(node)
            parts = {key: self.build(below, at) for key, at, below in pairs}
            value = {key: part.value for key, part in parts.items()}
        elif isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            parts = {str(i): self.build(below, below) for i, below in enumerate(node.value)}
            value, node_faults = [part.value for part in parts.values()], []
        elif isinstance(node, yaml.ScalarNode):
            value, node_faults = self._scalar(node)
            if node.style not in {"|", ">"} and (behind := _COMMENT.match(self._text, node.end_mark.index)):
                comment = behind[1]
                if _NO_COMMENT.match(comment) and not isinstance(value, bool | int | float):
                    node_faults.append(_fault(node, f"{comment!r} is a comment to YAML; {QUOTES}"))
        else:
            node_faults = [_tag_fault(node)]
        if name := self._anchors.get(node.start_mark.index):
            node_faults.append(_fault(node, f"{f'&{name}'!r} is an anchor to YAML; {QUOTES}"))
        return Marked(
            value=value,
            line=position.start_mark.line + 1,
            column=position.start_mark.column + 1,
            parts=parts,
            faults=tuple(node_faults),
            comment=comment,
        )

    def _pairs(self, node: yaml.MappingNode) -> tuple[list[tuple[str, yaml.Node, yaml.Node]], list[Fault]]:
        pairs, pair_faults = dict[str, tuple[str, yaml.Node, yaml.Node]](), list[Fault]()
        for key, below in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _TEXTS:
                pair_faults.append(_fault(key, "a key must be a text; put it in quotes"))
            elif key.value in pairs:
                pair_faults.append(_fault(key, f"the key {key.value!r} appears twice"))
            else:
                pairs[key.value] = key.value, key, below
        return list(pairs.values()), pair_faults

    def _scalar(self, node: yaml.ScalarNode) -> tuple[Any, list[Fault]]:
        if node.tag in _TEXTS:
            return node.value, []
        if node.tag not in _NUMBERS | _CONSTANTS:
            return None, [_tag_fault(node)]
        try:
            if node.tag in _CONSTANTS or len(node.value) <= MAX_NUMBER_CHARS:
                return self._scalars.construct_object(node), []
        except (ValueError, LookupError, yaml.YAMLError):  # the constructor raises these for `!!int x` and similar
            pass
        kind = node.tag.removeprefix(_TAG)
        return None, [_fault(node, f"{node.value[:40]!r} is not a value of the kind {kind}")]


def _tag_fault(node: yaml.Node) -> Fault:
    return _fault(node, f"the tag {node.tag.replace(_TAG, '!!')} is not allowed here; {QUOTES}")
