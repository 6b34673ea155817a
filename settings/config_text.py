"""Changes values in the text of `config.yaml` and leaves every other line as its owner wrote it, byte for byte.

Libraries that load a document and dump it again keep comments at best: indentation, quotes, blanks before comments and
long lines come out their own way. So the document is only *composed* here: the marks of its nodes tell where a value
begins and ends, and that much of the text is replaced. What comes out is read again and must say what was meant and
nothing else; where it does not (a value that others refer to by an anchor, say), nothing is changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from core.errors import ConfigError
from settings.config_lists import relisted
from settings.yaml_words import end_of, entry, inline, is_block, line_end, line_start, with_lines

_Path = tuple[str, ...]
_Entry = tuple[yaml.Node, yaml.Node]


def edited(text: str, changes: Mapping[str, Any]) -> str:
    """The text with other values for some of its names; None takes a name out of it.

    Args:
        text: a document whose top is a mapping, or nothing.
        changes: name to value: texts, numbers, truth values, and lists and mappings of them.

    Raises:
        ConfigError: the change cannot be made without touching something else.
        yaml.YAMLError: the text is no YAML.
    """
    for name, value in changes.items():
        text = _with(text, name, value)
    return text


def _with(text: str, name: str, value: Any) -> str:
    meant = {**_read(text), name: value}
    if value is None:
        del meant[name]
    for way in (_finely, _coarsely):
        new = way(text, (name,), value)
        if _says(new, meant):
            return new
    raise ConfigError([f"{name}: stands in config.yaml in a way that cannot be changed from here; change it there"])


def _read(text: str) -> dict[str, Any]:
    data = yaml.safe_load(text) or {}
    if not isinstance(data, dict):
        raise ConfigError(["config.yaml: must be a mapping of settings, one `name: value` a line; mend it there"])
    return data


def _says(text: str, meant: Mapping[str, Any]) -> bool:
    try:
        return _exactly(_read(text)) == _exactly(meant)
    except yaml.YAMLError:
        return False


def _exactly(value: Any) -> str:
    """A form in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True, default=str)


def _finely(text: str, path: _Path, value: Any) -> str:
    """Change as little as possible within a list or a mapping that has lines of its own."""
    found = _entries(text, path)
    if value is None:
        return _without(text, path)
    if found and is_block(found[-1][1]):
        old = _held(text, path)
        if isinstance(value, dict) and value and isinstance(old, dict):
            return _merged(text, path, old, value)
        if isinstance(value, list) and value and isinstance(old, list):
            return relisted(text, found[-1][1], old, value)
    return _coarsely(text, path, value)


def _merged(text: str, path: _Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    for key, value in new.items():
        if key not in old or _exactly(old[key]) != _exactly(value):
            text = _finely(text, (*path, key), value)
    for key in old.keys() - new.keys():
        text = _without(text, (*path, key))
    return text


def _coarsely(text: str, path: _Path, value: Any) -> str:
    """Write the whole value anew, in one line."""
    found = _entries(text, path)
    if value is None or not found:
        return _without(text, path) if value is None else _added(text, path, value)
    key, old = found[-1]
    colon = text.index(":", key.end_mark.index) + 1
    start, end = old.start_mark.index, end_of(old, text)
    if not is_block(old):
        return text[:start] + (" " if start == colon else "") + inline(value) + text[end:]
    own = line_start(text, start)  # the rest of the key's line, a comment perhaps, stays
    return f"{text[:colon]} {inline(value)}{text[colon:own]}{text[line_end(text, end) :]}" if own > colon else text


def _added(text: str, path: _Path, value: Any) -> str:
    parent, name = _mapping(text, path[:-1]), path[-1]
    if parent is None:
        return with_lines(text, len(text), entry(name, value))
    if parent.flow_style:
        at = end_of(parent.value[-1][1], text) if parent.value else parent.start_mark.index + 1
        return f"{text[:at]}{', ' if parent.value else ''}{inline(name)}: {inline(value)}{text[at:]}"
    column = parent.value[0][0].start_mark.column
    return with_lines(text, line_end(text, end_of(parent.value[-1][1], text)), entry(name, value, column=column))


def _without(text: str, path: _Path) -> str:
    while found := _entries(text, path):
        parent = _mapping(text, path[:-1])
        assert parent is not None
        text = _shortened(text, parent, found[-1])
    return text


def _shortened(text: str, parent: yaml.MappingNode, gone: _Entry) -> str:
    start, end = gone[0].start_mark.index, end_of(gone[1], text)
    if not parent.flow_style:
        return text[: line_start(text, start)] + text[line_end(text, end) :]
    place = [key.start_mark.index for key, _ in parent.value].index(start)
    if place:
        start = end_of(parent.value[place - 1][1], text)
    elif len(parent.value) > 1:
        end = parent.value[1][0].start_mark.index
    return text[:start] + text[end:]


def _entries(text: str, path: _Path) -> list[_Entry]:
    """The places where a name stands: none, one, or where it was written twice several, of which the last counts."""
    parent = _mapping(text, path[:-1])
    return [pair for pair in parent.value if pair[0].value == path[-1]] if parent else []


def _mapping(text: str, path: _Path) -> yaml.MappingNode | None:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for name in path:
        within = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((below for key, below in reversed(within) if key.value == name), None)
    return node if isinstance(node, yaml.MappingNode) else None


def _held(text: str, path: _Path) -> Any:
    value: Any = _read(text)
    for name in path:
        value = value[name]
    return value
