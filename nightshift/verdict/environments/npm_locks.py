"""Reads the packages that npm, pnpm and yarn locks pin, and their locations in a `node_modules`.

Only registry packages are accepted, each by name, exact version and strong hash. An address in a lock is never
followed: packages from git, files or other places are left out with a remark.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

LOCKS = ("npm-shrinkwrap.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock")
"""Names of lock files. If a folder has several of them, the first in this order is used."""
MOST_PACKAGES = 6000
FOLDER = "node_modules"
_NAME = r"(?!node_modules(?:/|$))(?:@[a-z0-9~][a-z0-9~._-]*/)?[A-Za-z0-9~][A-Za-z0-9~._-]*"
_IS_NAME = re.compile(_NAME)
_IS_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_IS_PLACE = re.compile(rf"{FOLDER}/{_NAME}(?:/{FOLDER}/{_NAME})*")
_STRONG = re.compile(r"sha(?:256|384|512)-[A-Za-z0-9+/]+=*")
_PUBLIC = frozenset({"registry.npmjs.org", "registry.yarnpkg.com"})
_DEEPEST = 12
GROUPS = ("dependencies", "devDependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A package of a lock.

    Attributes:
        name: the name in the registry.
        version: the exact version.
        integrity: the hash of the archive, in npm's form.
        resolved: the address in the lock, which is only checked and never used; empty if there is none.
        optional: true if npm may leave the package out.
        limits: the systems that the package is for, in npm's form: `os`, `cpu` and `libc`.
    """

    name: str
    version: str
    integrity: str = ""
    resolved: str = ""
    optional: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fault(self) -> str:
        """The reason why the package cannot be installed; empty if it can."""
        if not _IS_NAME.fullmatch(self.name) or not _IS_VERSION.fullmatch(self.version):
            return "is not a valid name and version of a registry"
        if self.resolved and not self._from_registry:
            return "does not come from a registry"
        if not _STRONG.search(self.integrity):
            return "has no strong hash in the lock"
        return ""

    @property
    def _from_registry(self) -> bool:
        try:
            address = urlsplit(self.resolved)
        except ValueError:
            return False
        return address.scheme in {"https", "http"} and address.path.endswith(f"/{self.archive}")

    @property
    def archive(self) -> str:
        """The path of the package's archive, which is the same in every registry."""
        return f"{self.name}/-/{self.name.rpartition('/')[2]}-{self.version}.tgz"

    @property
    def is_public(self) -> bool:
        """True if the lock names the public registry, or a mirror of it, as the source of the package."""
        return self._from_registry and urlsplit(self.resolved).hostname in _PUBLIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The packages of a lock, and their locations in `node_modules`.

    Attributes:
        packages: location, such as `node_modules/a/node_modules/b`, to package.
        links: the repository's own packages, name to folder.
        remarks: what was left out, and why.
    """

    packages: Mapping[str, Locked] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def without(self, location: str, why: str) -> Layout:
        """Return the layout without a package and the packages below it."""
        gone = self.packages[location]
        remaining = {
            path: package
            for path, package in self.packages.items()
            if path != location and not path.startswith(f"{location}/")
        }
        remark = f"{gone.name[:100]} {gone.version[:40]} {why}; it is left out"
        return Layout(packages=remaining, links=self.links, remarks=(*self.remarks, remark))


class UnreadableLock(ValueError):
    """A lock file that does not have the expected format."""


def read(name: str, text: str, manifest: str) -> Layout:
    """Read the layout from a lock file.

    Args:
        name: the file's name, one of `LOCKS`.
        text: the file's text.
        manifest: the text of the `package.json` beside it.

    Raises:
        UnreadableLock: it cannot be read.
    """
    try:
        if name.endswith(".json"):
            layout = _of_npm(json.loads(text))
        elif name.startswith("pnpm"):
            layout = _of_pnpm(text)
        else:
            layout = _of_yarn(text, json.loads(manifest or "{}"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableLock(f"{name} cannot be read: {error}"[:200]) from error
    if len(layout.packages) > MOST_PACKAGES:
        raise UnreadableLock(f"{name} has more than {MOST_PACKAGES} packages")
    for location, package in layout.packages.items():
        if location in layout.packages and package.fault:
            layout = layout.without(location, package.fault)
    return layout


def _of_npm(lock: Any) -> Layout:
    if "packages" not in lock:
        return Layout(packages=dict(_list_nested(lock.get("dependencies") or {}, "")))
    packages, links, remarks = dict[str, Locked](), dict[str, str](), list[str]()
    for location, entry in lock["packages"].items():
        match = re.search(rf"(?:^|/){FOLDER}/({_NAME})$", location)
        name = str(entry.get("name") or (match[1] if match else ""))
        if match and entry.get("link"):
            target = str(entry.get("resolved", ""))
            if location == f"{FOLDER}/{name}" and is_below(target):
                links[name] = target
            else:
                remarks.append(f"{name[:100]} is a link to {target[:100]!r}; it is left out")
        elif _IS_PLACE.fullmatch(location):
            if not entry.get("inBundle"):
                packages[location] = _lock(name, entry)
        elif match or FOLDER in location.split("/"):
            remarks.append(f"{location[:100]} belongs to another folder of the repository; it is left out")
    return Layout(packages=packages, links=links, remarks=tuple(remarks))


def _list_nested(entries: Mapping[str, Any], above: str) -> Iterator[tuple[str, Locked]]:
    """List the packages of an npm lock in format version 1, in which packages are nested."""
    for name, entry in entries.items():
        if entry.get("bundled"):
            continue
        version, location = str(entry.get("version", "")), f"{above}{FOLDER}/{name}"
        alias = re.fullmatch(rf"npm:({_NAME})@(.+)", version)
        if not _IS_PLACE.fullmatch(location):
            raise UnreadableLock(f"{location[:100]!r} is not a location of a package")
        yield location, _lock(alias[1] if alias else name, {**entry, "version": alias[2] if alias else version})
        yield from _list_nested(entry.get("dependencies") or {}, f"{location}/")


def _lock(name: str, entry: Mapping[str, Any]) -> Locked:
    limits = {word: entry[word] for word in ("os", "cpu", "libc") if entry.get(word)}
    return Locked(
        name=name,
        version=str(entry.get("version", "")),
        integrity=str(entry.get("integrity", "")),
        resolved=str(entry.get("resolved", "")),
        optional=bool(entry.get("optional") or limits),
        limits=limits,
    )


def is_below(path: str) -> bool:
    """Check whether a relative path stays inside its starting folder."""
    return bool(path) and not path.startswith("/") and ".." not in path.split("/") and path.isprintable()


def _of_pnpm(text: str) -> Layout:
    import yaml  # noqa: PLC0415 (slow to import; few repositories have such a lock)

    try:
        lock = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnreadableLock(f"pnpm-lock.yaml is not valid YAML: {error}"[:200]) from error
    if float(str(lock["lockfileVersion"]).strip("'")) < 6:
        raise UnreadableLock("pnpm-lock.yaml has a format older than 6.0, which is not supported")
    root = (lock.get("importers") or {}).get(".") or lock
    packages, needs, remarks = dict[str, Locked](), dict[str, dict[str, str]](), list[str]()
    snapshots = lock.get("snapshots") or lock.get("packages") or {}
    for key, snapshot in snapshots.items():
        bare_key = _strip_key(key)
        name, _, version = bare_key.rpartition("@")
        entry = (
            (lock.get("packages") or {}).get(bare_key) or (lock.get("packages") or {}).get(f"/{bare_key}") or snapshot
        )
        resolution = entry.get("resolution") or {}
        fields = {"version": version, "integrity": resolution.get("integrity", "")}
        others = {"resolved": resolution.get("tarball", ""), "optional": snapshot.get("optional")}
        packages[key.lstrip("/")] = _lock(name, {**entry, **fields, **others})
        needs[key.lstrip("/")] = {
            alias: _pnpm_key(alias, str(target))
            for group in ("dependencies", "optionalDependencies")
            for alias, target in (snapshot.get(group) or {}).items()
        }
    roots, links = dict[str, str](), dict[str, str]()
    for group in GROUPS:
        for alias, target in (root.get(group) or {}).items():
            reference = str(target["version"] if isinstance(target, dict) else target)
            if reference.startswith(("link:", "file:")):
                folder = reference.partition(":")[2]
                if reference.startswith("link:") and is_below(folder) and _IS_NAME.fullmatch(alias):
                    links[alias] = folder
                else:
                    remarks.append(f"{alias[:100]} is a link to {folder[:100]!r}; it is left out")
            else:
                roots[alias] = _pnpm_key(alias, reference)
    placed, more = _lay_out(roots, packages, needs)
    return Layout(packages=placed, links=links, remarks=(*remarks, *more))


def workspaces(manifest: str | None, pnpm: str | None) -> tuple[str, ...]:
    """Return the glob patterns for the folders of a workspace's packages.

    Args:
        manifest: the text of the `package.json` at the workspace's root.
        pnpm: the text of the `pnpm-workspace.yaml` beside it.
    """
    import yaml  # noqa: PLC0415 (slow to import; few repositories have such a file)

    try:
        listed = json.loads(manifest or "{}").get("workspaces") or []
        patterns = [*(listed.get("packages") or [] if isinstance(listed, dict) else listed)]
        patterns += (yaml.safe_load(pnpm) or {}).get("packages") or [] if pnpm else []
    except (ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError):
        return ()
    return tuple(pattern.removeprefix("./").rstrip("/") for pattern in patterns if isinstance(pattern, str))


def is_member(folder: str, pattern: str) -> bool:
    """Check whether a folder matches a workspace pattern."""
    is_deep = "**" in pattern or folder.count("/") == pattern.count("/")
    return bool(folder) and FOLDER not in folder.split("/") and is_deep and fnmatch.fnmatchcase(folder, pattern)


def is_name(text: str) -> bool:
    """Check whether a text is a valid package name."""
    return bool(_IS_NAME.fullmatch(text))


def _strip_key(key: str) -> str:
    return key.partition("(")[0].lstrip("/")


def _pnpm_key(alias: str, target: str) -> str:
    """Return the lock's key for a dependency.

    The target of a dependency is a version, or another package with its version.
    """
    target = target.lstrip("/")
    return target if "@" in _strip_key(target)[1:] else f"{alias}@{target}"


def _of_yarn(text: str, manifest: Any) -> Layout:
    if "__metadata:" in text:
        raise UnreadableLock("yarn.lock has the format of yarn 2 or newer, whose hashes are not those of the registry")
    keys, packages, needs = dict[str, str](), dict[str, Locked](), dict[str, dict[str, str]]()
    for block in re.split(r"\n(?=\S)", text):
        head, _, body = block.partition("\n")
        if head.startswith("#") or not head.rstrip().endswith(":"):
            continue
        asked = [descriptor.strip().strip('"') for descriptor in head.rstrip().rstrip(":").split(",")]
        fields = dict(re.findall(r'^  (\w+) "?([^"\n]+)"?$', body, re.MULTILINE))
        first = asked[0]
        alias = re.fullmatch(rf"{_NAME}@npm:({_NAME})(?:@.*)?", first)
        name = alias[1] if alias else first[: first.index("@", 1)]
        resolved = fields.get("resolved", "").partition("#")[0]
        packages[first] = _lock(name, {**fields, "resolved": resolved})
        keys |= dict.fromkeys(asked, first)
        below = re.findall(r"^  (?:d|optionalD)ependencies:\n((?:    .*\n?)+)", body, re.MULTILINE)
        needs[first] = {
            name: f"{name}@{wanted}"
            for name, wanted in re.findall(r'^    "?([^"\s]+)"? "?([^"\n]+)"?$', "".join(below), re.MULTILINE)
        }
    roots = {name: f"{name}@{wanted}" for group in GROUPS for name, wanted in (manifest.get(group) or {}).items()}
    needed_keys = {first: {name: keys.get(key, key) for name, key in wanted.items()} for first, wanted in needs.items()}
    placed, remarks = _lay_out({name: keys.get(key, key) for name, key in roots.items()}, packages, needed_keys)
    return Layout(packages=placed, remarks=remarks)


def _lay_out(
    roots: Mapping[str, str], packages: Mapping[str, Locked], needs: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, Locked], tuple[str, ...]]:
    """Choose locations so that each package finds its dependencies; return the packages by location, and remarks.

    A dependency is placed at the top, unless the package that needs it already finds another version under the same
    name. In that case, the dependency is placed below that package.

    Args:
        roots: the dependencies of the repository, name to key.
        packages: the packages of the lock by key.
        needs: the dependencies of each package by key, name to key.
    """
    keys, missing = dict[str, str](), dict[str, None]()
    waiting = deque([("", roots)])
    while waiting:
        above, wanted = waiting.popleft()
        for alias, key in wanted.items():
            if key not in packages:
                missing[f"{alias[:100]} is required, but the lock does not list it as a package of a registry"] = None
                continue
            if not _IS_NAME.fullmatch(alias):
                raise UnreadableLock(f"{alias[:100]!r} is not a valid package name")
            nearest = next((location for location in _list_visible(above, alias) if location in keys), None)
            if nearest and keys[nearest] == key:
                continue
            location = f"{above}{FOLDER}/{alias}" if nearest else f"{FOLDER}/{alias}"
            if location.count(f"{FOLDER}/") > _DEEPEST or len(keys) >= MOST_PACKAGES:
                raise UnreadableLock("its packages require too many versions of one another")
            keys[location] = key
            waiting.append((f"{location}/", needs[key]))
    return {location: packages[key] for location, key in keys.items()}, tuple(missing)


def _list_visible(above: str, alias: str) -> Iterator[str]:
    """List the locations where a package looks for a dependency, the nearest first.

    Args:
        above: the location of the package with a trailing slash; empty for the repository itself.
        alias: the name of the dependency.
    """
    while above:
        yield f"{above}{FOLDER}/{alias}"
        above = above[: above.rindex(f"{FOLDER}/")]
    yield f"{FOLDER}/{alias}"
