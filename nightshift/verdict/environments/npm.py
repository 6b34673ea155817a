"""Makes the npm part of environments: a `node_modules` with the packages that the base declares, installed with npm.

npm receives a lock that we generate from the name, version and hash of each package. So npm follows no address from the
repository and applies no setting of its `.npmrc`. Where the base has no lock, npm first chooses the versions. Package
scripts do not run. We link the programs ourselves, each to a file of its own package. Node.js finds `node_modules` from
everywhere, because it is mounted at the root of the sandbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightshift.core.code.javascript import is_source
from nightshift.core.code.listing import last_of
from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.isolation import WORK
from nightshift.sandbox import orphans
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.making import Made, Recipe
from nightshift.verdict.environments.npm_locks import (
    FOLDER,
    GROUPS,
    LOCKS,
    Layout,
    UnreadableLock,
    is_below,
    is_member,
    is_name,
    read,
    workspaces,
)
from nightshift.verdict.environments.store import limit_size, remove
from nightshift.verdict.environments.wheels import INSTALL_S, Unreachable, call, installers_environment

MOST_MB = 3072
MOST_LEFT_OUT = 20
MANIFEST = "package.json"
_FORMAT = "1"
_WORDS = (
    "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier", "--include=dev",
    "--include=optional", "--include=peer", "--no-global", "--no-dry-run", "--install-strategy=hoisted",
    "--allow-git=none",
)  # fmt: skip
_INSTALL = ("ci", "--no-bin-links", "--legacy-peer-deps", *_WORDS)
_CHOOSE = ("install", "--package-lock-only", "--force", *_WORDS)
"""`--force` accepts peer dependencies that contradict one another, as many repositories have them."""
_AWAY = re.compile(r"code (ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ERR_SOCKET\w*|E5\d\d|FETCH_ERROR|EIDLETIMEOUT)")
_WANTED = re.compile(r"wanted (sha\d+-[A-Za-z0-9+/=]+)")
_NOT_FOUND = re.compile(
    r"No matching version found for (\S+)@(\S+?)\.?\s"
    r"|404\s+(?:The requested resource )?'?((?:@[^/\s]+/)?[^@/\s']+)@([^\s']+)'"
)
_OF_REGISTRY = re.compile(r"(npm:(@[^/@\s]+/)?[^/@:\s]+@)?[^/:]*")
"""A version range or a tag; not an address, a folder, or a repository such as `owner/name`."""
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
NOT_THEIRS = re.compile(r"(node(js)?|npm|npx|python[\d.]*|pip[\d.]*|pytest|uv|git|go|gofmt|env|make|cargo|[a-z]*sh)")
"""Names of programs that always mean the system's programs; packages cannot replace them."""


class NpmMaker:
    """Makes the npm part of environments (`verdict.environments.making.Maker`).

    Args:
        environ: the variables with the registry; all others are ignored.
    """

    kind = "npm"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {**installers_environment(environ), "NO_COLOR": "1"}

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """Read the lock of a commit, or its `package.json` where it has no lock, and its workspace members.

        The result is None if the commit declares no packages and has no members, or has no JavaScript.
        """
        folder = files.nearest(LOCKS)
        folder = files.nearest((MANIFEST,)) if folder is None else folder
        if folder is None or not any(map(is_source, files.paths.below(folder))):
            return None
        name = next((name for name in (*LOCKS, MANIFEST) if f"{folder}{name}" in files.paths), "")
        members = _find_members(files)
        text = files.text(f"{folder}{name}")
        if text is not None and name == MANIFEST:
            manifests = [text, *(files.text(f"{files.folder}{at}/{MANIFEST}") for at in members.values())]
            text = _merge_wanted(manifests, members)
        if text is None or (name == MANIFEST and text == _NOTHING and not members):
            return None
        manifest = _choose_wanted(files.text(f"{folder}{MANIFEST}")) if name == "yarn.lock" else ""
        more = (json.dumps(members, sort_keys=True),) if members else ()
        parts = (_FORMAT, platform.system(), platform.machine(), name, manifest, *more)
        return Recipe(kind=self.kind, texts={f"{folder}{name}": text}, parts=parts)

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        """Install the packages. An unusable lock gives an empty folder and a remark with the reason.

        Raises:
            Unreachable: the registry does not answer.
            SandboxError: npm is not installed here.
        """
        target = folder / FOLDER
        (text,), (_, _, _, name, manifest, *listed) = recipe.texts.values(), recipe.parts
        members = {name: folder for each in listed for name, folder in json.loads(each).items()}
        remarks = tuple[str, ...]()
        try:
            if name == MANIFEST:
                text, remarks = await self._choose_versions(json.loads(text), folder)
            layout = await asyncio.to_thread(read, name, text, manifest)
            remarks += layout.remarks
            layout = replace(layout, links={**members, **layout.links}, remarks=remarks)
            layout = await self._install(layout, target)
        except (UnreadableLock, _Impossible) as error:
            await asyncio.to_thread(remove, target)
            return Made(remarks=(*remarks, f"{error}; nothing is installed"))
        programs = await asyncio.to_thread(_link, target, layout)
        there = await asyncio.to_thread(_at_top, target, layout)
        more = {"node_modules": sorted({*there, *layout.links}), "programs": programs}
        return Made(packages=there, remarks=layout.remarks, more=more)

    async def shown(
        self, _recipe: Recipe, note: Made, folder: Path, _files: DeclaredFiles, runtime: Runtime
    ) -> Runtime:
        """Return the runtime with the packages mounted, if there are any."""
        return runtime.with_modules(folder / FOLDER) if note.more else runtime

    async def _choose_versions(self, wanted: Mapping[str, str], folder: Path) -> tuple[str, tuple[str, ...]]:
        """Let npm choose the versions of packages, as it does for a repository without a lock.

        Args:
            wanted: names of packages, each with a version range.
            folder: the folder of the environment.

        Returns:
            The text of npm's lock, and remarks on the packages that are left out.
        """
        asked = {name: each for name, each in wanted.items() if is_name(name) and _OF_REGISTRY.fullmatch(each)}
        others = wanted.keys() - asked.keys()
        remarks = [f"{name[:100]} does not come from a registry; it is left out" for name in sorted(others)]
        while asked:
            with tempfile.TemporaryDirectory(prefix=orphans.prefix("npm"), dir=folder.parent) as scratch:
                output = await self._call(_CHOOSE, Path(scratch), {MANIFEST: {**_OWN, "dependencies": asked}})
                if not output:
                    return await asyncio.to_thread(Path(scratch, "package-lock.json").read_text), tuple(remarks)
            match = _NOT_FOUND.search(output)
            absent = match and (match[1] or match[3])
            if absent not in asked or len(remarks) >= MOST_LEFT_OUT:
                raise _Impossible(f"npm failed: {output[:300]}")
            remarks.append(f"{absent} {asked.pop(absent)[:40]} is not in the registry; it is left out")
        return _EMPTY_LOCK, tuple(remarks)

    async def _install(self, layout: Layout, target: Path) -> Layout:
        """Install the packages of a layout, and return the layout with the packages that were installed.

        A package is left out with a remark if the registry does not have it, or if its content there does not match the
        lock.
        """
        left = MOST_LEFT_OUT
        while layout.packages:
            with tempfile.TemporaryDirectory(prefix=orphans.prefix("npm"), dir=target.parent.parent) as scratch:
                manifest, lock = write_manifest(layout)
                files = {MANIFEST: manifest, "package-lock.json": lock}
                output = await self._call(_INSTALL, Path(scratch), files)
                if not output:
                    await asyncio.to_thread(_keep, Path(scratch, FOLDER), target)
                    break
            blamed = _find_blamed(output, layout)
            if blamed is None or not left:
                raise _Impossible(f"npm failed: {output[:300]}")
            left -= 1
            layout = layout.without(*blamed)
        return layout

    async def _call(self, words: Sequence[str], scratch: Path, files: Mapping[str, Any]) -> str:
        """Call npm in a folder with these files; return its error, or an empty text if there is none."""
        npm = shutil.which("npm", path=self._environ.get("PATH"))
        if npm is None:
            raise SandboxError("npm, which installs JavaScript packages, is missing on this machine")
        await asyncio.to_thread(_write, scratch, files)
        try:
            work = call([npm, *words], self._environ, INSTALL_S, scratch)
            done = await limit_size(work, scratch / FOLDER, MOST_MB)
        except TimeoutError:
            raise Unreachable(f"the npm registry took longer than {INSTALL_S:g} s") from None
        except SandboxUnready:
            raise
        except SandboxError as error:
            raise _Impossible(str(error)) from error
        if done.code == 0:
            return ""
        output = " ".join(line.removeprefix("npm error ") for line in done.stderr.splitlines())
        if _AWAY.search(output):
            raise Unreachable(f"the npm registry does not answer: {output[:300]}")
        return output or f"npm ended with {done.code}"


class _Impossible(Exception):
    """Raised if packages cannot be installed."""


_OWN = {"name": "environment", "version": "0.0.0", "private": True}
_NOTHING, _EMPTY_LOCK = "{}", '{"packages": {}}'


def write_manifest(layout: Layout) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the `package.json` and the lock for npm.

    In this lock, a package is required only by the package whose folder contains it. So npm finds nothing to add,
    change or leave out, whatever the packages declare about one another.
    """
    own: dict[str, Any] = {**_OWN}
    entries: dict[str, Any] = {"": own}
    for location, package in sorted(layout.packages.items(), key=lambda item: item[0].count(f"{FOLDER}/")):
        above, _, alias = f"/{location}".rpartition(f"/{FOLDER}/")
        if above.lstrip("/") not in entries:
            continue  # its parent package was left out
        entry: dict[str, Any] = {"version": package.version, "integrity": package.integrity, **package.limits}
        entry |= {"name": package.name} if package.name != alias else {}
        entry |= {"resolved": f"https://registry.npmjs.org/{package.archive}"} if package.is_public else {}
        entry |= {"optional": True} if package.optional else {}
        entries[location] = entry
        group = "optionalDependencies" if package.optional else "dependencies"
        wanted = package.version if package.name == alias else f"npm:{package.name}@{package.version}"
        entries[above.lstrip("/")].setdefault(group, {})[alias] = wanted
    return own, {**own, "lockfileVersion": 3, "requires": True, "packages": entries}


def _find_members(files: DeclaredFiles) -> dict[str, str]:
    """Return the packages of an npm, yarn or pnpm workspace: name to folder, as a run sees it."""
    patterns = workspaces(files.text(f"{files.folder}package.json"), files.text(f"{files.folder}pnpm-workspace.yaml"))
    members = dict[str, str]()
    for path in files.paths.having(last_of, "package.json") if patterns else ():
        folder = path.removeprefix(files.folder).rpartition("/")[0]
        if path.startswith(files.folder) and any(is_member(folder, pattern) for pattern in patterns):
            try:
                name = str(json.loads(files.text(path) or "{}")["name"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            members |= {name: folder} if is_name(name) else {}
    return members


def _choose_wanted(manifest: str | None) -> str:
    """Return the part of a `package.json` that decides what is installed, as JSON text."""
    try:
        content = json.loads(manifest or "{}")
        return json.dumps({group: content[group] for group in GROUPS if content.get(group)}, sort_keys=True)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return _NOTHING


def _merge_wanted(manifests: Iterable[str | None], members: Collection[str]) -> str:
    """Return the packages that several `package.json` ask for, without the repository's own, as JSON text.

    If several of them name a package, the first one counts.
    """
    wanted = dict[str, str]()
    for manifest in manifests:
        for listed in json.loads(_choose_wanted(manifest)).values():
            for name, version in listed.items() if isinstance(listed, dict) else ():
                if name not in members:
                    wanted.setdefault(name, str(version))
    return json.dumps(wanted, sort_keys=True)


def _find_blamed(output: str, layout: Layout) -> tuple[str, str] | None:
    """Return the location of the package that npm could not install, and the reason; None if it is not clear."""
    if match := _WANTED.search(output):
        return _first(layout, lambda package: match[1] in package.integrity, "does not match the hash in its lock")
    if match := _NOT_FOUND.search(output):
        name, version = match[1] or match[3], match[2] or match[4]
        return _first(
            layout,
            lambda package: (package.name, package.version) == (name, version.rstrip(".")),
            "is not in the registry",
        ) or _first(layout, lambda package: package.archive in output, "is not in the registry")
    return _first(layout, lambda package: "E404" in output and package.archive in output, "is not in the registry")


def _first(layout: Layout, fits: Any, why: str) -> tuple[str, str] | None:
    return next(((location, why) for location, package in layout.packages.items() if fits(package)), None)


def _write(folder: Path, files: Mapping[str, Any]) -> None:
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))


def _keep(source: Path, target: Path) -> None:
    """Move npm's `node_modules` to its target, without links and anything else that is neither a file nor a folder.

    Raises:
        OSError: it cannot be moved.
    """
    if not source.is_dir():
        return
    for root, folders, names in os.walk(source):
        for name in (*folders, *names):
            path = Path(root, name)
            kind = path.lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                path.unlink()
    remove(source / ".bin")
    source.rename(target)


def _at_top(target: Path, layout: Layout) -> dict[str, str]:
    """Return the packages that the repository's code can import, name to version."""
    tops = {location.removeprefix(f"{FOLDER}/"): package.version for location, package in layout.packages.items()}
    return {name: version for name, version in tops.items() if (target / name).is_dir() and f"/{FOLDER}/" not in name}


def _link(target: Path, layout: Layout) -> list[str]:
    """Link the programs of the top-level packages, and the repository's own packages. Return the programs."""
    programs = target / ".bin"
    programs.mkdir(parents=True)
    paths_by_name = dict[str, str]()
    for location in sorted(layout.packages):
        if f"/{FOLDER}/" not in location:
            for name, path in _programs(target.parent / location):
                paths_by_name.setdefault(name, f"../{location.removeprefix(f'{FOLDER}/')}/{path}")
                (target.parent / location / path).chmod(0o755)
    for name, path in paths_by_name.items():
        (programs / name).symlink_to(path)
    for name, folder in layout.links.items():
        link = target / name
        if not link.exists() and is_below(folder):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"{WORK}/{folder}")
    return sorted(paths_by_name)


def _programs(package: Path) -> Iterator[tuple[str, str]]:
    """Yield each program that a package declares: its name, and the path of its file in the package."""
    try:
        manifest = json.loads((package / "package.json").read_text(encoding="utf-8"))
        named = manifest.get("bin") or {}
        listed = {package.name: named} if isinstance(named, str) else dict(named)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return
    for name, path in listed.items():
        short = str(name).rpartition("/")[2]
        inside = str(path).removeprefix("./")
        if not _PROGRAM.fullmatch(short) or NOT_THEIRS.fullmatch(short) or not is_below(inside):
            continue
        if (package / inside).is_file():
            yield short, inside
