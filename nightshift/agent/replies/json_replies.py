"""Finds the one JSON object in a reply (bare, fenced, or between sentences), and reads files and tool calls from it.

Models write files and tool calls in several dialects; the aliases below are used by open-weight models and common
harnesses. Contents are kept character for character.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictStr, ValidationError

from nightshift.agent.replies import fences, names
from nightshift.agent.replies.templates import without_placeholders
from nightshift.agent.replies.values import Edit
from nightshift.core.tools import ToolCall

_MAX_STARTS = 8


def find_json(text: str) -> dict[str, Any] | None:
    """Return the first JSON object of a reply, or None if there is none.

    The object may be the whole reply, a fenced block, or part of the text. Nothing is repaired: invalid JSON does not
    count as an object. A placeholder that was copied from the reply form becomes an empty text.
    """
    json_object = _first_object(text)
    return None if json_object is None else without_placeholders(json_object)


def _first_object(text: str) -> dict[str, Any] | None:
    reply_object = _object(text.strip())
    if reply_object is not None:
        return reply_object
    for block in fences.blocks(text):
        if block.info.split(" ")[0].lower() not in {"", "json", "tool_call"}:
            continue
        if (block_object := _object(block.text.strip())) is not None:
            return block_object
    return _find_embedded(text)


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _find_embedded(text: str) -> dict[str, Any] | None:
    decoder, at = json.JSONDecoder(), -1
    for _ in range(_MAX_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return None
        try:
            data, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and data:
            return data
    return None


# Reads files and edits from JSON.


_PATH = AliasChoices("path", "file_path", "filepath", "filename", "file_name", "file", "name")
_CONTENT = AliasChoices("content", "contents", "text", "file_text", "code", "source", "body")
_SEARCH = AliasChoices("search", "old_str", "old_string", "old_text", "old", "find")
_REPLACE = AliasChoices("replace", "new_str", "new_string", "new_text", "new", "replacement")
_DELETES = frozenset({"delete_file", "remove_file", "delete", "remove"})
_WRITES = frozenset(
    {
        *("write_file", "create_file", "write", "create", "save_file", "write_to_file", "overwrite_file"),
        *("edit_file", "edit", "str_replace", "replace", "str_replace_editor", "str_replace_based_edit_tool"),
        *("apply_edit", "update_file", "replace_in_file"),
    }
)


class EntryIn(BaseModel):
    """One file of a reply: it is written with content, edited with search and replace, or removed with delete."""

    model_config = ConfigDict(extra="ignore")

    path: StrictStr = Field(validation_alias=_PATH)
    content: StrictStr | None = Field(default=None, validation_alias=_CONTENT)
    search: StrictStr | None = Field(default=None, validation_alias=_SEARCH)
    replace: StrictStr | None = Field(default=None, validation_alias=_REPLACE)
    delete: bool = Field(default=False, validation_alias=AliasChoices("delete", "deleted"))


class Harvest:
    """The files, edits, deletions, moves and complaints collected so far, in order."""

    def __init__(self) -> None:
        self.files: list[tuple[str, str]] = []
        self.edits: list[Edit] = []
        self.deletions: list[str] = []
        self.moves: dict[str, str] = {}
        self.complaints: list[str] = []

    def entry(self, raw: object, where: str, *, delete: bool = False) -> None:
        """Add one entry; an entry that is not a file adds a complaint."""
        try:
            read = EntryIn.model_validate(raw)
        except ValidationError:
            self.complaints.append(f"{where} is no file: give `path` and `content`, or `path`, `search` and `replace`.")
            return
        path = names.tidy(read.path)
        if read.delete or delete:
            self.deletions.append(path)
        elif read.search is not None and read.replace is not None:
            self.edits.append(Edit(path=path, search=read.search, replace=read.replace))
        elif read.content is not None:
            self.files.append((path, read.content))
        else:
            self.complaints.append(f"{where} ({read.path!r}) has neither `content` nor `search` with `replace`.")

    def calls(self, calls: Iterable[ToolCall]) -> None:
        """Add tool calls that write, edit or delete files."""
        for call in calls:
            name = call.name.lower().replace("-", "_").rsplit(".", 1)[-1]
            if name in _WRITES | _DELETES:
                self.entry(dict(call.arguments), f"the call of {call.name[:60]!r}", delete=name in _DELETES)
            else:
                self.complaints.append(f"There is no tool {call.name[:60]!r}; write the files into the reply.")

    def document(self, data: Mapping[str, Any]) -> bool:
        """Add a JSON object that holds files or is a tool call written as text; return True if it was one."""
        arguments = data.get("arguments", data.get("parameters", data.get("input")))
        if isinstance(data.get("name"), str) and arguments is not None:
            return self._read_call(str(data["name"]), arguments)
        before = len(self.files) + len(self.edits) + len(self.deletions) + len(self.complaints)
        files = data.get("files", data.get("changes"))
        for raw in _entries(files):
            self.entry(raw, "an entry of `files`")
        for raw in _entries(data.get("edits")):
            self.entry(raw, "an entry of `edits`")
        for path in data.get("delete", ()) if isinstance(data.get("delete"), list) else ():
            self.entry({"path": path}, "an entry of `delete`", delete=True)
        if files is None and not self.edits and "path" in data:
            self.entry(data, "the object")
        return before != len(self.files) + len(self.edits) + len(self.deletions) + len(self.complaints)

    def _read_call(self, name: str, arguments: object) -> bool:
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                return False
        if isinstance(arguments, dict):
            self.calls([ToolCall(name=name, arguments=arguments)])
        return isinstance(arguments, dict)


def _entries(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return [{"path": path, "content": text} for path, text in value.items()]
    return list(value) if isinstance(value, list) else []
