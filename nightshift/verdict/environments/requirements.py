"""Finds the packages that a change needs, by the imports and the dependency files that it contains."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from nightshift.core.code import javascript
from nightshift.core.code.listing import listing_of
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import read_text
from nightshift.core.tasks.change_checks import ChangeCheckJob
from nightshift.core.tasks.task import Language
from nightshift.verdict.environments import declaring, distributions
from nightshift.verdict.environments.declared_files import over
from nightshift.verdict.environments.distributions import Requirement
from nightshift.verdict.environments.missing_modules import (
    Imported,
    ImportMemory,
    MissingModule,
    MissingModuleFinder,
    imports,
)
from nightshift.verdict.languages.python import package_layout, pytest_settings

# Packages that every test run has, but that a fresh clone of the repository lacks.
_TEST_LIBRARIES = frozenset({"hypothesis", "pytest"})
# Packages that build or check a project; no test run needs them.
_TOOLS = frozenset({
    "black", "build", "flake8", "isort", "mypy", "pip", "pre-commit", "pylint", "ruff", "setuptools", "tox", "twine",
    "wheel",
})  # fmt: skip
# Modules of Node.js that can also be imported without the prefix `node:`.
_NODE = frozenset({
    "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
    "diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net",
    "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream", "string_decoder",
    "sys", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi", "worker_threads", "zlib",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPackage:
    """A missing module, and the distribution that contains it.

    Attributes:
        need: the module and its first import.
        requirement: the distribution; None if it is unknown.
        is_known: false if the distribution is a guess by the module's name.
        written: true if the agent wrote the file that needs the package.
    """

    need: MissingModule
    requirement: Requirement | None
    is_known: bool
    written: bool


class PackageSurvey:
    """Finds the packages that one change needs.

    Args:
        job: the change.
        available: top-level modules that every run has.
        allowed: distributions that the owner named in the settings, by name in normal form.
        memory: caches the imports of files.
    """

    def __init__(
        self,
        job: ChangeCheckJob,
        *,
        available: Collection[str],
        allowed: Mapping[str, Requirement],
        memory: ImportMemory,
    ) -> None:
        self._job, self._available, self._memory = job, available, memory
        self._entries = listing_of(job.tree.entries())
        self._over = {**job.change, **job.own, **job.spec.tests}
        self._paths = over(job.tree, self._over)
        base = {path: self._base_text(path) for path in distributions.declarations(self._entries)}
        self.declared = distributions.list_declared(base)
        self.allowed = self._list_allowed(allowed)

    def wanted(self) -> list[WantedPackage]:
        """List the packages that the change and its tests need, each once.

        A package is needed if a dependency file of the change names it, or if a file of the change imports it. An
        import also counts if it is in another file of the tree that a file of the change imports, directly or
        indirectly.
        """
        job = self._job
        starts = [*job.change, *job.own, *job.spec.tests, *self._conftests()]
        settings = pytest_settings.read(self._text)
        own = package_layout.read(self._text, self._paths)
        folders = (*settings.paths, *own.roots, *package_layout.find_members(self._text, self._paths))
        finder = MissingModuleFinder(
            self._paths,
            self._imports,
            roots=("", "src/", *(f"{path.strip('./')}/" for path in folders if path.strip("./"))),
            available=self._available,
        )
        missing = [self._read_wanted(need) for need in finder.missing(path for path in starts if path in self._paths)]
        imported = {package.requirement.key for package in missing if package.requirement}
        return [
            *missing,
            *(
                package
                for package in self._list_named()
                if package.requirement and package.requirement.key not in imported
            ),
        ]

    def _list_named(self) -> Iterator[WantedPackage]:
        """List packages that the change names in dependency files; they may be needed without an import."""
        for path in distributions.declarations(listing_of(dict.fromkeys(self._over, ""))):
            text = self._over[path] or ""
            for key, each in distributions.list_declared({path: text}).items():
                if key in self.declared or key in _TOOLS or key.replace("-", "_") in self._available:
                    continue
                line = next((n for n, words in enumerate(text.splitlines(), 1) if each.name in words), 0)
                yield self._read_named(each, path, line)

    def _list_named_by_owner(self) -> Iterator[WantedPackage]:
        """List packages that the owner approved or gave to the task; no file has to import them."""
        for name in self._job.spec.packages:
            yield self._read_named(Requirement(name=name), "", 0)

    def _read_named(self, named: Requirement, path: str, line: int) -> WantedPackage:
        """Return a package that the change or the owner named, although no import of it was found.

        The given version counts only if the owner wrote it.
        """
        wanted = self.allowed.get(named.key) or Requirement(name=named.name)
        is_known = named.key in self.allowed or distributions.is_known(named)
        need = MissingModule(module=named.key, names=(), path=path, line=line)
        return WantedPackage(need=need, requirement=wanted, is_known=is_known, written=True)

    def planned(self) -> list[WantedPackage]:
        """List the distributions that a plan names, except those that every run has."""
        asked = (distributions.requirement(name) for name in self._job.wanted)
        new = (each for each in asked if each and each.key.replace("-", "_") not in self._available)
        return [self._read_named(each, "", 0) for each in new]

    def scripts(self, installed: Collection[str] = ()) -> Iterator[MissingModule]:
        """List modules that the agent's JavaScript imports by bare names, and that neither Node.js nor the tree has.

        Args:
            installed: packages that the environment has.
        """
        if self._job.spec.language is not Language.JAVASCRIPT:
            return
        own = {self._name_in(path) for path in self._paths if path.rpartition("/")[2] == "package.json"}
        for path, text in sorted({**self._job.change, **self._job.own}.items()):
            if text is None or not javascript.is_source(path):
                continue
            for name in javascript.specifiers(path, text):
                package = _package(name)
                if package and package not in own and package not in installed and not self._is_vendored(package):
                    yield MissingModule(module=name, names=(), path=path, line=_line_of(text, name))

    def declaring(self, wanted: Iterable[WantedPackage], packages: Mapping[str, str]) -> dict[str, str]:
        """Return the dependency files of the tree, changed so that they declare the packages that the change needs.

        In the owner's repository, only packages that the agent's own files import are added, and no file is created. In
        the workspace, requirements.txt also names the libraries that run the agent's tests, and the packages that the
        owner approved by name.

        Args:
            wanted: the modules that a run without packages lacks, with their distributions.
            packages: the packages of the run, name to exact version.
        """
        versions, is_own = (
            {distributions.normalise(name): version for name, version in packages.items()},
            not self._job.spec.repo,
        )
        named = self._list_named_by_owner() if is_own else ()
        needed = {
            package.requirement.name: versions[package.requirement.key]
            for package in (*wanted, *named)
            if package.requirement and package.requirement.key in versions and (package.written or is_own)
        }
        paths = sorted(distributions.declarations(self._paths))
        files = {path: self._text(path) or "" for path in paths}
        if is_own and declaring.REQUIREMENTS in files:
            imported = {each.module.partition(".")[0] for path in self._job.own for each in self._imports_of(path)}
            needed |= dict.fromkeys(sorted(imported & _TEST_LIBRARIES), "")
        return declaring.with_packages(files, needed, create=is_own and bool(needed), may_pin=is_own) if needed else {}

    def _imports_of(self, path: str) -> list[Imported]:
        return self._imports(path) if path.endswith(".py") else []

    def _read_wanted(self, need: MissingModule) -> WantedPackage:
        source = distributions.source_of(need.module, need.names, self.allowed)
        written = need.path in self._job.change or need.path in self._job.own
        return WantedPackage(
            need=need,
            requirement=source.requirement if source else None,
            is_known=bool(source and source.is_known),
            written=written and need.path not in self._job.spec.tests,
        )

    def _list_allowed(self, allowed: Mapping[str, Requirement]) -> dict[str, Requirement]:
        """Return the distributions that the owner named: in the settings, with the task, or in files of the base."""
        requirements = dict(self.declared)
        task = {distributions.normalise(name): Requirement(name=name) for name in self._job.spec.packages}
        for key, named in {**task, **allowed}.items():
            if named.specifier or key not in requirements:
                requirements[key] = named
        return requirements

    def _conftests(self) -> Iterable[str]:
        tests = [path for path in (*self._job.own, *self._job.spec.tests) if is_test_path(path)]
        folders = {""} | {path[: at + 1] for path in tests for at, char in enumerate(path) if char == "/"}
        return (f"{folder}conftest.py" for folder in sorted(folders))

    def _imports(self, path: str) -> list[Imported]:
        blob = self._entries.get(path)
        before = self._memory.imports(blob, lambda: self._base_text(path)) if blob else []
        if path not in self._over:
            return [self._as_found(each) for each in before]
        imported = imports(self._over[path] or "")
        if path in self._job.spec.tests:
            return imported
        old = {(each.module, each.names) for each in before if each.deferred}
        return [self._as_found(each) if (each.module, each.names) in old else each for each in imported]

    def _as_found(self, each: Imported) -> Imported:
        """Mark an existing import as optional if it is within a function and imports an undeclared package."""
        if not each.deferred or each.optional or each.level:
            return each
        source = distributions.source_of(each.module, each.names, self.allowed)
        declared = source is not None and source.requirement.key in self.allowed
        return each if declared else replace(each, optional=True)

    def _text(self, path: str) -> str | None:
        return self._over[path] if path in self._over else self._base_text(path) if path in self._entries else None

    def _base_text(self, path: str) -> str:
        return read_text(self._job.tree, path)

    def _is_vendored(self, package: str) -> bool:
        return any(f"node_modules/{package}/" in path for path in self._paths)

    def _name_in(self, path: str) -> str:
        try:
            return str(json.loads(self._text(path) or "{}")["name"])
        except (ValueError, KeyError, TypeError):
            return ""


def _package(specifier: str) -> str:
    """Return the package that a bare specifier names; empty for a path, an address or a module of Node.js."""
    if specifier.startswith((".", "/", "#")) or ":" in specifier:
        return ""
    parts = specifier.split("/")
    name = "/".join(parts[:2]) if specifier.startswith("@") else parts[0]
    return "" if name in _NODE else name


def _line_of(text: str, name: str) -> int:
    lines = text.splitlines()
    quoted = (f"'{name}'", f'"{name}"', f"`{name}`")
    return next((number for number, line in enumerate(lines, 1) if any(q in line for q in quoted)), 0)
