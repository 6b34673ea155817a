"""Settings for all tasks of one repository, with their validation. They apply where a task sets nothing itself.

A task's own fields override these settings, and these override the global settings. Rules and packages are combined
instead, because both levels allow something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, StrictBool, ValidationError, field_validator

from nightshift.core.code.paths import path_fault
from nightshift.core.code.repository_commands import Found, FoundCommand, FoundLinter, Linter, Purpose
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.preflight import Preflight
from nightshift.core.tasks.submission import (
    MAX_NAMES,
    MAX_WORDS,
    BranchIn,
    CommandIn,
    PackageIn,
    RuleIn,
    RunLimitsIn,
)
from nightshift.core.tasks.task import Language, Limits, Lint, TaskSpec

HELP: Mapping[str, str] = {
    "test_command": "the command that judges tasks without tests and command; for example make test",
    "test_paths": "the folders and files of the tests that changes may break; for example tests",
    "base": "the branch that tasks start from; for example main",
    "target": "the branch that gets commits of tasks that name no base; for example develop",
    "integrate": "whether commits move that branch: on or off",
    "integrate_self_tested": "whether commits that only the agent's own tests judged move it too: on or off",
    "review": "whether a model reads each change: on or off",
    "audit": "whether a model looks for security weaknesses: on or off",
    "linters": "the linters that look at a change: some of " + ", ".join(Linter) + ", or none",
    "lint": "what their findings are: noted in the commit, or required to be fixed before it",
    "allow": "checker rules that do not apply here; for example python.subprocess",
    "packages": "packages that tasks here may use; for example requests",
    "iterations": "the tries of one attempt; for example 15",
    "wall_s": "the seconds of one attempt; for example 1800",
    "model_calls": "the calls of models for one task; for example 200",
    "tokens": "the tokens for one task; for example 500000",
    "cost_usd": "the dollars for one task; for example 1.5",
    "suite_s": "the processor seconds of one run of tests; for example 300",
    "memory_mb": "the memory of one run; for example 2048",
    "cpus": "the processors of one run; for example 2",
    "pids": "the processes and threads of one run; for example 256",
    "work_mb": "what one run may write; for example 256",
}
"""Help text on each setting for the owner, with an example. The order is that of the display."""
BY_HAND = "allow"
"""Setting that only the command line may change, because it decides which code is allowed (`config.fields.ByHand`)."""


class RepositorySettingsIn(RunLimitsIn):
    """Settings of a repository as a person enters them.

    If a field is None, the repository's files decide, or else the global settings.
    """

    test_command: Annotated[CommandIn, Field(min_length=1, max_length=MAX_WORDS)] | None = None
    test_paths: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    base: BranchIn | None = None
    target: BranchIn | None = None
    integrate: StrictBool | None = None
    integrate_self_tested: StrictBool | None = None
    review: StrictBool | None = None
    audit: StrictBool | None = None
    linters: Annotated[list[Linter], Field(max_length=MAX_NAMES)] | None = None
    lint: Lint | None = None
    allow: Annotated[list[RuleIn], Field(max_length=MAX_NAMES)] | None = None
    packages: Annotated[list[PackageIn], Field(max_length=MAX_NAMES)] | None = None

    @field_validator("test_paths")
    @classmethod
    def _plain_paths(cls, paths: list[str] | None) -> list[str] | None:
        for path in paths or ():
            if why := path_fault(path.rstrip("/")):
                raise ValueError(f"{path!r}: {why}")
        return paths and [path.rstrip("/") for path in paths]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySettings:
    """Settings of a repository. If a field is None, the repository's files decide, or else the global settings."""

    test_command: tuple[str, ...] | None = None
    test_paths: tuple[str, ...] | None = None
    base: str | None = None
    target: str | None = None
    integrate: bool | None = None
    integrate_self_tested: bool | None = None
    review: bool | None = None
    audit: bool | None = None
    linters: tuple[Linter, ...] | None = None
    lint: Lint | None = None
    allow: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def apply_to(self, spec: TaskSpec) -> TaskSpec:
        """Return the task with the repository's settings in each field that the task does not set itself."""
        judged = spec.tests or spec.test_command or spec.cases or spec.oracle
        left_out = set(Linter) - set(self.linters) if self.linters is not None else set[Linter]()
        packages = self.packages if spec.language is Language.PYTHON else ()
        return replace(
            spec,
            test_command=spec.test_command if judged else self.test_command or (),
            base=spec.base or (self.base if spec.repo else None),
            integrate=_first(spec.integrate, self.integrate),
            review=_first(spec.review, self.review),
            audit=_first(spec.audit, self.audit),
            lint=spec.lint or self.lint,
            allow=tuple(dict.fromkeys((*spec.allow, *self.allow, *sorted(left_out)))),
            packages=tuple(dict.fromkeys((*spec.packages, *packages))),
            limits=spec.limits.over(self.limits),
        )


def _first(value: bool | None, otherwise: bool | None) -> bool | None:
    return otherwise if value is None else value


def parse(values: Mapping[str, Any]) -> RepositorySettings:
    """Parse the settings of a repository from plain values.

    Raises:
        InvalidTask: Names the invalid fields and what each of them accepts.
    """
    try:
        read = RepositorySettingsIn.model_validate(dict(values))
    except ValidationError as error:
        raise InvalidTask(_faults(error)) from None
    given_values = {name: value for name, value in read.model_dump().items() if value is not None}
    limits = {each.name: given_values.pop(each.name) for each in fields(Limits) if each.name in given_values}
    lists = {name: tuple(dict.fromkeys(value)) for name, value in given_values.items() if isinstance(value, list)}
    if read.test_command:
        lists["test_command"] = tuple(read.test_command)  # a command may repeat a word
    return RepositorySettings(**{**given_values, **lists}, limits=Limits(**limits))


def change_settings(stored_values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored settings after changes, as plain values; None removes a value.

    Raises the same errors as `parse`.
    """
    merged = {**stored_values, **changes}
    parse(merged)
    read = RepositorySettingsIn.model_validate(merged).model_dump(mode="json")
    return {name: value for name, value in read.items() if value is not None}


def readable(stored_values: Mapping[str, Any]) -> tuple[RepositorySettings, dict[str, str]]:
    """Return the stored values that this version can read, as settings, and the faults of the unreadable values."""
    try:
        return parse(stored_values), {}
    except InvalidTask as error:
        wrong = {name.partition(".")[0] for name in error.fields}
        sound = {name: value for name, value in stored_values.items() if name not in wrong}
        try:
            return parse(sound), error.fields
        except InvalidTask:
            return RepositorySettings(), error.fields


def _faults(error: ValidationError) -> dict[str, str]:
    faults = dict[str, str]()
    for item in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in item["loc"]) or "settings"
        if item["type"] == "extra_forbidden":
            faults[name] = f"a repository has no such setting; it has {', '.join(HELP)}"
            continue
        text = item["msg"].removeprefix("Value error, ")
        hint = HELP.get(name.partition(".")[0], "")
        faults.setdefault(name, f"{text}; it is {hint}" if hint else text)
    return faults


class Source(StrEnum):
    """The source of a value."""

    KEPT = "kept"
    FOUND = "found"
    SETTINGS = "settings"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting of a repository, ready for JSON: its effective value, and the value from each source.

    `found` is the value in the repository's files, and `place` is its location there. `by_hand` is True if only the
    command line may change the setting.
    """

    name: str
    value: Any
    source: Source
    kept: Any = None
    found: Any = None
    otherwise: Any = None
    place: str = ""
    help: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryOptions:
    """All settings of a repository, with the commands and linters that the files of a commit name.

    `setup_draft` is a proposed setup script, made from the set-up steps that the repository has for another agent.
    `checks` are the results of the repository's suites before any change. `faults` are stored values that this version
    cannot read. `error` says why the files could not be read.
    """

    repo: str
    commit: str = ""
    options: tuple[Option, ...] = ()
    commands: tuple[FoundCommand, ...] = ()
    linters: tuple[FoundLinter, ...] = ()
    setup_draft: str = ""
    checks: tuple[Preflight, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def describe_settings(
    stored_values: Mapping[str, Any], declarations: Found, otherwise: Mapping[str, Any], *, own_runs: bool
) -> tuple[Option, ...]:
    """Describe each setting of a repository: its value, and the source of the value.

    Args:
        stored_values: The values that were set for the repository.
        declarations: The values in the repository's files.
        otherwise: The values of the global settings and of git.
        own_runs: True if Nightshift's own test runs find the repository's tests. In that case, a test command that only
            the repository's files name is not used; a test command that the owner has set is used.
    """
    values = _name_values(declarations)
    options = {name: _option(name, stored_values, values.get(name), otherwise.get(name)) for name in HELP}
    command = options["test_command"]
    if own_runs and command.source is Source.FOUND:
        options["test_command"] = replace(command, value=None, source=Source.NONE)
    return tuple(options.values())


def _option(name: str, stored_values: Mapping[str, Any], declaration: tuple[Any, str] | None, otherwise: Any) -> Option:
    value, location = declaration or (None, "")
    source = Source.NONE if otherwise is None else Source.SETTINGS
    holds = otherwise
    if declaration:
        source, holds = Source.FOUND, value
    if name in stored_values:
        source, holds = Source.KEPT, stored_values[name]
    return Option(
        name=name,
        value=holds,
        source=source,
        kept=stored_values.get(name),
        found=value,
        otherwise=otherwise,
        place=location,
        help=HELP[name],
        by_hand=name == BY_HAND,
    )


def _name_values(declarations: Found) -> dict[str, tuple[Any, str]]:
    """Map names of settings to the values that the repository's files give, each value with its location."""
    values = dict[str, tuple[Any, str]]()
    if test := declarations.command(Purpose.TEST):
        values["test_command"] = list(test.words), test.location
    if paths := declarations.test_paths:
        values["test_paths"] = list(paths.paths), paths.location
    if declarations.linters:
        places = ", ".join(dict.fromkeys(each.location for each in declarations.linters))
        values["linters"] = [str(each.linter) for each in declarations.linters], places
    return values
