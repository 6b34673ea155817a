"""Reads a repository's Python dependencies: exact packages of a lock, or requirements that are still to be resolved.

Only packages of the package index are accepted, by name and version. Packages from folders, addresses and repositories
are left out with a remark. The address of an index in a lock is ignored too, because a lock may name the packages, but
may not decide from which server this machine downloads them.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from nightshift.core.code.listing import Listing, ending_of
from nightshift.core.errors import SandboxError
from nightshift.verdict.environments.distributions import normalise
from nightshift.verdict.languages.python.package_layout import OwnPackage

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
MOST_PACKAGES = 1500
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_HASH = re.compile(r"--hash[= ](sha256:[0-9a-f]{64})")
_SHA = re.compile(r"sha256:[0-9a-f]{64}")
_REQUIREMENTS = re.compile(
    r"^(?:requirements|(?:requirements[-_.])?(?:all[-_.])?(?:tests?|testing|dev|develop)(?:[-_.]requirements)?"
    r"|requirements/(?:requirements[-_.])?(?:base|main|prod|install|requirements|(?:py\d*[-_.])?(?:tests?|testing|dev)))"
    r"\.(?:txt|in)$"
)
_FOR_TESTS = re.compile(r"(?:^|[-_.])(?:tests?|testing|dev|develop|development|pytest)(?:[-_.]|$)")
_FALSE_FRIENDS = re.compile(r"docs?|lint|typing|mypy|release|publish|bench")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A package with an exact version. Without hashes, any file of this version is accepted."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name in normal form."""
        return normalise(self.name)

    @property
    def line(self) -> str:
        """The package and its hashes as a line of a requirements file."""
        return " ".join((f"{self.name}=={self.version}", *(f"--hash={digest}" for digest in self.hashes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The packages to install for a repository.

    Attributes:
        pinned: the exact packages of a lock.
        groups: lists of requirements that are still to be resolved, in order of priority. The requirements of the
            repository's own package come first.
        constraints: requirements that limit the versions of whatever is installed.
        hashes: the hashes of a package's accepted files, by its name in normal form.
        remarks: the entries that were left out, with the reason.
    """

    pinned: tuple[Pinned, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    constraints: tuple[str, ...] = ()
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class _Said:
    """The content of the requirement files read so far.

    Attributes:
        lines: the requirements by group. A group consists of one file and the files that it includes.
        constraints: requirements that limit the versions of whatever is installed.
        hashes: the hashes of a package's accepted files, by its name in normal form.
        extras: the extras of the repository's own package that the files request.
        seen: the files read, each with true if its lines were read as constraints.
    """

    lines: dict[str, list[str]] = field(default_factory=dict)
    constraints: list[str] = field(default_factory=list)
    hashes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extras: set[str] = field(default_factory=set)
    seen: set[tuple[str, bool]] = field(default_factory=set)


def is_for_tests(group: str) -> bool:
    """Check whether a group of requirements may be needed by tests, judged by the name of the group."""
    name = group.lower()
    return bool(_FOR_TESTS.search(name)) and not _FALSE_FRIENDS.search(name)


def requirement_files(paths: Listing[str], folder: str) -> list[str]:
    """Return the requirement files of a folder that tests may need.

    A `.txt` file replaces the `.in` file of the same name, from which it was compiled.
    """
    alike = paths.having(ending_of, ".txt", ".in")
    own = {path: path.removeprefix(folder) for path in alike if path.startswith(folder)}
    files = sorted(path for path, name in own.items() if _REQUIREMENTS.fullmatch(name))
    return [path for path in files if not (path.endswith(".in") and f"{path[:-3]}.txt" in own)]


def list_included(text: str, path: str) -> Iterator[str]:
    """List the paths that a requirement file includes, except those outside of the repository."""
    for line in _logical_lines(text):
        match = re.match(r"(?:-r|--requirement|-c|--constraint)[ =]?\s*(\S+)", line)
        if match and (target := _beside(path, match[1])):
            yield target


class Reader:
    """Reads declarations for one interpreter.

    Args:
        version: the interpreter's version, as in `3.11.2`.
        ours: the test libraries of every run, name in normal form to version. They come first on the import path, so no
            other versions of them are installed.
    """

    def __init__(self, version: str, ours: Mapping[str, str]) -> None:
        series = ".".join(version.split(".")[:2])
        self._ours = ours
        self._environment = {
            **default_environment(), "python_version": series, "python_full_version": version,
            "implementation_version": version, "extra": "",
        }  # fmt: skip
        self._remarks = dict[str, None]()

    def of_lock(self, path: str, text: str, own: OwnPackage) -> Declaration:
        """Read the packages that a lock pins.

        Raises:
            SandboxError: the lock cannot be read, or names too many packages.
        """
        self._remarks.clear()
        try:
            table = tomllib.loads(text)
            kind = path.rpartition("/")[2]
            packages = [*getattr(self, f"_{kind.partition('.')[0]}")(table, own)]
        except (tomllib.TOMLDecodeError, RecursionError, TypeError, AttributeError, KeyError, ValueError) as error:
            raise SandboxError(f"{path} cannot be read: {type(error).__name__}: {str(error)[:120]}") from error
        chosen: dict[str, Pinned] = {}
        for package in packages:
            if package.key == normalise(own.name):
                continue
            if version := self._ours.get(package.key):
                if version != package.version:
                    self._remark(f"{package.name} {version} of the test libraries is used instead of {package.version}")
            elif package.key in chosen and chosen[package.key].version != package.version:
                self._remark(
                    f"{package.name} {package.version} is left out; {chosen[package.key].version} is already chosen"
                )
            else:
                chosen[package.key] = package
        _check_count(path, chosen)
        return Declaration(pinned=tuple(chosen.values()), remarks=self._describe())

    def of_requirements(self, texts: Mapping[str, str], paths: Sequence[str], own: OwnPackage) -> Declaration:
        """Read the requirements of the repository's own package and of its requirement files.

        Args:
            texts: the requirement files and the files that they include, path to text.
            paths: the files to begin with.
            own: the repository's own package.

        Raises:
            SandboxError: they name too many packages.
        """
        self._remarks.clear()
        content = _Said()
        for path in paths:
            self._take(content, path, path, texts, own, constraining=False)
        groups = [self._all_plain(own.requires, "the package", own)]
        wanted = {**own.extras, **own.groups}
        groups += [
            self._all_plain(each, f"group {name}", own)
            for name, each in wanted.items()
            if is_for_tests(name) or name in content.extras
        ]
        groups += list(content.lines.values())
        groups = [[line for line in group if self._is_not_ours(line)] for group in groups]
        _check_count("the repository", [line for group in groups for line in group])
        constraints = [line for line in content.constraints if normalise(Requirement(line).name) not in self._ours]
        return Declaration(
            groups=tuple(tuple(dict.fromkeys(group)) for group in groups if group),
            constraints=tuple(dict.fromkeys(constraints)),
            hashes=content.hashes,
            remarks=self._describe(),
        )

    def with_lines(self, declaration: Declaration, lines: Sequence[str], where: str, own: OwnPackage) -> Declaration:
        """Add requirements to a declaration, and return the result.

        The versions of the declaration's exact packages become constraints, so the added requirements must accept them.
        """
        self._remarks.clear()
        group = tuple(line for line in self._all_plain(lines, where, own) if self._is_not_ours(line))
        if not group:
            return replace(declaration, remarks=(*declaration.remarks, *self._describe()))
        pins = (f"{package.name}=={package.version}" for package in declaration.pinned)
        return replace(
            declaration,
            groups=(*declaration.groups, group),
            constraints=(*declaration.constraints, *pins),
            remarks=(*declaration.remarks, *self._describe()),
        )

    # --- methods that read requirements

    def _take(
        self, content: _Said, path: str, group: str, texts: Mapping[str, str], own: OwnPackage, *, constraining: bool
    ) -> None:
        """Add a requirement file and its includes to a group, or to the constraints."""
        if (path, constraining) in content.seen or path not in texts:
            return
        content.seen.add((path, constraining))
        for line in _logical_lines(texts[path]):
            if more := re.match(r"(-r|--requirement|-c|--constraint)[ =]?\s*(\S+)", line):
                target = _beside(path, more[2])
                if target is None or target not in texts:
                    self._remark(f"{path} includes {more[2]}, which is not a file of the repository")
                else:
                    limits = constraining or more[1] in {"-c", "--constraint"}
                    self._take(content, target, group, texts, own, constraining=limits)
            elif itself := re.match(r"(?:-e\s*|--editable[ =])?\.{1,2}/?(?:\[([\w,\s.-]*)\])?\s*(?:;.*)?$", line):
                content.extras.update(each.strip() for each in (itself[1] or "").split(",") if each.strip())
            elif line.startswith("-"):
                self._remark(f"the option {line.split()[0].partition('=')[0]} in {path} is ignored")
            elif requirement := self._normalise_requirement(
                line.partition("--hash")[0].strip().rstrip("\\").strip(), path, own
            ):
                (content.constraints if constraining else content.lines.setdefault(group, [])).append(requirement)
                if allowed := tuple(_HASH.findall(line)):
                    content.hashes[normalise(Requirement(requirement).name)] = allowed

    def _all_plain(self, lines: Sequence[str], where: str, own: OwnPackage, depth: int = 0) -> list[str]:
        """Return requirements in the form that our installers accept.

        A requirement of the repository's own package with extras is replaced by the requirements of these extras.
        """
        requirements = []
        for line in (line.partition(" #")[0].strip() for line in lines):
            if not line or line.startswith("#"):
                continue
            mine = re.match(r"([\w.-]+)\s*\[([\w,\s.-]+)\]", line)
            if mine and own.name and normalise(mine[1]) == normalise(own.name):
                for extra in (each.strip() for each in mine[2].split(",") if depth < 3):
                    requirements += self._all_plain(own.extras.get(extra, ()), f"extra {extra}", own, depth + 1)
            elif requirement := self._normalise_requirement(line, where, own):
                requirements.append(requirement)
        return requirements

    def _normalise_requirement(self, line: str, where: str, own: OwnPackage) -> str:
        """Return a requirement in the form that our installers accept; empty if it is left out."""
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            self._remark(f"{line[:80]!r} in {where} is not a package of an index; it is left out")
            return ""
        if requirement.url:
            self._remark(
                f"{requirement.name} in {where} does not come from an index ({requirement.url[:60]}); it is left out"
            )
            return ""
        if not _NAME.fullmatch(requirement.name) or normalise(requirement.name) == normalise(own.name):
            return ""
        if requirement.marker and not self._holds(str(requirement.marker)):
            return ""
        extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
        return f"{requirement.name}{extras}{requirement.specifier}"

    def _is_not_ours(self, line: str) -> bool:
        requirement = Requirement(line)
        version = self._ours.get(normalise(requirement.name))
        if version and not requirement.specifier.contains(version, prereleases=True):
            self._remark(
                f"{requirement.name} {version} of the test libraries is used, although the repository asks for {line}"
            )
        return version is None

    def _holds(self, marker: str, more: Mapping[str, Any] | None = None, *, lock: bool = False) -> bool:
        try:
            environment: Any = {**self._environment, **(more or {})}
            return Marker(marker).evaluate(environment, context="lock_file" if lock else "requirement")
        except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, KeyError, TypeError):
            return True

    def _elsewhere(self, name: object, origin: object) -> None:
        self._remark(f"{str(name)[:80]} does not come from an index ({origin}); it is left out")

    def _remark(self, text: str) -> None:
        self._remarks[text] = None

    def _describe(self) -> tuple[str, ...]:
        return tuple(self._remarks)

    # --- methods that read locks, one for each format

    def _uv(self, table: Mapping[str, Any], own: OwnPackage) -> Iterator[Pinned]:
        packages = [each for each in table.get("package", []) if isinstance(each, dict)]
        by_name: dict[str, list[dict[str, Any]]] = {}
        for each in packages:
            by_name.setdefault(normalise(str(each["name"])), []).append(each)
        local = [each for each in packages if {"virtual", "editable"} & _source(each).keys()]
        mine = [each for each in local if normalise(str(each["name"])) == normalise(own.name)]
        at_root = [each for each in local if "." in _source(each).values()]
        waiting = [(each, frozenset[str](), True) for each in mine or at_root or local]
        seen = set[tuple[int, frozenset[str]]]()
        while waiting:
            package, extras, is_first = waiting.pop()
            if (id(package), extras) in seen:
                continue
            seen.add((id(package), extras))
            if not is_first and (pinned := self._pin_by_uv(package)):
                yield pinned
            needs = list(package.get("dependencies", []))
            optional = package.get("optional-dependencies", {})
            needs += [
                need
                for name in optional
                if name in extras or (is_first and is_for_tests(name))
                for need in optional[name]
            ]
            if is_first:
                groups = package.get("dev-dependencies", {})
                needs += [need for name in groups if is_for_tests(name) for need in groups[name]]
            for need in needs:
                if "marker" in need and not self._holds(str(need["marker"])):
                    continue
                candidates = by_name.get(normalise(str(need["name"])), [])
                if "version" in need:
                    candidates = [each for each in candidates if each.get("version") == need["version"]]
                fit = [each for each in candidates if self._is_for_here(each)] or candidates
                waiting += [(each, frozenset(map(str, need.get("extra", ()))), False) for each in fit[:1]]

    def _is_for_here(self, package: Mapping[str, Any]) -> bool:
        markers = package.get("resolution-markers", [])
        return not markers or any(self._holds(str(each)) for each in markers)

    def _pin_by_uv(self, package: Mapping[str, Any]) -> Pinned | None:
        source, name = _source(package), str(package["name"])
        if "registry" not in source:
            if not {"virtual", "editable"} & source.keys() or "." not in source.values():
                self._elsewhere(name, next(iter(source), "nothing"))
            return None
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        return self._sound(name, package.get("version"), [str(each.get("hash", "")) for each in files])

    def _poetry(self, table: Mapping[str, Any], _own: OwnPackage) -> Iterator[Pinned]:
        for package in table.get("package", []):
            groups = package.get("groups")
            mine = [group for group in groups or ["main"] if group == "main" or is_for_tests(group)]
            markers = package.get("markers")
            fits = any(self._holds(marker) for marker in _markers_of(markers, mine))
            if (
                not mine
                or not fits
                or (groups is None and package.get("optional") and package.get("category") != "dev")
            ):
                continue
            if "source" in package and package["source"].get("type", "legacy") != "legacy":
                self._elsewhere(package["name"], package["source"].get("type"))
                continue
            files = package.get("files") or table.get("metadata", {}).get("files", {}).get(package["name"], [])
            if pinned := self._sound(package["name"], package["version"], [str(each.get("hash")) for each in files]):
                yield pinned

    def _pdm(self, table: Mapping[str, Any], _own: OwnPackage) -> Iterator[Pinned]:
        for package in table.get("package", []):
            groups = package.get("groups", ["default"])
            if not any(group == "default" or is_for_tests(group) for group in groups):
                continue
            if "marker" in package and not self._holds(package["marker"]):
                continue
            if origin := next((key for key in ("git", "url", "path") if key in package), ""):
                self._elsewhere(package["name"], origin)
                continue
            if pinned := self._sound(
                package["name"], package.get("version"), [str(each.get("hash")) for each in package.get("files", [])]
            ):
                yield pinned

    def _pylock(self, table: Mapping[str, Any], _own: OwnPackage) -> Iterator[Pinned]:
        groups = {str(group) for group in table.get("dependency-groups", []) if is_for_tests(str(group))}
        extras = {str(extra) for extra in table.get("extras", []) if is_for_tests(str(extra))}
        chosen = {"dependency_groups": groups | set(table.get("default-groups", [])), "extras": extras}
        for package in table.get("packages", []):
            if "marker" in package and not self._holds(package["marker"], chosen, lock=True):
                continue
            if origin := next((key for key in ("vcs", "directory", "archive") if key in package), ""):
                self._elsewhere(package["name"], origin)
                continue
            files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
            hashes = [f"sha256:{each.get('hashes', {}).get('sha256', '')}" for each in files]
            if pinned := self._sound(package["name"], package.get("version"), hashes):
                yield pinned

    def _sound(self, name: object, version: object, hashes: Sequence[str]) -> Pinned | None:
        """Return a package of a lock; None, with a remark, if its name, version or hashes are invalid."""
        try:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InvalidVersion
            Version(str(version))
        except InvalidVersion:
            self._remark(f"{str(name)[:80]!r} {str(version)[:40]!r} is not a valid name and version; it is left out")
            return None
        sound = tuple(dict.fromkeys(digest for digest in hashes if _SHA.fullmatch(digest)))
        if not sound:
            self._remark(f"{name} has no hash in the lock; it is left out")
            return None
        return Pinned(name=name, version=str(version), hashes=sound)


def without(declaration: Declaration, names: Collection[str], remarks: Sequence[str]) -> Declaration:
    """Remove exact packages from a declaration, add remarks, and return the result.

    Args:
        declaration: the declaration.
        names: the names of the packages to remove, in normal form.
        remarks: the remarks to add.
    """
    remaining = tuple(package for package in declaration.pinned if package.key not in names)
    return replace(declaration, pinned=remaining, remarks=(*declaration.remarks, *remarks))


def _check_count(where: str, packages: Collection[object]) -> None:
    if len(packages) > MOST_PACKAGES:
        raise SandboxError(f"{where} names {len(packages)} packages; the limit is {MOST_PACKAGES}")


def _markers_of(markers: object, groups: Sequence[str]) -> list[str]:
    """Return the markers of a package in poetry.lock.

    The lock has one marker for all groups, or a marker for each group. A missing marker is replaced by a marker that is
    always true.
    """
    always = "python_version >= '0'"
    if isinstance(markers, dict):
        return [str(markers.get(group, always)) for group in groups]
    return [str(markers) if markers else always]


def _source(package: Mapping[str, Any]) -> Mapping[str, Any]:
    source = package.get("source")
    return source if isinstance(source, dict) else {}


def _logical_lines(text: str) -> Iterator[str]:
    """List the lines of a requirement file, with continued lines joined and comments removed."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        logical_line = re.sub(r"(^|\s)#.*$", "", line).strip()
        if logical_line:
            yield logical_line


def _beside(path: str, target: str) -> str | None:
    """Resolve an included path relative to the including file; None if it is outside of the repository."""
    if "://" in target or target.startswith("/"):
        return None
    included = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return None if included.startswith("../") or included == ".." else included
