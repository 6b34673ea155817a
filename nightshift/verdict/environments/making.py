"""Finds the environments that commits declare, makes them once, and mounts them in runs.

An environment has one part for each kind of declaration, such as Python packages or services. A part is made by the
maker of its kind, in a folder whose name contains the digest of the part's inputs. So a change of one declaration
rebuilds no other part, and repositories with the same declarations share a folder.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

from nightshift.core.code.environments import NO_ENVIRONMENT, Environment, MadeEnvironment, Making, SetupScript
from nightshift.core.code.tree import Tree
from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.shell import ShellJob
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.layers import LayerStore, with_packages
from nightshift.verdict.environments.store import FolderStore, notes_in, remove

REMEMBERED = 64
KEEP_MB = 8192
"""Megabytes that all environments together may use."""


@dataclass(frozen=True, kw_only=True)  # No slots: the cached name needs `__dict__`.
class Recipe:
    """A description of a part of an environment, from which the part can be made.

    Attributes:
        kind: the kind of the part, which selects the maker.
        texts: the texts that declare the part, by path in the repository.
        parts: further inputs, such as the interpreter's version and the maker's format.
        script: the setup script, which runs only with the owner's consent.
        tree: the files that the script works on.
    """

    kind: str
    texts: Mapping[str, str]
    parts: tuple[str, ...] = ()
    script: SetupScript | None = field(default=None, compare=False)
    tree: Tree | None = field(default=None, compare=False, repr=False)

    @cached_property
    def name(self) -> str:
        """The name of the part's folder: the kind, and the digest of all inputs that determine the content."""
        words = [f"{path}\0{text}" for path, text in sorted(self.texts.items())]
        digest = hashlib.sha256("\0\0".join((self.kind, *self.parts, *words)).encode("utf-8", "surrogatepass"))
        return f"{self.kind}-{digest.hexdigest()[:24]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A maker's note on a folder that it filled; stored beside the folder.

    Attributes:
        packages: the installed packages, name to exact version.
        remarks: lines for the owner on what was left out, and why.
        more: further data that the maker needs to mount the folder, as JSON.
    """

    packages: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


class Maker(Protocol):
    """Builds the folders of one kind of environment, such as Python packages, from the declarations in a commit."""

    @property
    def kind(self) -> str:
        """The kind of the parts, which is the prefix of the names of their folders."""
        ...

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """Describe the part that the files of a commit declare; None if they declare nothing of this kind."""
        ...

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        """Make a part by filling its folder, which is read-only afterwards.

        Raises:
            SandboxError: the part cannot be made.
        """
        ...

    async def shown(self, recipe: Recipe, note: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:
        """Return the runtime with the part mounted.

        Args:
            recipe: the description of the part.
            note: the maker's note on the part's folder.
            folder: the part's folder.
            files: the files of the run, with its change.
            runtime: the runtime to extend.

        Raises:
            SandboxError: the part cannot be mounted.
        """
        ...


class Environments:
    """Finds, makes and mounts environments.

    Args:
        store: stores the folders of the parts.
        makers: one per kind. The first may replace the interpreter; the others extend the runtime that they receive.
        agreed: checks whether the owner agreed to a setup script, by its digest.
    """

    def __init__(
        self, store: FolderStore, makers: Sequence[Maker], agreed: Callable[[str], bool] = lambda _digest: False
    ) -> None:
        self._store, self._makers, self._agreed = store, tuple(makers), agreed
        self._recipes_by_commit: OrderedDict[str, tuple[Recipe, ...]] = OrderedDict()

    async def of(self, tree: Tree) -> Environment:
        """Return the environment that the tree of a commit declares.

        Nothing is made. A setup script without the owner's consent is left out, and returned as `unasked`.
        """
        recipes = await self._recipes(tree)
        unasked = [recipe for recipe in recipes if not self._may_run(recipe)]
        environment = _of([recipe for recipe in recipes if recipe not in unasked])
        return replace(environment, unasked=unasked[0].script if unasked else None)

    def _may_run(self, recipe: Recipe) -> bool:
        return recipe.script is None or self._agreed(recipe.script.digest)

    async def declares(self, tree: Tree, digest: str) -> bool:
        """Check whether a digest stands for all parts that the tree declares, or for a subset of these parts."""
        return any(_of(some).digest == digest for some in _choices(await self._recipes(tree)))

    async def make(self, tree: Tree, environment: Environment) -> Making:
        """Make the missing parts of an environment. A part that fails does not stop the others.

        Raises:
            SandboxError: no part can be made, or the tree declares another environment.
            SandboxUnready: a program that makes a part was ended from outside.
        """
        there, new, failed = list[Recipe](), set[str](), list[str]()
        last: SandboxError | None = None
        for recipe in await self._of_digest(tree, environment.digest):
            try:
                _, is_new = await self._make_or_read(recipe)
            except SandboxUnready:
                raise
            except SandboxError as error:
                last = error
                failed.append(f"{', '.join(recipe.texts)}: {error}")
                continue
            there.append(recipe)
            new |= {recipe.name} if is_new else set()
        if last and not there:
            raise last
        new_parts = tuple(part for part in self.list_parts() if part.name in new) if new else ()
        return Making(environment=_of(there), new=new_parts, failed=tuple(failed))

    async def runtime_for(self, runtime: Runtime, tree: Tree, digest: str, change: Change | None = None) -> Runtime:
        """Return a runtime with an environment, which is made if it is missing.

        Args:
            runtime: the runtime to extend.
            tree: the base of the run.
            digest: the digest of the environment; empty for none.
            change: the change on top of the base.

        Raises:
            SandboxError: the environment cannot be made, or the tree declares another environment.
        """
        if not digest:
            return runtime
        files = DeclaredFiles(tree, change)
        for recipe in await self._of_digest(tree, digest):
            note, _ = await self._make_or_read(recipe)
            runtime = await self._maker(recipe).shown(recipe, note, self._store.path(recipe.name), files, runtime)
        return runtime

    async def _of_digest(self, tree: Tree, digest: str) -> tuple[Recipe, ...]:
        recipes = await self._recipes(tree)
        for some in _choices(recipes):
            if _of(some).digest == digest:
                return some
        sources = ", ".join(_of(recipes).sources) or "nothing"
        raise SandboxError(f"the tree does not declare environment {digest[:12]}; it declares {sources}")

    async def _recipes(self, tree: Tree) -> tuple[Recipe, ...]:
        key = tree.commit
        if key not in self._recipes_by_commit:
            files = DeclaredFiles(tree)
            recipes = await asyncio.to_thread(lambda: [maker.recipe(files) for maker in self._makers])
            self._recipes_by_commit[key] = tuple(recipe for recipe in recipes if recipe)
            while len(self._recipes_by_commit) > REMEMBERED:
                self._recipes_by_commit.popitem(last=False)
        return self._recipes_by_commit[key]

    def _maker(self, recipe: Recipe) -> Maker:
        return next(maker for maker in self._makers if maker.kind == recipe.kind)

    async def _make_or_read(self, recipe: Recipe) -> tuple[Made, bool]:
        """Return the note of a part, and whether this call made the part.

        Concurrent callers make a part only once.
        """
        if (content := self._read_note(recipe)) is not None:
            return content, False
        async with self._store.lock(recipe.name):
            if (content := self._read_note(recipe)) is not None:
                return content, False
            contents = list[Made]()

            if not self._may_run(recipe):
                raise SandboxError(f"{', '.join(recipe.texts)} does not run, because the owner has not approved it")

            async def fill(folder: Path) -> None:
                contents.append(await self._maker(recipe).fill(recipe, folder))

            # A folder without a note is removed, because its content is unknown.
            await asyncio.to_thread(remove, self._store.path(recipe.name))
            await self._store.build(recipe.name, fill)
            note = {"kind": recipe.kind, "sources": sorted(recipe.texts), **asdict(contents[0])}
            await self._store.write(recipe.name, note)
            return contents[0], True

    def _read_note(self, recipe: Recipe) -> Made | None:
        """Read the note of a folder; None if the note or the folder is missing."""
        note = self._store.read(recipe.name) if self._store.path(recipe.name).is_dir() else None
        try:
            return Made(packages=note["packages"], remarks=tuple(note["remarks"]), more=note["more"]) if note else None
        except (KeyError, TypeError):
            return None

    async def modules(self, tree: Tree, digest: str, of: str = "modules") -> frozenset[str]:
        """Return the top-level modules of an environment; raises the errors of `make`.

        Args:
            tree: the base.
            digest: the digest of the environment; empty for none.
            of: `modules` for Python modules, or `node_modules` for JavaScript packages.
        """
        contents = (
            [await self._make_or_read(recipe) for recipe in await self._of_digest(tree, digest)] if digest else []
        )
        return frozenset(name for content, _ in contents for name in content.more.get(of, ()))

    def list_parts(self) -> list[MadeEnvironment]:
        """List the parts on disk, most recently used first."""
        return list_made(self._store.path(""))

    def sweep(self, keep_mb: float | None = None) -> None:
        """Remove parts unused for long, and the least recently used parts above the size limit."""
        self._store.sweep(keep_mb)


def _of(recipes: Sequence[Recipe]) -> Environment:
    """Return the environment that consists of these parts."""
    if not recipes:
        return NO_ENVIRONMENT
    digest = hashlib.sha256("\0".join(recipe.name for recipe in recipes).encode()).hexdigest()[:24]
    sources = dict.fromkeys(path for recipe in recipes for path in recipe.texts)
    return Environment(digest=digest, sources=tuple(sources))


def _choices(recipes: tuple[Recipe, ...]) -> Iterator[tuple[Recipe, ...]]:
    """List all subsets of the parts except the empty one, the largest first."""
    for count in range(len(recipes), 0, -1):
        yield from combinations(recipes, count)


def list_made(folder: Path) -> list[MadeEnvironment]:
    """List the parts of environments in a store's folder, most recently used first."""
    return [
        MadeEnvironment(
            name=part.name,
            kind=part.note.get("kind", ""),
            sources=tuple(part.note.get("sources", ())),
            interpreter=part.note.get("more", {}).get("interpreter", ""),
            packages=part.note.get("packages", {}),
            remarks=tuple(part.note.get("remarks", ())),
            services=tuple(part.note.get("more", {}).get("services", ())),
            used_at=part.used_at,
            size_bytes=part.size_bytes,
        )
        for part in notes_in(folder)
        if isinstance(part.note, dict) and "kind" in part.note
    ]


async def runtime_of(
    runtime: Runtime, job: SuiteJob | ShellJob, *, layers: LayerStore | None, environments: Environments | None
) -> Runtime:
    """Return a runtime with the environment, the variables and the allowed packages of a job.

    Raises:
        SandboxError: there is no store for the environment or the packages, or they cannot be made.
    """
    from nightshift.verdict.environments.variables import read_variables  # noqa: PLC0415 - brings pydantic

    declared = await asyncio.to_thread(read_variables, DeclaredFiles(job.base))
    runtime = replace(runtime, variables=(*declared.items(), *runtime.variables))
    if job.environment:
        if environments is None:
            raise SandboxError("the run needs an environment, but this run has no environment store")
        runtime = await environments.runtime_for(runtime, job.base, job.environment, job.change)
    return await with_packages(runtime, layers, job.packages)
