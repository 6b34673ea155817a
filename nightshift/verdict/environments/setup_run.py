"""Runs a setup script in a sandbox of its own, from which package registries can be reached and nothing else.

It is the strong sandbox with three differences: the working folder, `/tmp` and the target `/env` lie on the disk and
may be written to, its limits are those of an installation, and a socket of its otherwise empty network is answered by
`verdict.environments.registry_proxy`. The working folder is a copy of the commit's files. `/env` is a virtual
environment with pip and, where it is there, uv; programs that are installed there are found first. There is no home, no
secret, no root, and nothing of an earlier run.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.code.tree import Tree
from nightshift.core.errors import SandboxError
from nightshift.core.isolation import WORK, Ended, Mount, SandboxJob, SandboxLimits, SandboxResult
from nightshift.core.text.masking import printable
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.runtime import Runtime
from nightshift.sandbox.trees import lay_out
from nightshift.verdict.environments import own_metadata, proxied
from nightshift.verdict.environments.proxied import ProxiedRun
from nightshift.verdict.environments.registries import CERTIFICATES, Registries
from nightshift.verdict.environments.registry_proxy import RegistryProxy, Traffic
from nightshift.verdict.environments.setup_scripts import FoundScript

ENV, TMP = own_metadata.SETUP, "/tmp"  # noqa: S108 (inside)
HOME = f"{TMP}/home"
_UV = "/opt/setup/uv"
LIMITS = SandboxLimits(
    wall_s=1800.0, cpus=2.0, memory_mb=4096, pids=1024, work_mb=2048, output_bytes=8 << 20, reserved_mb=1 << 16
)
"""Of one script; `work_mb` is what a single file may hold."""
MOST_MB = 6144
"""Limits of what a script may leave and take on the disk while it runs."""
_LAST_CHARS = 1200
_NEEDS_ROOT = re.compile(r"\b(apt(-get)?|dpkg|sudo|yum|dnf|apk|pacman)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders of one run on the host: what is seen inside as `/work`, `/tmp` and `/env`."""

    root: Path

    @property
    def work(self) -> Path:
        """The copy of the commit's files."""
        return self.root / "work"

    @property
    def tmp(self) -> Path:
        """For temporary files, with the home."""
        return self.root / "tmp"

    @property
    def env(self) -> Path:
        """The environment that is kept."""
        return self.root / "env"


class SetupRunner:
    """Runs setup scripts.

    Args:
        sandbox: holds them.
        uv: where uv lies, whether it is there or not.
        limits: of one script.
        most_mb: what it may take on the disk.
    """

    def __init__(
        self, sandbox: BubblewrapSandbox, uv: Path, *, limits: SandboxLimits = LIMITS, most_mb: float = MOST_MB
    ) -> None:
        self._sandbox, self._uv, self._limits, self._most_mb = sandbox, uv, limits, most_mb

    async def run(
        self, script: FoundScript, tree: Tree, runtime: Runtime, registries: Registries, root: Path
    ) -> tuple[Places, Traffic]:
        """Run a script to its end; what it left is in the places, and nothing of it runs any more.

        Args:
            script: what is run.
            tree: the whole commit.
            runtime: the interpreter and the programs inside.
            registries: what may be reached.
            root: an empty folder for the run.

        Raises:
            SandboxError: it failed, or took more than it may.
        """
        places = Places(root=root)
        await asyncio.to_thread(_prepared, places, tree, runtime, registries, self._uv)
        proxy = RegistryProxy(registries.endpoints, upstream=registries.upstream)
        runs = ProxiedRun(
            self._sandbox, proxy, writable=tuple(_writable(places)), most_mb=self._most_mb, who="the setup script"
        )
        result = await runs.run(
            lambda channel: self._job(runtime, registries, places, channel), self._order(script, runtime, registries)
        )
        _check(script, result, proxy.traffic, self._limits)
        return places, proxy.traffic

    def _job(self, runtime: Runtime, registries: Registries, places: Places, channel: int) -> SandboxJob:
        mounts = [*runtime.mounts, *(Mount(host=path, inside=str(path)) for path in registries.folders)]
        if registries.certificates:
            mounts.append(Mount(host=places.root / "certificates.pem", inside=CERTIFICATES))
        if (uv := places.root / "uv").exists():
            mounts.append(Mount(host=uv, inside=_UV))
        start = f"{runtime.inside}/{proxied.START}"
        return SandboxJob(
            argv=(*runtime.python, "-I", "-S", "-B", start, str(channel)),
            mounts=tuple(mounts),
            limits=self._limits,
        )

    def _order(self, script: FoundScript, runtime: Runtime, registries: Registries) -> bytes:
        words = dict(word.split("=", 1) for word in runtime.python if "=" in word)
        environ = {
            **dict(runtime.variables),
            **words,
            **registries.variables,
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
        return json.dumps({"argv": _argv(script), "environ": environ, "folder": f"{WORK}/{script.folder}"}).encode()


def _argv(script: FoundScript) -> list[str]:
    """How a script is started: by its first line, else with bash; a command of a JSON file is one of bash's."""
    if not script.path.endswith(".sh"):
        return ["/bin/bash", "-c", script.text]
    path = f"{WORK}/{script.path}"
    return [path] if script.text.startswith("#!") else ["/bin/bash", path]


def _writable(places: Places) -> Iterator[Mount]:
    for path, inside in ((places.work, WORK), (places.tmp, TMP), (places.env, ENV)):
        yield Mount(host=path, inside=inside)


def _prepared(places: Places, tree: Tree, runtime: Runtime, registries: Registries, uv: Path) -> None:
    """Lay the commit's files and an empty environment down, for the jobs' user, and what is shown read-only beside."""
    for folder in (places.work, places.tmp, places.tmp / "home", places.env):
        folder.mkdir(exist_ok=True, parents=True)
    lay_out(tree, places.work)
    (places.tmp / "home" / ".npmrc").write_text(registries.npmrc)
    (places.root / "certificates.pem").write_text(registries.certificates)
    environment(places.env, runtime)
    if uv.exists():
        shutil.copy2(uv, places.root / "uv")
        (places.env / "bin" / "uv").symlink_to(_UV)
    places.root.chmod(0o755)
    proxied.give_to_jobs([mount.host for mount in _writable(places)])


def environment(folder: Path, runtime: Runtime) -> None:
    """Write an empty virtual environment for the interpreter inside, with the pip that runs the daemon's."""
    site = folder / own_metadata.site(runtime.series)
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    own_metadata.begin(folder, own_metadata.with_series(runtime.python[-1], runtime.series))
    found = importlib.util.find_spec("pip")
    if found and found.origin:
        shutil.copytree(Path(found.origin).parent, site / "pip", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pip", "pip3"):
            program = folder / "bin" / name
            program.write_text(
                f"#!{ENV}/bin/python\nfrom pip._internal.cli.main import main\nraise SystemExit(main())\n"
            )
            program.chmod(0o755)


def _check(script: FoundScript, result: SandboxResult, traffic: Traffic, limits: SandboxLimits) -> None:
    """Raises `SandboxError` where a script did not end well, with its last words and what may help."""
    if result.ended is Ended.EXITED and result.exit_code == 0:
        return
    why = {
        Ended.TIMEOUT: f"took longer than {limits.wall_s:g} s",
        Ended.OUTPUT_LIMIT: f"wrote more than {limits.output_bytes >> 20} MB to its output",
        Ended.OUT_OF_MEMORY: f"took more than {limits.memory_mb} MB of memory",
    }.get(result.ended, f"ended with {result.exit_code}")
    said = printable(result.stdout[-_LAST_CHARS * 4 :]).strip()[-_LAST_CHARS:]
    refused = f" Refused was {', '.join(list(traffic.refused)[:5])}." if traffic.refused else ""
    root = (
        " It is not root, so packages of the system cannot be installed by it; install them on this machine."
        if _NEEDS_ROOT.search(script.text)
        else ""
    )
    raise SandboxError(f"{script.path} {why}.{refused}{root} Its last words: {said or 'none'}")
