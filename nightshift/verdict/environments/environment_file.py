"""Reads `.nightshift/environment.yaml`, which declares what a repository's tests need in addition to its packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Self

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from nightshift.core.code.environments import Service
from nightshift.core.errors import SandboxError
from nightshift.verdict.environments.declared_files import DeclaredFiles

FOLDER, NAMES = ".nightshift", ("environment.yaml", "environment.yml")
MOST_CHARS, MOST_SERVICES, MOST_PACKAGES = 64 << 10, 8, 200
RESERVED = re.compile(
    r"(?i:PATH|HOME|TMPDIR|LANG|ENV|IFS|SHELL|VIRTUAL_ENV|CGO_.*|GO[A-Z]+|(?:LD|DYLD|PYTEST|NODE|BASH|NIGHTSHIFT)_.*|PYTHON.*)"
)
"""Variables that control interpreters, test runners or Nightshift itself. A repository cannot set them."""
_NAME = r"^[a-z][a-z0-9-]{0,30}$"
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
_Command = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
_Variables = dict[Annotated[str, StringConstraints(pattern=_VARIABLE)], Annotated[str, Field(max_length=4000)]]
_Seconds = Annotated[StrictInt, Field(ge=1, le=600)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @field_validator("*")
    @classmethod
    def _no_zero_bytes(cls, value: Any) -> Any:
        texts = [*value, *value.values()] if isinstance(value, dict) else [value]
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise ValueError("the value must not contain a zero byte")
        return value


def _refuse_steering(names: dict[str, str]) -> dict[str, str]:
    if reserved := [name for name in names if RESERVED.fullmatch(name)]:
        raise ValueError(f"{reserved[0]} controls programs of the run; choose another name")
    return names


class ReadyIn(_Strict):
    """The sign that a service is ready; exactly one of the three fields must be set.

    Attributes:
        port: the service is ready when this port answers.
        command: the service is ready when this shell command exits with 0.
        output: the service is ready when it has printed this text.
    """

    port: Annotated[StrictInt, Field(ge=1024, le=65_535)] | None = None
    command: _Command | None = None
    output: Annotated[str, Field(min_length=1, max_length=1000)] | None = None

    @model_validator(mode="after")
    def _just_one(self) -> Self:
        if sum(value is not None for value in (self.port, self.command, self.output)) != 1:
            raise ValueError("name exactly one of port, command and output")
        return self


class ServiceIn(_Strict):
    """A service as declared in the environment file."""

    start: _Command
    prepare: _Command | None = None
    ready: ReadyIn
    environment: _Variables = Field(default_factory=dict)
    exports: _Variables = Field(default_factory=dict)
    prepare_s: _Seconds = 120
    start_s: _Seconds = 60
    memory_mb: Annotated[StrictInt, Field(ge=16, le=4096)] = 256

    _steers_nothing = field_validator("exports")(_refuse_steering)

    def named(self, name: str) -> Service:
        """Return the declared service as a `Service` with this name."""
        return Service(
            name=name, start=self.start, prepare=self.prepare or "", port=self.ready.port or 0,
            command=self.ready.command or "", output=self.ready.output or "", environment=self.environment,
            exports=self.exports, prepare_s=self.prepare_s, start_s=self.start_s, memory_mb=self.memory_mb,
        )  # fmt: skip


class EnvironmentFile(_Strict):
    """The content of an environment file."""

    packages: Annotated[list[str], Field(max_length=MOST_PACKAGES)] = Field(default_factory=list)
    env: _Variables = Field(default_factory=dict)
    services: Annotated[
        dict[Annotated[str, StringConstraints(pattern=_NAME)], ServiceIn], Field(max_length=MOST_SERVICES)
    ] = Field(default_factory=dict)

    _steers_nothing = field_validator("env")(_refuse_steering)

    @field_validator("packages")
    @classmethod
    def _of_the_index(cls, lines: list[str]) -> list[str]:
        for line in lines:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                raise ValueError(
                    f"{line!r} does not name a package; write, for example, `redis` or `redis>=5,<6`"
                ) from None
            if requirement.url:
                raise ValueError(f"{line!r} is an address; name a package of the package index instead")
        return lines

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        ports = [f"port {service.ready.port}" for service in self.services.values() if service.ready.port]
        names = [f"variable {name}" for service in self.services.values() for name in service.exports]
        if twice := next((label for label in (*ports, *names) if (*ports, *names).count(label) > 1), None):
            raise ValueError(f"two services have the {twice}; give each service its own")
        return self

    @property
    def all_services(self) -> tuple[Service, ...]:
        """The services in the order in which they start, which is the order of the file."""
        return tuple(service.named(name) for name, service in self.services.items())


def find(files: DeclaredFiles) -> str | None:
    """Return the path of the environment file: the project's or else the whole repository's; None if there is none."""
    places = dict.fromkeys((files.folder, ""))
    paths = (f"{folder}{FOLDER}/{name}" for folder in places for name in NAMES)
    return next((path for path in paths if path in files.paths), None)


def read(text: str) -> EnvironmentFile:
    """Parse the text of an environment file.

    Raises:
        SandboxError: names the invalid fields and their accepted values.
    """
    return _check(_load(text))


def _load(text: str) -> object:
    if len(text) > MOST_CHARS:
        raise SandboxError(f"the file has more than {MOST_CHARS >> 10} KB")
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SandboxError(f"the file is not valid YAML: {' '.join(str(error).split())[:300]}") from None
    return {} if content is None else content


def _check(content: object) -> EnvironmentFile:
    try:
        return EnvironmentFile.model_validate(content)
    except ValidationError as error:
        raise SandboxError("; ".join(_faults(error))) from None


def packages_of(files: DeclaredFiles) -> tuple[str, list[str]]:
    """Return the path of the environment file and the packages that it names, even if its services are invalid.

    The path is empty if there is no file.
    """
    path = find(files)
    text = files.text(path) if path else None
    try:
        content = _load(text or "")
        named = content.get("packages", []) if isinstance(content, dict) else []
        return path or "", _check({"packages": named}).packages
    except SandboxError:  # The error is reported when the services are read.
        return path or "", []


def _faults(error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False)[:20]:
        *owner, name = [str(part) for part in item["loc"] if part != "[key]"] or ["the file"]
        field_path = ".".join((*owner, name))
        if item["type"] == "extra_forbidden":
            models: dict[int, type[BaseModel]] = {1: EnvironmentFile, 3: ServiceIn}
            model = models.get(len(item["loc"]), ReadyIn)
            yield f"{field_path} is not a known field; the known fields are {', '.join(model.model_fields)}"
        elif item["loc"] and item["loc"][-1] == "[key]":
            how = "small letters, digits and hyphens" if len(item["loc"]) == 3 else "letters, digits and underscores"
            yield f"{field_path} is not a valid name; use {how}, and begin with a letter"
        else:
            yield f"{field_path}: {item['msg'].removeprefix('Value error, ')}"
