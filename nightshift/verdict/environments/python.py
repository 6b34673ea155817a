"""Makes the Python part of environments: wheels of the base's dependencies, and the repository's own package.

uv installs the wheels and checks their hashes. Files that would run automatically are removed, and command-line
programs are generated from the entry points of the wheels. The own package is read from the files of each run, so that
it includes the run's change.
"""

from __future__ import annotations

import asyncio
import configparser
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from nightshift.core.code.listing import Listing
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import WORK, Mount
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments import environment_file, own_metadata
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.distributions import normalise
from nightshift.verdict.environments.layers import compile_all, pins, tame
from nightshift.verdict.environments.locks import (
    LOCKS,
    Declaration,
    Pinned,
    Reader,
    list_included,
    requirement_files,
    without,
)
from nightshift.verdict.environments.making import Made, Recipe
from nightshift.verdict.environments.store import FolderStore, remove
from nightshift.verdict.environments.uv import Uv
from nightshift.verdict.languages.python import package_layout
from nightshift.verdict.languages.python.package_layout import CONFIG_FILES, UNKNOWN_VERSION, OwnPackage
from nightshift.verdict.languages.test_config import LIBRARY_NAMES

INSIDE = "/opt/environments/python"
SITE, OWN = "site", "own"
_NO_PACKAGES = frozenset({"tests", "test", "testing", "docs", "examples", "benchmarks", "scripts"})
_NO_MODULES = frozenset({"setup.py", "conftest.py", "noxfile.py"})
_FORMAT = "1"
NO_PLUGINS = frozenset({
    "xdist", "xdist.looponfail", "pytest_cov", "randomly", "random_order", "sugar", "instafail", "html",
    "rerunfailures", "flakefinder", "testmon", "hypothesispytest", "pytest_forked", "metadata", "codspeed",
    "json_report", "jsonreport", "reportlog", "clarity", "progress", "beartype", "memray", "pytest-pretty",
})  # fmt: skip
"""Pytest plugins that are not loaded. They measure, report, repeat or reorder tests, which a verdict does not need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The available Pythons.

    Attributes:
        usual: the runtime with the default Python.
        others: the series of all other Pythons, such as `3.12`, newest first.
        open: prepares and returns the runtime of another series.
    """

    usual: Runtime
    others: Sequence[str] = ()
    open: Callable[[str], Runtime] = lambda _series: (_ for _ in ()).throw(SandboxError("no other Python is installed"))

    def chosen(self, asked: str, pinned: str) -> str:
        """Return the Python series for a repository.

        A pinned series is used if it is available. Otherwise the default series is used if `requires-python` accepts
        it. If not, the newest accepted series is used, or the default series if none is accepted.

        Args:
            asked: the repository's `requires-python`.
            pinned: the text of its `.python-version`.
        """
        usual = self.usual.series
        if (match := re.match(r"(?:cpython-|python-)?(\d+\.\d+)", pinned.strip())) and match[1] in (
            usual,
            *self.others,
        ):
            return match[1]
        try:
            wanted = SpecifierSet(asked)
        except InvalidSpecifier:
            return usual
        if wanted.contains(self.usual.version, prereleases=True):
            return usual
        return next((series for series in self.others if wanted.contains(f"{series}.99", prereleases=True)), usual)

    def runtime(self, series: str) -> Runtime:
        """Return the runtime of a series, prepared on first use.

        Raises:
            SandboxError: it cannot be prepared.
        """
        return self.usual if series == self.usual.series else self.open(series)


class PythonMaker:
    """Makes the Python part of environments (`verdict.environments.making.Maker`).

    Args:
        store: stores the folders of repositories' own packages.
        uv: resolves and installs.
        series: the interpreters.
    """

    kind = "python"

    def __init__(self, store: FolderStore, uv: Uv, series: Series) -> None:
        self._store, self._uv, self._series = store, uv, series

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """Describe the Python part that the files of a commit declare; None if they declare nothing for Python."""
        named, more = environment_file.packages_of(files)
        folder = files.nearest((*LOCKS, *CONFIG_FILES, "requirements.txt"))
        requirements = [] if folder is None else requirement_files(files.paths, folder)
        if folder is None:
            folder = files.folder
            requirements = requirement_files(files.paths, folder)
            if not requirements and not more:
                return None
        own = _own(files, folder)
        lock = next((f"{location}{name}" for location in dict.fromkeys((folder, "")) for name in LOCKS
                     if f"{location}{name}" in files.paths), None)  # fmt: skip
        texts: dict[str, str] = {}
        waiting = [lock] if lock else list(requirements)
        while waiting:
            path = waiting.pop(0)
            if path not in texts and (text := files.text(path)) is not None:
                texts[path] = text
                waiting += list_included(text, path) if path != lock else ()
        configs = [f"{folder}{name}" for name in CONFIG_FILES if f"{folder}{name}" in files.paths]
        if not texts and not more and not own.name and not own.requires and not own.groups:
            return None
        series = self._series.chosen(own.requires_python, files.text(f"{folder}.python-version") or "")
        stated = json.dumps(
            [own.name, own.requires, dict(own.extras), dict(own.groups), own.requires_python], sort_keys=True
        )
        if configs:
            texts[configs[0]] = stated
        ours = sorted(_ours(self._series.usual).items())
        if more:
            texts[named] = json.dumps(more)
        parts = (
            *(_FORMAT, series, stated, folder, lock or "", json.dumps(requirements), json.dumps(ours)),
            *([named] if more else []),
        )
        return Recipe(kind=self.kind, texts=texts, parts=parts)

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        """Install the wheels of the declared packages.

        Raises:
            Unreachable: the index does not answer.
            SandboxError: the wheels cannot be installed.
        """
        _, series, stated, _, lock, requirements, _, *named = recipe.parts
        name, requires, extras, groups, asked = json.loads(stated)
        own = OwnPackage(name=name, requires=requires, extras=extras, groups=groups, requires_python=asked)
        runtime = await asyncio.to_thread(self._series.runtime, series)
        ours = _ours(runtime)
        reader = Reader(runtime.version, ours)
        if lock:
            declaration = await asyncio.to_thread(reader.of_lock, lock, recipe.texts[lock], own)
        else:
            declaration = await asyncio.to_thread(reader.of_requirements, recipe.texts, json.loads(requirements), own)
        for path in named:
            declaration = reader.with_lines(declaration, json.loads(recipe.texts[path]), path, own)
        if declaration.groups:
            pinned, remarks = await self._uv.resolved(declaration, runtime, ours, own.name)
            declaration = without(replace(declaration, pinned=_together(declaration.pinned, pinned)), (), remarks)
        return await self._install(declaration, runtime, folder, _not_right(asked, runtime))

    async def _install(self, declaration: Declaration, runtime: Runtime, folder: Path, more: tuple[str, ...]) -> Made:
        target = folder / SITE
        target.mkdir()
        there, remarks = await self._uv.install(declaration.pinned, runtime, target) if declaration.pinned else ((), ())
        await asyncio.to_thread(tame, target)
        await asyncio.to_thread(tame_more, target)
        await compile_all(runtime, target)
        scripts, plugins = await asyncio.to_thread(entry_points_in, target)
        modules = sorted(path.name.partition(".")[0] for path in target.iterdir() if not path.name.endswith("-info"))
        return Made(
            packages={package.name: package.version for package in there},
            remarks=(*more, *declaration.remarks, *remarks),
            more={
                "interpreter": f"Python {runtime.version}",
                "series": runtime.series,
                "scripts": scripts,
                "plugins": plugins,
                "modules": modules,
            },
        )

    async def shown(self, recipe: Recipe, note: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:
        """Return the runtime with the wheels, the repository's own package, and another Python if it is needed.

        Raises:
            SandboxError: the Python or the own package cannot be prepared.
        """
        base = await asyncio.to_thread(self._series.runtime, note.more["series"])
        if base.series != runtime.series:
            runtime = replace(base, node=runtime.node, go=runtime.go)
        own, roots, modules = await asyncio.to_thread(_find_own_package, files, recipe.parts[3])
        libraries = (*runtime.libraries, f"{INSIDE}/{SITE}")
        scripts = {
            **note.more["scripts"],
            **own.entry_points.get("console_scripts", {}),
            **own.entry_points.get("gui_scripts", {}),
        }
        texts = own_metadata.files_of(own, modules, runtime.series)
        left = f"{own_metadata.SETUP}/{own_metadata.site(runtime.series)}"
        imported = (WORK, *(f"{WORK}/{root}" for root in roots), *libraries, left, *runtime.pth_lines)
        name = f"{OWN}-{own_metadata.digest(_FORMAT, texts, scripts, imported, runtime.python)}"
        mine = await self._own_folder(name, texts, dict(own_metadata.programs(scripts.items())), imported, runtime)
        site = f"{own_metadata.INSIDE}/{own_metadata.site(runtime.series)}"
        words = dict(word.split("=", 1) for word in runtime.python if "=" in word)
        plugins = [*note.more["plugins"], *own.entry_points.get("pytest11", {})]
        return replace(
            runtime,
            mounts=(*runtime.mounts, Mount(host=folder, inside=INSIDE), Mount(host=mine, inside=own_metadata.INSIDE)),
            libraries=(*libraries, site),
            path=(f"{own_metadata.INSIDE}/bin", f"{INSIDE}/{SITE}/bin", *runtime.path),
            variables=(*runtime.variables, *words.items(), ("VIRTUAL_ENV", own_metadata.INSIDE)),
            roots=(*runtime.roots, *roots),
            executable=own_metadata.PYTHON,
            plugins=(*runtime.plugins, *(plugin for plugin in plugins if plugin not in NO_PLUGINS)),
        )

    async def _own_folder(
        self, name: str, texts: Mapping[str, str], scripts: Mapping[str, str], imported: Iterable[str], runtime: Runtime
    ) -> Path:
        folder = self._store.path(name)
        if folder.is_dir() and self._store.read(name) is not None:
            return folder

        async def fill(building: Path) -> None:
            real = own_metadata.with_series(runtime.python[-1], runtime.series)
            await asyncio.to_thread(own_metadata.write, building, texts, scripts, imported, real)

        async with self._store.lock(name):
            await self._store.build(name, fill)
            await self._store.write(name, {"of": sorted(texts)})
        return folder


def _together(pinned: tuple[Pinned, ...], more: tuple[Pinned, ...]) -> tuple[Pinned, ...]:
    """Return the exact packages `pinned`, and those packages of `more` whose names are not in `pinned`."""
    keys = {package.key for package in pinned}
    return (*pinned, *(package for package in more if package.key not in keys))


def _own(files: DeclaredFiles, folder: str) -> OwnPackage:
    paths = files.paths
    if folder:
        paths = Listing({path.removeprefix(folder): "" for path in paths.below(folder)})
    return package_layout.read(lambda path: files.text(f"{folder}{path}"), paths)


def _find_own_package(files: DeclaredFiles, folder: str) -> tuple[OwnPackage, list[str], list[str]]:
    """Return the repository's own package, the folders that its modules are imported from, and its top modules.

    Folders are relative to the root that a run sees.
    """
    own = _own(files, folder)
    if own.name and own.version == UNKNOWN_VERSION:
        own = replace(own, version=package_layout.tag_version(files.describe))
    below = folder.removeprefix(files.folder) if folder.startswith(files.folder) else None
    if below is None:  # a folder above the project is no part of it
        return OwnPackage(), [], []
    base = below.strip("/")
    start = len(files.folder)
    members = package_layout.find_members(
        lambda path: files.text(f"{files.folder}{path}"), [path[start:] for path in files.paths.below(files.folder)]
    )
    roots = [*([base] if base else []), *(f"{base}/{root}".strip("/") for root in own.roots)]
    roots = list(dict.fromkeys((*roots, *members)))
    inside = {path.removeprefix(folder) for path in files.paths if path.startswith(folder)}
    tops = set[str]()
    for root in own.roots or ("",):
        prefix = f"{root}/" if root else ""
        for path in inside:
            top, _, rest = path.removeprefix(prefix).partition("/")
            if path.startswith(prefix) and path.endswith(".py") and top.removesuffix(".py").isidentifier():
                tops |= {top.removesuffix(".py")} if rest or top not in _NO_MODULES else set()
    mine = re.sub(r"[-.]+", "_", own.name).lower()
    modules = sorted(tops - _NO_PACKAGES) if own.roots else [mine]
    return own, roots, modules


def _ours(runtime: Runtime) -> dict[str, str]:
    """Map the name of each test library of a runtime, in normal form, to its version."""
    return {normalise(name): version for name, _, version in (each.partition("==") for each in pins(runtime))}


def _not_right(asked: str, runtime: Runtime) -> tuple[str, ...]:
    try:
        if not asked or SpecifierSet(asked).contains(runtime.version, prereleases=True):
            return ()
    except InvalidSpecifier:
        return ()
    return (f"the repository asks for Python {asked}, but only Python {runtime.version} is available here",)


def tame_more(folder: Path) -> None:
    """Remove modules with names of test libraries or of our own code, and tests that were packaged by mistake."""
    for path in folder.iterdir():
        name = path.name.partition(".")[0]
        is_ours = name in LIBRARY_NAMES or name.startswith("nightshift_")
        if (is_ours or name in _NO_PACKAGES) and not path.name.endswith("-info"):
            remove(path)


def entry_points_in(folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return the console scripts and the pytest plugins of the distributions in a folder."""
    scripts, plugins = dict[str, str](), list[str]()
    for path in sorted(folder.glob("*.dist-info/entry_points.txt")):
        parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
        parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their letters
        try:
            parser.read_string(path.read_text(encoding="utf-8"))
        except (configparser.Error, ValueError, OSError):
            continue
        for group in ("console_scripts", "gui_scripts"):
            scripts |= dict(parser.items(group)) if parser.has_section(group) else {}
        plugins += [name for name, _ in parser.items("pytest11")] if parser.has_section("pytest11") else []
    return scripts, plugins
