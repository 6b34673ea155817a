"""The only validation of tasks that people submit.

YAML, the API, the command line and the dashboard share its rules.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from nightshift.core.clock import no_number, on_the_wall, to_text
from nightshift.core.code.given_files import unreadable
from nightshift.core.code.paths import MAX_FILE_CHARS, MAX_FILES, MAX_TOTAL_CHARS, clash_among, git_folder, path_fault
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks import case_input
from nightshift.core.tasks.case_input import MAX_CASES, CaseIn
from nightshift.core.tasks.held_out import ValueCase
from nightshift.core.tasks.language_choice import choose_language
from nightshift.core.tasks.projects import name_fault
from nightshift.core.tasks.task import RESERVED, Explore, Kind, Language, Limits, Lint, TaskSpec
from nightshift.core.text import plain_data
from nightshift.core.text.strict import Strict, without_nul

MAX_METADATA_CHARS = 64_000
MAX_DEPENDENCIES = 1000
MAX_NAMES = 200
MAX_WORDS = 1000
MAX_WORD_CHARS = 100_000

PositiveInt = Annotated[StrictInt, Field(ge=1, lt=2**53)]


def _few(files: object) -> object:
    """Limit the number of files.

    This runs before each file is validated, so that invalid files give one error, and not one each.
    """
    if isinstance(files, Mapping) and len(files) > MAX_FILES:
        raise ValueError(_TOO_MUCH)
    return files


def _no_version(name: object) -> object:
    """Reject a package version with a helpful message, because people write packages as for pip.

    Runs before the field's pattern, whose message would be less helpful.
    """
    if isinstance(name, str) and (match := re.match(r"\s*([\w.-]{1,80})\s*[=<>!~]", name)):
        raise ValueError(f"must be a name alone: {match[1]}; give the version in ALLOWED_DEPS, as name==version")
    return name


def _split_command(command: object) -> object:
    """Split a command that is one text, as a shell does.

    A command that uses shell syntax becomes `sh -c` with the text.
    """
    if not isinstance(command, str):
        return command
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{error}: it cannot be split into words") from None
    return ["sh", "-c", command] if _SHELL.search(_QUOTED.sub("", command)) else words


def _as_list(value: object) -> object:
    """Put a single value into a list; a list stays unchanged."""
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


class _OneOrMany:
    """Lets the JSON schema of a list allow a single item in its place."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        many = handler(schema)
        return {"anyOf": [many, many["items"]]}


_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
"""Quoted text that a shell does not interpret."""
_SHELL = re.compile(r"[|&;<>$`*?]|^\w+=")
"""Pattern of a character that a shell interprets, or of a variable assignment before the command."""
_MAY_BE_PYTHON = (Language.PYTHON, Language.AUTO)
_NO_TEXT = "must be a text; put it in quotes"
_TOO_MUCH = f"too much: at most {MAX_FILES} files and {MAX_TOTAL_CHARS} characters together"
ExploreIn = Annotated[Explore, BeforeValidator(Explore.read_typed), WithJsonSchema({"enum": [*Explore, True, False]})]
RuleIn = Annotated[str, Field(pattern=r"^([a-z][A-Za-z0-9_.-]{0,80}|[\w.*?-]+(/[\w.*?-]+)+)$", max_length=200)]
PackageIn = Annotated[
    str, BeforeValidator(_no_version), Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,80}[A-Za-z0-9])?$")
]
ToolNameIn = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,30}\.[A-Za-z0-9_./-]{1,100}$")]
LabelIn = Annotated[str, Field(pattern=r"^[a-z0-9][A-Za-z0-9_.:/-]{0,100}$")]
WordIn = Annotated[str, Field(min_length=1, max_length=MAX_WORD_CHARS)]
BranchIn = Annotated[str, Field(min_length=1, max_length=250)]
T = TypeVar("T")
Many = Annotated[list[T], BeforeValidator(_as_list), _OneOrMany()]
CommandIn = Annotated[list[WordIn], BeforeValidator(_split_command), _OneOrMany()]
FilesIn = Annotated[dict[str, str], BeforeValidator(_few)]


class RunLimitsIn(Strict):
    """Limits of one attempt, for a task or for all tasks of a repository."""

    iterations: Annotated[StrictInt, Field(ge=1, le=100)] | None = None
    wall_s: Annotated[StrictFloat, Field(gt=0, le=604_800)] | None = None
    model_calls: PositiveInt | None = None
    tokens: PositiveInt | None = None
    cost_usd: Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)] | None = None
    suite_s: Annotated[StrictFloat, Field(gt=0, le=86_400)] | None = None
    memory_mb: Annotated[StrictInt, Field(ge=64, le=1_048_576)] | None = None
    cpus: Annotated[StrictFloat, Field(ge=0.1, le=1024, allow_inf_nan=False)] | None = None
    pids: Annotated[StrictInt, Field(ge=16, le=32_768)] | None = None
    work_mb: Annotated[StrictInt, Field(ge=1, le=65_536)] | None = None


class LimitsIn(RunLimitsIn):
    """Limits of a task."""

    attempts: PositiveInt | None = None


class TaskIn(Strict):
    """A task as people submit it; the field names are those of the API."""

    # `_not_blank` checks the minimum, with words that say what to do
    description: Annotated[str, Field(max_length=100_000, json_schema_extra={"minLength": 1})]
    priority: Annotated[StrictInt, Field(ge=-1_000_000, le=1_000_000)] = 1
    repo: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    base: BranchIn | None = None
    project: Annotated[str, Field(max_length=100)] | None = None
    kind: Kind | None = None
    language: Language = Language.AUTO
    tests: FilesIn = Field(default_factory=dict)
    test_command: CommandIn = Field(default_factory=list, max_length=MAX_WORDS)
    files: FilesIn = Field(default_factory=dict)
    depends_on: Many[PositiveInt] = Field(default_factory=list, max_length=MAX_DEPENDENCIES)
    key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    not_before: Annotated[datetime | None, BeforeValidator(no_number)] = None
    limits: LimitsIn = Field(default_factory=LimitsIn)
    explore: ExploreIn | None = None
    review: StrictBool | None = None
    audit: StrictBool | None = None
    clarify: StrictBool | None = None
    split: StrictBool | None = None
    integrate: StrictBool | None = None
    lint: Lint | None = None
    allow: Many[RuleIn] = Field(default_factory=list, max_length=MAX_NAMES)
    packages: Many[PackageIn] = Field(default_factory=list, max_length=MAX_NAMES)
    mcp: Many[ToolNameIn] = Field(default_factory=list, max_length=MAX_NAMES)
    needs: Many[LabelIn] = Field(default_factory=list, max_length=MAX_NAMES)
    cases: list[CaseIn] = Field(default_factory=list, max_length=MAX_CASES)
    oracle: FilesIn | str = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("description")
    @classmethod
    def _not_blank(cls, text: str) -> str:
        text = text.removeprefix("\ufeff").strip()  # Some editors add a byte order mark
        if not text:
            raise ValueError("is empty; describe what is to be done")
        return without_nul(text)

    @field_validator("tests", "files", "oracle")
    @classmethod
    def _plain_paths(cls, files: dict[str, str] | str) -> dict[str, str] | str:
        if isinstance(files, str):
            if len(files) > MAX_FILE_CHARS:
                raise ValueError(f"longer than {MAX_FILE_CHARS} characters")
            return files
        if len(files) > MAX_FILES or sum(map(len, files.values())) > MAX_TOTAL_CHARS:
            raise ValueError(_TOO_MUCH)
        for path, text in files.items():
            if why := path_fault(path):
                raise ValueError(f"{path!r}: {why}")
            if len(text) > MAX_FILE_CHARS:
                raise ValueError(f"{path!r}: longer than {MAX_FILE_CHARS} characters")
        return files

    @field_validator("metadata")
    @classmethod
    def _plain_json(cls, metadata: dict[str, Any]) -> dict[str, Any]:
        try:
            text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
            text.encode()
        except (TypeError, ValueError, RecursionError):
            raise ValueError("must be plain JSON: texts, finite numbers, booleans, null, lists, mappings") from None
        if len(text) > MAX_METADATA_CHARS:
            raise ValueError(f"longer than {MAX_METADATA_CHARS} characters")
        return metadata

    @field_validator("key")
    @classmethod
    def _not_ours(cls, key: str | None) -> str | None:
        if key and key.startswith(RESERVED):
            raise ValueError(f"keys that begin with {RESERVED!r} belong to subtasks; choose another")
        return key

    @field_validator("project")
    @classmethod
    def _a_folder(cls, name: str | None) -> str | None:
        if name and (why := name_fault(name)):
            raise ValueError(why)
        return name

    @field_validator("not_before")
    @classmethod
    def _aware(cls, at: datetime | None) -> datetime | None:
        try:
            return at and on_the_wall(at)
        except OverflowError:
            raise ValueError("is outside the years 1 to 9999") from None

    @model_validator(mode="after")
    def _whole_is_judged(self) -> TaskIn:
        if not self.split:
            return self
        if self.repo:
            raise ValueError("so far split works only in the daemon's own workspace; leave out split, or repo")
        if self.files:
            raise ValueError("split: a task that brings files of its own is not split; leave out split, or files")
        if not (self.tests or self.test_command):
            raise ValueError("split needs tests or test_command: nothing else shows that the parts make the whole")
        return self

    @model_validator(mode="after")
    def _uses_its_tools(self) -> TaskIn:
        if self.mcp and self.explore is Explore.OFF:
            raise ValueError("mcp names tools, and explore is off, so no model would use them; leave one of them out")
        return self

    @model_validator(mode="after")
    def _one_judge(self) -> TaskIn:
        if self.tests and self.test_command:
            raise ValueError("give either tests or test_command, not both")
        if (self.cases or self.oracle) and self.language not in _MAY_BE_PYTHON:
            raise ValueError("cases and oracle are for tasks in Python")
        if self.packages and self.language not in _MAY_BE_PYTHON:
            raise ValueError("packages are only for tasks in Python; leave it out")
        if why := case_input.fault(self.cases, self.oracle):
            raise ValueError(why)
        if self.project is not None and self.repo:
            raise ValueError("project names a folder of the daemon's own workspace; leave out project, or repo")
        if self.base and not self.repo:
            raise ValueError("base names a branch of a repo; give repo too")
        if both := sorted(self.tests.keys() & self.files.keys()):
            raise ValueError(f"{both[0]!r} is in both files and tests")
        if clash := clash_among([*self.files, *self.tests]):
            raise ValueError(f"{clash[0]!r} cannot exist beside {clash[1]!r} on every file system; rename one of them")
        if (folder := git_folder([*self.files, *self.tests], [*self.files, *self.tests])) is not None:
            raise ValueError(f"git would take the folder {folder or '.'!r} for a repository; rename HEAD in it")
        return self


def parse_spec(data: object) -> TaskSpec:
    """Parse a task from a person's input.

    Raises:
        InvalidTask: Names the invalid fields, and says how to fix them.
    """
    if not isinstance(data, Mapping):
        raise InvalidTask({"task": "must be a mapping with at least a description"})
    if misshapen := plain_data.check(data):
        raise InvalidTask(misshapen)
    try:
        read = TaskIn.model_validate(dict(data), context=case_input.limit_for_all())
    except ValidationError as error:
        raise InvalidTask(_faults(error)) from None
    values = read.model_dump()
    values["limits"] = Limits(**values["limits"])
    values["cases"] = tuple(map(case_input.to_case, read.cases))
    values["oracle"] = case_input.oracle_files(read.cases, read.oracle)
    values |= {name: tuple(dict.fromkeys(values[name])) for name in ("depends_on", "allow", "packages", "mcp", "needs")}
    values["test_command"] = tuple(read.test_command)
    spec = TaskSpec(**values)
    if spec.language is Language.AUTO:
        spec = replace(spec, language=_language_unsaid(spec))
    language = choose_language(spec) if spec.language is Language.AUTO else spec.language
    if faults := unreadable(language, spec.tests, spec.files, spec.description):
        raise InvalidTask(faults)
    return spec


def _language_unsaid(spec: TaskSpec) -> Language:
    """Return the language of a task that names none; AUTO if the files of its repository or project may decide."""
    return Language.AUTO if spec.repo or spec.project else choose_language(spec)


def as_input(spec: TaskSpec) -> dict[str, Any]:
    """Return the input that `parse_spec` would turn into this task: JSON values, without those that equal the defaults.

    `parse_spec(as_input(spec)) == spec` for every task that `parse_spec` returned.
    """
    changed = _list_changed_fields(spec, TaskSpec(description="", language=_language_unsaid(spec)))
    return changed | ({"limits": limits} if (limits := _list_changed_fields(spec.limits, Limits())) else {})


def _list_changed_fields(value: TaskSpec | Limits, default: TaskSpec | Limits) -> dict[str, Any]:
    pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
    return {name: _to_json_value(got) for name, got in pairs if got != getattr(default, name) and name != "limits"}


def _to_json_value(value: Any) -> Any:
    match value:
        case datetime():
            return to_text(value)
        case ValueCase():
            return case_input.as_input(value)
        case tuple():
            return [_to_json_value(item) for item in value]
        case Mapping():
            return dict(value)
        case _:
            return value.value if isinstance(value, Enum) else value


def _faults(error: ValidationError) -> dict[str, str]:
    faults: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in item["loc"]) or "task"
        if item["type"] == "extra_forbidden":
            inner: dict[str, type[BaseModel]] = {"limits": LimitsIn, "cases": CaseIn}
            model = inner.get(name.partition(".")[0], TaskIn)
            faults[name] = f"unknown field; known are {', '.join(model.model_fields)}"
        else:
            is_no_text = item["type"] == "string_type"
            faults.setdefault(name, _NO_TEXT if is_no_text else item["msg"].removeprefix("Value error, "))
    return faults
