"""Reads the arguments of tool calls; a fault is a sentence that names the argument."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from nightshift.agent.replies.names import tidy
from nightshift.agent.replies.templates import is_placeholder
from nightshift.agent.tools import specs
from nightshift.core.code.paths import path_fault
from nightshift.core.errors import BadReply
from nightshift.core.tool_text import placeholder
from nightshift.core.tools import ToolParameter

_PATHS = ("file_path", "filepath", "filename", "file", "target_file")


def _plain_path(value: Any) -> Any:
    """Make a path relative to the root: `./a.py` and `/a.py` become `a.py`, `pkg/` becomes `pkg`, `.` becomes ""."""
    text = tidy(value) if isinstance(value, str) else value
    return text.removeprefix("./").strip("/").removeprefix("./") if isinstance(text, str) and text != "." else ""


def _list_of_paths(value: Any) -> Any:
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    return [_plain_path(path) for path in value] if isinstance(value, list | tuple) else value


def _command_line(value: Any) -> Any:
    """Return a command as one line; some models send a list of arguments, perhaps beginning with the shell to use."""
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        return value
    in_shell = len(value) == 3 and value[0].rpartition("/")[2] in {"bash", "sh"} and value[1] in {"-c", "-lc"}
    return value[2] if in_shell else shlex.join(value)


Path = Annotated[str, BeforeValidator(_plain_path)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class ListFiles(_Arguments):
    """Arguments of `list_files`."""

    path: Path = Field(default="", validation_alias=AliasChoices("path", "dir", "directory", "folder"))
    glob: str = Field(default="", validation_alias=AliasChoices("glob", "pattern"))


class Search(_Arguments):
    """Arguments of `search`; the newline that a fence adds is removed from `pattern`."""

    pattern: Annotated[str, BeforeValidator(lambda v: v.strip("\r\n") if isinstance(v, str) else v)] = Field(
        min_length=1, validation_alias=AliasChoices("pattern", "regex", "query", "search_term")
    )
    path: Path = Field(default="", validation_alias=AliasChoices("path", "dir", "directory", *_PATHS))
    glob: str = Field(default="", validation_alias=AliasChoices("glob", "include"))
    page: int = Field(default=1, ge=1)


class ReadFile(_Arguments):
    """Arguments of `read_file`."""

    path: Path = Field(min_length=1, validation_alias=AliasChoices("path", *_PATHS))
    start: int | None = Field(
        default=None, ge=1, validation_alias=AliasChoices("start", "start_line", "offset", "line", "line_start")
    )
    lines: int = Field(default=200, ge=1, validation_alias=AliasChoices("lines", "limit", "count"))


class Edit(_Arguments):
    """Arguments of `edit`."""

    path: Path = Field(min_length=1, validation_alias=AliasChoices("path", *_PATHS))
    old: str = Field(validation_alias=AliasChoices("old", "old_str", "old_string", "old_text", "search"))
    new: str = Field(validation_alias=AliasChoices("new", "new_str", "new_string", "new_text", "replace"))
    all: bool = Field(default=False, validation_alias=AliasChoices("all", "replace_all"))


class WriteFile(_Arguments):
    """Arguments of `write_file`; without content the file is removed."""

    path: Path = Field(min_length=1, validation_alias=AliasChoices("path", *_PATHS))
    content: str | None = Field(
        default=None, validation_alias=AliasChoices("content", "contents", "text", "file_text", "code")
    )
    delete: bool = False


class Run(_Arguments):
    """Arguments of `run`."""

    command: Annotated[Words, BeforeValidator(_command_line)] = Field(
        validation_alias=AliasChoices("command", "cmd", "script")
    )
    timeout: float = Field(default=60, ge=1, validation_alias=AliasChoices("timeout", "timeout_s", "seconds"))


class RunTests(_Arguments):
    """Arguments of `run_tests`."""

    files: Annotated[tuple[str, ...], BeforeValidator(_list_of_paths)] = Field(
        default=(), validation_alias=AliasChoices("files", "paths", "tests", "path")
    )


class Ask(_Arguments):
    """Arguments of `ask`."""

    question: Words
    default: str = ""


class Cannot(_Arguments):
    """Arguments of `cannot`."""

    reason: Words = Field(validation_alias=AliasChoices("reason", "why", "message"))


class Done(_Arguments):
    """Arguments of `done`."""

    summary: str = Field(default="", validation_alias=AliasChoices("summary", "message", "result"))


_MODELS: Mapping[str, type[_Arguments]] = {
    specs.LIST_FILES.name: ListFiles,
    specs.SEARCH.name: Search,
    specs.READ_FILE.name: ReadFile,
    specs.EDIT.name: Edit,
    specs.WRITE_FILE.name: WriteFile,
    specs.RUN.name: Run,
    specs.RUN_TESTS.name: RunTests,
    specs.ASK.name: Ask,
    specs.CANNOT.name: Cannot,
    specs.DONE.name: Done,
}


def read_arguments(name: str, arguments: Mapping[str, Any]) -> BaseModel:
    """Return the validated arguments of a call of the tool `name`.

    Raises:
        BadReply: an argument is invalid, or copied from the form that the model was shown; the message names the
            argument and the fault.
    """
    if (spec := specs.find_tool(name)) and (
        copied := [parameter.name for parameter in spec.parameters if _is_copied(parameter, arguments)]
    ):
        raise BadReply(f"{name}: {copied[0]}: holds the words of the form; say it yourself.")
    try:
        read = _MODELS[name].model_validate(dict(arguments))
    except ValidationError as error:
        raise BadReply(f"{name}: {_fault(error)}") from None
    path = getattr(read, "path", "")
    if path and (fault := path_fault(path)):
        raise BadReply(f"{name}: path: {path[:200]!r} {fault}; paths are relative to the repository's root.")
    return read


def _is_copied(parameter: ToolParameter, arguments: Mapping[str, Any]) -> bool:
    """Check whether an argument is the placeholder of its form (`core.tool_text`) or its description."""
    given = arguments.get(parameter.name)
    words = given.strip() if isinstance(given, str) else ""
    return words in {placeholder(parameter), parameter.description} or is_placeholder(words)


def _fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{first['loc'][0] if first['loc'] else 'arguments'}: {first['msg']}."
