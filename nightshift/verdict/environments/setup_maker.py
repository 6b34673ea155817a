"""Makes the setup part of environments: what the script of a repository leaves, after its owner has agreed to it.

The script runs once for its content, the files that list packages, and the interpreter. What it left is cleaned, kept
read-only, and shown to later runs as `/env`, without a network; a `node_modules` that it made takes the place of one
that was made of a lock.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nightshift.core.code.environments import SetupScript
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount
from nightshift.sandbox.runtime import NODE_MODULES, Runtime
from nightshift.verdict.environments import own_metadata, registries, setup_scripts
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.layers import compile_all
from nightshift.verdict.environments.making import Made, Recipe
from nightshift.verdict.environments.npm_locks import FOLDER
from nightshift.verdict.environments.python import NO_PLUGINS, PythonMaker, Series
from nightshift.verdict.environments.registries import Registries
from nightshift.verdict.environments.registry_proxy import Traffic
from nightshift.verdict.environments.setup_result import Cleaned, clean, modules_of
from nightshift.verdict.environments.setup_run import ENV, SetupRunner
from nightshift.verdict.environments.setup_scripts import FoundScript
from nightshift.verdict.environments.store import remove

_FORMAT = "1"
_ASK_AGAIN_S = 300.0
_NO_SANDBOX = "setup scripts run under bubblewrap alone, and the sandbox of this daemon is another one"


class SetupMaker:
    """Makes the setup parts (`verdict.environments.making.Maker`).

    Args:
        runner: runs the scripts; None where the daemon has no sandbox that can.
        series: the interpreters.
        python: makes the Python part, whose interpreter the script gets.
        environ: where packages are found; all else in it is left out.
        more: what the owner lets scripts reach besides.
    """

    kind = "setup"

    def __init__(
        self,
        runner: SetupRunner | None,
        series: Series,
        python: PythonMaker,
        environ: Mapping[str, str],
        more: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._runner, self._series, self._python = runner, series, python
        self._environ, self._more = dict(environ), more
        self._known: tuple[float, tuple[str, ...], Registries] | None = None

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """The script of a commit; None where there is none."""
        found = setup_scripts.find(files)
        if found is None:
            return None
        python = self._python.recipe(files)
        series = python.parts[1] if python else self._series.usual.series
        parts = (_FORMAT, series, platform.machine(), found.digest, found.made_of)
        reach = self._registries()
        script = SetupScript(
            path=found.path,
            text=found.text,
            digest=found.digest,
            named=tuple(found.named),
            reach=reach.shown,
            remarks=reach.remarks,
        )
        return Recipe(kind=self.kind, texts={found.path: found.text}, parts=parts, script=script, tree=files.whole)

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        """Run the script and keep what it left.

        Raises:
            SandboxError: there is no sandbox for it, or it failed.
        """
        assert recipe.tree, "a script works on files"
        if self._runner is None:
            raise SandboxError(_NO_SANDBOX)
        files = DeclaredFiles(recipe.tree)
        script, reach = _same(files, recipe), await asyncio.to_thread(self._registries)
        runtime = await asyncio.to_thread(self._series.runtime, recipe.parts[1])
        run = folder / "run"
        run.mkdir()
        try:
            places, traffic = await self._runner.run(script, recipe.tree, runtime, reach, run)
            own = modules_of([path.removeprefix(script.folder) for path in files.paths])
            node = places.work / script.folder / FOLDER
            found = await asyncio.to_thread(_kept, (places.env, node), folder, runtime, own)
        finally:
            await asyncio.to_thread(remove, run)
        await compile_all(runtime, folder / "env" / own_metadata.site(runtime.series))
        return _made(found, traffic, reach, runtime)

    async def shown(self, recipe: Recipe, made: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:  # noqa: ARG002 (the interface)
        """The runtime with what the script left; an interpreter of its own only where none was given before."""
        mounts = [*runtime.mounts, Mount(host=folder / "env", inside=ENV)]
        path = [*runtime.path, f"{ENV}/bin"]
        if made.more["node_modules"]:
            mounts = [mount for mount in mounts if mount.inside != NODE_MODULES]
            mounts.append(Mount(host=folder / FOLDER, inside=NODE_MODULES))
            path = list(dict.fromkeys([*path, f"{NODE_MODULES}/.bin"]))
        plugins = [one for one in made.more["plugins"] if one not in NO_PLUGINS]
        words = dict(word.split("=", 1) for word in runtime.python if "=" in word)
        variables = runtime.variables if runtime.executable else (*runtime.variables, *words.items())
        return replace(
            runtime,
            mounts=tuple(mounts),
            path=tuple(path),
            libraries=(*runtime.libraries, f"{ENV}/{own_metadata.site(runtime.series)}"),
            variables=variables,
            plugins=(*runtime.plugins, *(one for one in plugins if one not in runtime.plugins)),
            executable=runtime.executable or f"{ENV}/bin/python",
        )

    def _registries(self) -> Registries:
        """Ask the installers of this machine for their registries, again after some minutes."""
        more, now = tuple(self._more()), time.monotonic()
        if self._known is None or now - self._known[0] > _ASK_AGAIN_S or self._known[1] != more:
            self._known = (now, more, registries.find(self._environ, more))
        return self._known[2]


def _same(files: DeclaredFiles, recipe: Recipe) -> FoundScript:
    found = setup_scripts.find(files)
    if found is None or found.digest != recipe.parts[3]:
        raise SandboxError("the setup script is not the one that was agreed to")
    return found


def _kept(left: tuple[Path, Path], folder: Path, runtime: Runtime, own: frozenset[str]) -> Cleaned:
    """Clean what a script left and move it to its place, with an interpreter that finds it."""
    env, node = left
    site = own_metadata.site(runtime.series)
    found = clean(env, site, node, own)
    own_metadata.begin(env, own_metadata.with_series(runtime.python[-1], runtime.series))
    (env / site / own_metadata.SHOWN).write_text(
        "".join(f"{one}\n" for one in (*runtime.libraries, *runtime.pth_lines))
    )
    env.rename(folder / "env")
    if found.node_modules:
        node.rename(folder / FOLDER)
    return found


def _made(found: Cleaned, traffic: Traffic, reach: Registries, runtime: Runtime) -> Made:
    refused = [f"{what} was refused to the script" for what in list(traffic.refused)[:5]]
    return Made(
        packages=found.packages,
        remarks=(*reach.remarks, *found.remarks, *refused),
        more={
            "interpreter": f"Python {runtime.version}",
            "modules": found.modules,
            "node_modules": found.node_modules,
            "plugins": found.plugins,
            "reached": {name: list(counts) for name, counts in traffic.reached.items()},
            "refused": dict(traffic.refused),
        },
    )
