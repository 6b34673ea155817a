"""Makes the setup part of environments: the result of the repository's setup script, after its owner has agreed to it.

The script runs again only after a change of its inputs: its text, the files that it names, the files that list
packages, and the interpreter. It runs in the strong sandbox with a network, as an unprivileged user, on a copy of the
commit's files. It may fill `/env`, which is a virtual environment. Later runs, which have no network, see `/env`
read-only. A `node_modules` that the script made replaces the one that was made from a lock. As with wheels, some files
are removed from the result: those that would run automatically, hide other modules, lead out of the folder, or replace
a program of the system.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import platform
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nightshift.core.code.environments import SetupScript
from nightshift.core.code.tree import Tree
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import WORK, Ended, Mount, SandboxJob, SandboxLimits, SandboxResult
from nightshift.core.text.masking import printable
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.runtime import NODE_MODULES, Runtime
from nightshift.sandbox.trees import lay_out
from nightshift.verdict.environments import own_metadata, registries, setup_scripts
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.layers import compile_all, tame
from nightshift.verdict.environments.making import Made, Recipe
from nightshift.verdict.environments.npm import NOT_THEIRS
from nightshift.verdict.environments.npm_locks import FOLDER
from nightshift.verdict.environments.outbound import START, OutboundProxy, OutboundRun, give_to_jobs
from nightshift.verdict.environments.python import NO_PLUGINS, PythonMaker, Series, entry_points_in, tame_more
from nightshift.verdict.environments.registries import CERTIFICATES, Registries
from nightshift.verdict.environments.setup_scripts import FoundScript
from nightshift.verdict.environments.store import remove

ENV, TMP = own_metadata.SETUP, "/tmp"  # noqa: S108 (inside)
HOME = f"{TMP}/home"
LIMITS = SandboxLimits(
    wall_s=1800.0, cpus=2.0, memory_mb=4096, pids=1024, work_mb=2048, output_bytes=8 << 20, reserved_mb=1 << 16
)
"""Limits of one script; `work_mb` limits the size of a single file."""
MOST_MB = 6144
"""Megabytes of disk that a script may use, both while it runs and for its result."""
MOST_LISTED = 500
_FORMAT = "1"
_ASK_AGAIN_S = 300.0
_LAST_CHARS = 1200
_UV = "/opt/setup/uv"
_NO_SANDBOX = "setup scripts run only under bubblewrap, but this daemon uses another sandbox"
_NEEDS_ROOT = re.compile(r"\b(apt(-get)?|dpkg|sudo|yum|dnf|apk|pacman)\b")


class SetupMaker:
    """Makes the setup part of environments (`verdict.environments.making.Maker`).

    Args:
        sandbox: runs the scripts; None if the daemon has no suitable sandbox.
        uv: the path of uv, which may not exist.
        series: the interpreters.
        python: makes the Python part, whose interpreter the script gets.
        environ: the variables with the package registries; all others are ignored.
        limits: the limits of one script.
        most_mb: megabytes of disk that a script may use.
    """

    kind = "setup"

    def __init__(
        self,
        sandbox: BubblewrapSandbox | None,
        uv: Path,
        series: Series,
        python: PythonMaker,
        environ: Mapping[str, str],
        *,
        limits: SandboxLimits = LIMITS,
        most_mb: float = MOST_MB,
    ) -> None:
        self._sandbox, self._uv, self._series, self._python = sandbox, uv, series, python
        self._environ, self._limits, self._most_mb = dict(environ), limits, most_mb
        self._asked: tuple[float, Registries] | None = None

    def recipe(self, files: DeclaredFiles) -> Recipe | None:
        """Find the script of a commit; None if there is none."""
        script = setup_scripts.find(files)
        if script is None:
            return None
        python = self._python.recipe(files)
        series = python.parts[1] if python else self._series.usual.series
        parts = (_FORMAT, series, platform.machine(), script.digest, script.made_of)
        shown = SetupScript(
            path=script.path,
            text=script.text,
            digest=script.digest,
            named=tuple(script.named),
            remarks=self._registries().remarks,
        )
        return Recipe(
            kind=self.kind, texts={script.path: script.text}, parts=parts, script=shown, tree=files.repository_tree
        )

    async def fill(self, recipe: Recipe, folder: Path) -> Made:
        """Run the script and store its result.

        Raises:
            SandboxError: there is no sandbox for it, or it failed.
        """
        assert recipe.tree, "a script works on files"
        if self._sandbox is None:
            raise SandboxError(_NO_SANDBOX)
        files = DeclaredFiles(recipe.tree)
        script = setup_scripts.find(files)
        if script is None or script.digest != recipe.parts[3]:
            raise SandboxError("the setup script differs from the script that the owner approved")
        runtime = await asyncio.to_thread(self._series.runtime, recipe.parts[1])
        root = folder / "run"
        try:
            refused = await self._run(self._sandbox, script, recipe.tree, runtime, root)
            own = _list_modules([path.removeprefix(script.folder) for path in files.paths])
            content = await asyncio.to_thread(_keep, root, script.folder, folder, runtime, own)
        finally:
            await asyncio.to_thread(remove, root)
        await compile_all(runtime, folder / "env" / own_metadata.site(runtime.series))
        refusals = (f"the script was denied access to {subject}" for subject in refused[:5])
        return replace(content, remarks=(*self._registries().remarks, *content.remarks, *refusals))

    async def shown(self, recipe: Recipe, note: Made, folder: Path, files: DeclaredFiles, runtime: Runtime) -> Runtime:  # noqa: ARG002 (the interface)
        """Return the runtime with the script's result mounted.

        The result's Python becomes the interpreter that tests see, unless another part already provides one.
        """
        mounts = [*runtime.mounts, Mount(host=folder / "env", inside=ENV)]
        path = [*runtime.path, f"{ENV}/bin"]
        if note.more["node_modules"]:
            mounts = [mount for mount in mounts if mount.inside != NODE_MODULES]
            mounts.append(Mount(host=folder / FOLDER, inside=NODE_MODULES))
            path = list(dict.fromkeys([*path, f"{NODE_MODULES}/.bin"]))
        plugins = [plugin for plugin in note.more["plugins"] if plugin not in NO_PLUGINS]
        variables = runtime.variables if runtime.executable else (*runtime.variables, *_words(runtime).items())
        return replace(
            runtime,
            mounts=tuple(mounts),
            path=tuple(path),
            libraries=(*runtime.libraries, f"{ENV}/{own_metadata.site(runtime.series)}"),
            variables=variables,
            plugins=(*runtime.plugins, *(plugin for plugin in plugins if plugin not in runtime.plugins)),
            executable=runtime.executable or f"{ENV}/bin/python",
        )

    def _registries(self) -> Registries:
        """Ask this machine's installers for their registries; the answer is cached for some minutes."""
        now = time.monotonic()
        if self._asked is None or now - self._asked[0] > _ASK_AGAIN_S:
            self._asked = (now, registries.find(self._environ))
        return self._asked[1]

    async def _run(
        self, sandbox: BubblewrapSandbox, script: FoundScript, tree: Tree, runtime: Runtime, root: Path
    ) -> tuple[str, ...]:
        """Run a script to its end, and return the subjects of its refused network requests.

        Afterwards none of the script's processes is left.
        """
        reach = await asyncio.to_thread(self._registries)
        writable = [Mount(host=root / name, inside=inside) for name, inside in _FOLDERS.items()]
        await asyncio.to_thread(self._lay_out, root, tree, runtime, reach)
        mounts = [*runtime.mounts]
        if reach.certificates:
            mounts.append(Mount(host=root / "certificates.pem", inside=CERTIFICATES))
        if (uv := root / "uv").exists():
            mounts.append(Mount(host=uv, inside=_UV))
        proxy = OutboundProxy(reach.endpoints, is_open=True, upstream=reach.upstream)
        run = OutboundRun(sandbox, proxy, writable=writable, most_mb=self._most_mb, who="the setup script")
        result = await run.run(
            lambda channel: SandboxJob(
                argv=(*runtime.python, "-I", "-S", "-B", f"{runtime.inside}/{START}", str(channel)),
                mounts=tuple(mounts),
                limits=self._limits,
            ),
            _order(script, runtime, reach),
        )
        _check(script, result, proxy.refused, self._limits)
        return proxy.refused

    def _lay_out(self, root: Path, tree: Tree, runtime: Runtime, reach: Registries) -> None:
        """Write the folders of a run: the commit's files, an empty environment, and files to mount read-only.

        The jobs' user owns the folders that the script may write to.
        """
        for folder in ("work", "tmp/home", "env"):
            (root / folder).mkdir(parents=True)
        lay_out(tree, root / "work")
        (root / "tmp" / "home" / ".npmrc").write_text(reach.npmrc)
        (root / "certificates.pem").write_text(reach.certificates)
        _begin_environment(root / "env", runtime)
        if self._uv.exists():
            shutil.copy2(self._uv, root / "uv")
            (root / "env" / "bin" / "uv").symlink_to(_UV)
        root.chmod(0o755)
        give_to_jobs([root / name for name in _FOLDERS])


_FOLDERS = {"work": WORK, "tmp": TMP, "env": ENV}
"""The folders that a run may write to, each with its path inside the sandbox."""


def _words(runtime: Runtime) -> dict[str, str]:
    """Return the variables that the interpreter's start command sets by words of the form `NAME=value`."""
    return dict(word.split("=", 1) for word in runtime.python if "=" in word)


def _order(script: FoundScript, runtime: Runtime, reach: Registries) -> bytes:
    """Return the instructions for the program `START`, as JSON: the command, its environment and its folder.

    The command from Cursor's `environment.json` runs in bash, and so does a script without a shebang line.
    """
    environ = {
        **dict(runtime.variables),
        **_words(runtime),
        **reach.variables,
        "PATH": f"{ENV}/bin:/usr/bin:/bin",
        "HOME": HOME,
        "TMPDIR": TMP,
        "LANG": "C.UTF-8",
        "CI": "true",
        "NIGHTSHIFT": "setup",
        "VIRTUAL_ENV": ENV,
        "UV_LINK_MODE": "copy",
        "UV_PYTHON_DOWNLOADS": "never",
        "NPM_CONFIG_PREFIX": ENV,
        "NPM_CONFIG_USERCONFIG": f"{HOME}/.npmrc",
        "GOBIN": f"{ENV}/bin",
        "GOPATH": f"{TMP}/go",
        "DEBIAN_FRONTEND": "noninteractive",
    }
    if runtime.go:
        environ |= {"GOROOT": runtime.go.root, "GOTOOLCHAIN": "local"}
        environ["PATH"] += f":{Path(runtime.go.path).parent}"
    if runtime.node and runtime.node.folder:
        environ["PATH"] += f":{runtime.node.folder}"
    argv = ["/bin/bash", "-c", script.text]
    if script.path.endswith(".sh"):
        path = f"{WORK}/{script.path}"
        argv = [path] if script.text.startswith("#!") else ["/bin/bash", path]
    return json.dumps({"argv": argv, "environ": environ, "folder": f"{WORK}/{script.folder}"}).encode()


def _begin_environment(folder: Path, runtime: Runtime) -> None:
    """Write an empty virtual environment for the sandbox's interpreter, with the daemon's version of pip."""
    site = folder / own_metadata.site(runtime.series)
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    own_metadata.begin(folder, own_metadata.with_series(runtime.python[-1], runtime.series))
    pip = importlib.util.find_spec("pip")
    if pip and pip.origin:
        shutil.copytree(Path(pip.origin).parent, site / "pip", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pip", "pip3"):
            program = folder / "bin" / name
            program.write_text(
                f"#!{ENV}/bin/python\nfrom pip._internal.cli.main import main\nraise SystemExit(main())\n"
            )
            program.chmod(0o755)


def _check(script: FoundScript, result: SandboxResult, refused: Collection[str], limits: SandboxLimits) -> None:
    """Raise `SandboxError` if a script failed, with the end of its output and a hint."""
    if result.ended is Ended.EXITED and result.exit_code == 0:
        return
    why = {
        Ended.TIMEOUT: f"took longer than {limits.wall_s:g} s",
        Ended.OUTPUT_LIMIT: f"wrote more than {limits.output_bytes >> 20} MB to its output",
        Ended.OUT_OF_MEMORY: f"used more than {limits.memory_mb} MB of memory",
    }.get(result.ended, f"ended with {result.exit_code}")
    last = printable(result.stdout[-_LAST_CHARS * 4 :]).strip()[-_LAST_CHARS:]
    out_of_reach = f" The script was denied access to {', '.join(list(refused)[:5])}." if refused else ""
    root = (
        " The script does not run as root, so it cannot install system packages; install them on this machine."
        if _NEEDS_ROOT.search(script.text)
        else ""
    )
    raise SandboxError(f"{script.path} {why}.{out_of_reach}{root} Its last words: {last or 'none'}")


def _keep(root: Path, location: str, folder: Path, runtime: Runtime, own: Collection[str]) -> Made:
    """Clean a script's result, move it to the folder of the part, and describe it.

    The moved environment gets a Python that also finds the libraries of the runtime.

    Args:
        root: the folder of the run.
        location: the folder in the commit where the script ran.
        folder: the folder of the part.
        runtime: the runtime whose interpreter the result is for.
        own: the repository's own top-level modules.
    """
    env, node, site = root / "env", root / "work" / location / FOLDER, own_metadata.site(runtime.series)
    _drop_links_out(env, ENV)
    (env / site).mkdir(parents=True, exist_ok=True)
    remarks = list(_tame(env / site, own))
    (env / "bin").mkdir(exist_ok=True)
    for path in list((env / "bin").iterdir()):
        if NOT_THEIRS.fullmatch(path.name) or path.is_dir():
            remove(path)
    own_metadata.begin(env, own_metadata.with_series(runtime.python[-1], runtime.series))
    (env / site / own_metadata.SHOWN).write_text(
        "".join(f"{path}\n" for path in (*runtime.libraries, *runtime.pth_lines))
    )
    env.rename(folder / "env")
    node_packages = dict[str, str]()
    if node.is_dir() and not node.is_symlink():
        _drop_links_out(node, f"{WORK}/{location}{FOLDER}", root / "work")
        node_packages = dict(_list_node_packages(node))
    if node_packages:
        node.rename(folder / FOLDER)
    names = [path.name for path in sorted((folder / "env" / site).iterdir())]
    infos = (name.removesuffix(".dist-info").partition("-") for name in names if name.endswith(".dist-info"))
    packages = {name: version for name, _, version in infos}
    return Made(
        packages=dict(list({**packages, **node_packages}.items())[:MOST_LISTED]),
        remarks=tuple(remarks),
        more={
            "interpreter": f"Python {runtime.version}",
            "modules": sorted({name.partition(".")[0] for name in names if not name.endswith("-info")}),
            "node_modules": sorted(node_packages),
            "plugins": entry_points_in(folder / "env" / site)[1],
        },
    )


def _tame(site: Path, own: Collection[str]) -> Iterator[str]:
    """Remove files that runs must not see, and yield a remark with their names.

    Our own copy of pip is removed as well, but not named.
    """
    for path in (site / "pip", *site.glob("pip-*.dist-info")):
        remove(path)
    before = {path.name for path in site.iterdir()} - {"__pycache__", "bin"}
    for origin in site.glob("*.dist-info/direct_url.json"):
        if f"file://{WORK}" in origin.read_text(encoding="utf-8", errors="replace"):
            remove(origin.parent)
    for path in list(site.iterdir()):
        if path.name.partition(".")[0] in own and not path.name.endswith("-info"):
            remove(path)
    tame(site)
    tame_more(site)
    if gone := sorted(before - {path.name for path in site.iterdir()}):
        yield f"removed from the files that the script left: {', '.join(gone[:20])}"


def _drop_links_out(folder: Path, inside: str, work: Path | None = None) -> None:
    """Remove pipes, sockets, devices, and links that lead out of a folder; links that stay inside become relative.

    Args:
        folder: the script's result.
        inside: the path of this folder inside the sandbox of the script.
        work: the copy of the commit's files; links to these files stay, with their targets below `WORK`.
    """
    entries = [Path(root, name) for root, folders, files in os.walk(folder) for name in (*folders, *files)]
    links = [path for path in entries if path.is_symlink()]
    for path in entries:
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
            path.unlink()
    for path in links:
        target = str(path.readlink())
        if target.startswith(f"{inside}/"):
            path.unlink()
            path.symlink_to(os.path.relpath(folder / target.removeprefix(f"{inside}/"), path.parent))
    for path in links:
        try:
            there = Path("/") if path.readlink().is_absolute() else path.resolve(strict=True)
        except (OSError, RuntimeError):  # dangling, or a loop
            there = Path("/")
        if path.parent.name == ".bin" and NOT_THEIRS.fullmatch(path.name):
            path.unlink()
        elif not there.is_relative_to(folder.resolve()):
            path.unlink()
            if work and there.is_relative_to(work.resolve()):
                path.symlink_to(f"{WORK}/{there.relative_to(work.resolve())}")


def _list_node_packages(node: Path) -> Iterator[tuple[str, str]]:
    for path in sorted([*node.glob("[!.@]*"), *node.glob("@*/*")]):
        try:
            version = json.loads((path / "package.json").read_text(encoding="utf-8"))["version"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        yield str(path.relative_to(node)), str(version)[:80]


def _list_modules(paths: Collection[str]) -> frozenset[str]:
    """Return the modules that a repository has at its root or in `src`."""
    modules = set[str]()
    for path in paths:
        parts = path.removeprefix("src/").split("/")
        if len(parts) == 1 and path.endswith(".py"):
            modules.add(parts[0].removesuffix(".py"))
        elif len(parts) == 2 and parts[1] == "__init__.py":
            modules.add(parts[0])
    return frozenset(modules) - {FOLDER, "setup", "conftest"}
