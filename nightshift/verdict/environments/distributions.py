"""Finds the distribution that contains a module, with tables of known names and the owner's dependency files.

If a module is in neither, its distribution is assumed to have the module's name, because that is usually true. Such a
guess is marked: it may lead to a question to the owner, but never to an installation without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nightshift.core.code.known_modules import OTHER_NAMES, SAME_NAMES, SHARED
from nightshift.core.code.listing import Listing, ending_of
from nightshift.verdict.languages.repository_commands.readers import get_table, read_toml

_KNOWN = frozenset(
    re.sub(r"[-_.]+", "-", name).lower() for names in (SAME_NAMES, *OTHER_NAMES.values()) for name in names
)

_REQUIREMENT = re.compile(
    r"^\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?)\s*(?:\[[A-Za-z0-9_.,\s-]*\])?\s*"
    r"\(?(?P<specifier>(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]{1,60}\s*,?\s*)*)\)?\s*(?:;.*)?$"
)
_REQUIREMENT_FILES = re.compile(r"^(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in))$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A distribution and its acceptable versions; `str()` gives it in pip's syntax."""

    name: str
    specifier: str = ""

    @property
    def key(self) -> str:
        """The name in the normal form of PEP 503."""
        return normalise(self.name)

    def __str__(self) -> str:
        return f"{self.name}{self.specifier}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The distribution of a module; `is_known` is false for a guess."""

    requirement: Requirement
    is_known: bool


def normalise(name: str) -> str:
    """Return a distribution's name in the normal form of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str) -> Requirement | None:
    """Parse a line of a requirements file; None if it is not a name with optional versions."""
    match = _REQUIREMENT.match(text.partition(" #")[0])
    if match is None:
        return None
    return Requirement(name=match["name"], specifier=re.sub(r"\s+", "", match["specifier"]).rstrip(","))


def is_known(wanted: Requirement) -> bool:
    """Check whether a distribution is in the tables of known names."""
    return wanted.key in _KNOWN


def is_declaration(path: str) -> bool:
    """Check whether a file may declare the distributions that a repository needs."""
    return path == "pyproject.toml" or _REQUIREMENT_FILES.match(path) is not None


def declarations(paths: Listing[str]) -> list[str]:
    """Return the paths of files that may declare distributions. The extension excludes most paths quickly."""
    return [path for path in paths.having(ending_of, ".txt", ".in", ".toml") if is_declaration(path)]


def list_declared(files: Mapping[str, str]) -> dict[str, Requirement]:
    """Return the distributions that requirements files and pyproject.toml name, by name in normal form."""
    requirements = (requirement(line) for path, text in files.items() for line in _lines(path, text))
    return {each.key: each for each in requirements if each}


def source_of(module: str, names: Iterable[str], allowed: Mapping[str, Requirement]) -> Source | None:
    """Return the distribution that contains a module.

    Args:
        module: its dotted name.
        names: the names that are imported from it.
        allowed: distributions that the owner named, by normal form; their spelling and versions are used.

    Returns:
        The distribution; None if many distributions share the name and it is unclear which one is meant.
    """
    dotted = _name_module(module, names)
    top = dotted.partition(".")[0]
    options = next((OTHER_NAMES[part] for part in _prefixes(dotted) if part in OTHER_NAMES), ())
    options = options or _list_sharers(dotted)
    for name in (*options, *((top,) if not options else ()), *_variants(top)):
        if normalise(name) in allowed:
            return Source(requirement=allowed[normalise(name)], is_known=True)
    if options:
        return Source(requirement=Requirement(name=options[0]), is_known=True)
    if any(shared == dotted or shared.startswith(f"{dotted}.") for shared in SHARED) or not top.isascii():
        return None
    return Source(requirement=Requirement(name=top.replace("_", "-").strip("-")), is_known=top in SAME_NAMES)


def _lines(path: str, text: str) -> Iterator[str]:
    if path != "pyproject.toml":
        yield from text.splitlines()
        return
    data = read_toml(text)
    groups = [get_table(data, "project").get("dependencies")]
    groups += [
        *get_table(data, "project", "optional-dependencies").values(),
        *get_table(data, "dependency-groups").values(),
    ]
    yield from (line for group in groups if isinstance(group, list) for line in group if isinstance(line, str))


def _name_module(module: str, names: Iterable[str]) -> str:
    """Return the module, extended by the first imported name if many distributions share the module."""
    first = next(iter(names), "")
    return f"{module}.{first}" if first not in {"", "*"} and (module in SHARED or module == "google") else module


def _prefixes(dotted: str) -> Iterator[str]:
    parts = dotted.split(".")
    yield from (".".join(parts[:length]) for length in range(len(parts), 0, -1))


def _list_sharers(dotted: str) -> tuple[str, ...]:
    for folder in SHARED:
        if dotted.startswith(f"{folder}."):
            part = dotted[len(folder) + 1 :].partition(".")[0]
            return (f"{folder.replace('.', '-')}-{part.replace('_', '-')}",)
    return ()


def _variants(top: str) -> tuple[str, ...]:
    """Return common spellings of a distribution's name; a spelling counts only if the owner named that distribution."""
    return (f"python-{top}", f"py-{top}", f"py{top}", f"{top}-python", f"django-{top}", f"flask-{top}")
